"""Time in the session: what ends when, who reserved what, who may use it until then."""
