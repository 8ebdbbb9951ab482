"""The `xce` command: a controller and its agents as processes, the demo, the log's upkeep."""
