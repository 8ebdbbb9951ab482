"""How the records of plans are folded: in general, and the short way of plain jobs in bulk."""
