"""The HTTP face: routes, identity, problems. It decides nothing and keeps nothing."""
