"""A plan's slice before it becomes a record: checked again, and the short way of plain jobs."""
