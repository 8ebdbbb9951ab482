"""Where an ask goes: domains as windows, ways to spread, and the bounded search over both."""
