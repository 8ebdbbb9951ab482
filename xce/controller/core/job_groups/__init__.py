"""Job groups: what is counted of them, their limits, and what is asked of them."""
