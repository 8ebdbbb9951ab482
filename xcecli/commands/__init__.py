"""Commands that are not on the fast path, one file per noun."""
