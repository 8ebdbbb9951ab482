"""Plain jobs that run on one host: the tightest host without a search."""
