"""The controller: one writer that decides, writes down, then lets the world know."""
