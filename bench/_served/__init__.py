"""What benchmarks of a served controller share: starting one, and putting load on it."""
