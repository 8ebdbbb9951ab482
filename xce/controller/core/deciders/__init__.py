"""One room per asker: what its commands mean, as records or a Rejection."""
