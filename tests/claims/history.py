"""What claimants were told, and the judgement over it: who held what, when, under which generation.

A claimant believes that it holds an instance from the moment it is told so until it asks to give it
back, or until the end of its lease as it was told last. Nothing else is known to it. Two such
stretches of one instance may not overlap, and the later one has the larger generation.
"""

import itertools
from dataclasses import dataclass, field


@dataclass
class Held:
    """One right, as its holder was told: `given_us` is when it asked to give it back."""

    who: int
    claim: str
    generation: int
    instances: tuple[str, ...]
    from_us: int
    until_us: int
    given_us: int = 0

    @property
    def over_us(self) -> int:
        """When its holder stops to believe in it."""
        return min(self.until_us, self.given_us) if self.given_us else self.until_us


@dataclass
class History:
    """All rights that were acknowledged."""

    rights: list[Held] = field(default_factory=list)

    def judge(self) -> list[str]:
        """What is wrong with it, in words; nothing is good."""
        wrong: list[str] = []
        by_instance: dict[str, list[Held]] = {}
        for right in self.rights:
            for key in right.instances:
                by_instance.setdefault(key, []).append(right)
        for key, rights in sorted(by_instance.items()):
            ordered = sorted(rights, key=lambda one: (one.from_us, one.generation))
            for before, after in itertools.pairwise(ordered):
                if after.generation <= before.generation:
                    wrong.append(f"{key}: generation {after.generation} after {before.generation}")
                if after.from_us < before.over_us:
                    wrong.append(f"{key}: held by {before.claim} and by {after.claim}")
        return wrong
