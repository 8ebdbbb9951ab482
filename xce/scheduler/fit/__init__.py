"""What fits on one host: the compiled need, room in units, chosen instances, shares."""
