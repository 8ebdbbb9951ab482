"""Pieces of a controller without a process: states made for benchmarks."""
