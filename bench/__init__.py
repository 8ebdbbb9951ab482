"""Benchmarks: `python -m bench NAME [ARGS]` prints one JSON object on its last line."""
