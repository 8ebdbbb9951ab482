"""When to let go: the barrier, and what controller and agents say to each other. Pure."""
