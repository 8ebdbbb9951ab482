"""Command lines and their values beyond what the fast path reads by itself."""
