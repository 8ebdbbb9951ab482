"""Queues, shares, limits and users: who goes first and how much anybody may have."""
