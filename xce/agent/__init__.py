"""The host side: an agent that speaks to the controller, a supervisor that outlives it."""
