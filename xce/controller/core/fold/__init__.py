"""The state as the fold of the log: tables, their indexes, apply, and what must always hold."""
