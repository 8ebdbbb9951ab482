"""Published islands: which of them a request means, and in which order. Pure."""
