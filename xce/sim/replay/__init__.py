"""A log decided again: every command from its records, every session from its snapshot."""

from xce.sim.replay.again import Difference, Replayed, replay

__all__ = ["Difference", "Replayed", "replay"]
