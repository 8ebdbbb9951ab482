"""One file per noun. Routes read the settled state or put a command to the controller."""
