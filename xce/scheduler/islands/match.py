"""Islands that were published: which of them a request means, and in which order.

A table has one column for each thing that can be asked of all islands, made anew only when
something was published. A match is masks over those columns and one stable sort; equal islands are
ordered by their names. Nothing is taken here: whoever claims walks the ranking to what is free.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from xce.model.waiting.island import (
    BAND,
    LEAST_LOADED,
    PACK,
    Criteria,
    IslandFacts,
)

Mask = npt.NDArray[np.bool_]
Column = npt.NDArray[np.int64]


class IslandTable:
    """All published islands as columns, in the order of their names."""

    def __init__(self, islands: Mapping[str, IslandFacts]) -> None:
        self.names = tuple(sorted(islands))
        facts = [islands[name] for name in self.names]
        self.units = np.array([one.units for one in facts], dtype=np.int64)
        self.load = np.array([one.load for one in facts], dtype=np.int64)
        self.latency_us = np.array([one.p50_latency_us for one in facts], dtype=np.int64)
        self._regions = _sets(facts, lambda one: (one.region,))
        self._tags = _sets(facts, lambda one: one.tags)
        self._has = _sets(facts, lambda one: one.has)
        self._none = np.zeros(len(facts), dtype=bool)
        self._known: dict[Criteria, tuple[int, ...]] = {}

    def ranked(self, asked: Criteria) -> tuple[int, ...]:
        """The rows of the islands that match, best first; figured once for equal criteria."""
        found = self._known.get(asked)
        if found is None:
            if len(self._known) > 1_000:
                self._known.clear()
            found = self._known[asked] = tuple(self._rank(asked).tolist())
        return found

    def _rank(self, asked: Criteria) -> Column:
        rows = np.flatnonzero(self._passes(asked))
        behind = np.zeros(len(rows), dtype=np.int64)
        for name in asked.prefer:
            behind += ~(self._of(self._tags, name) | self._of(self._has, name))[rows]
        return rows[np.lexsort((rows, self._order(asked, rows), behind))]

    def _order(self, asked: Criteria, rows: Column) -> Column:
        kind, _, target = asked.selection.partition(":")
        load = self.load[rows]
        if kind == PACK:
            return -load
        if kind == BAND:
            return np.abs(load - int(target))
        return load if kind == LEAST_LOADED else rows

    def _passes(self, asked: Criteria) -> Mask:
        mask = ~self._none
        for _, one in self.tests(asked):
            mask &= one
        return mask

    def tests(self, asked: Criteria) -> Sequence[tuple[str, Mask]]:
        """Each constraint in words, and the islands that meet it; no constraint is no test."""
        found: list[tuple[str, Mask]] = []
        found += [(f"has no tag {tag}", self._of(self._tags, tag)) for tag in asked.tags_all]
        found += [(f"has no {name}", self._of(self._has, name)) for name in asked.require_all]
        groups = [*([asked.tags_any] if asked.tags_any else []), *asked.tag_groups_all]
        for group in groups:
            found.append((f"has none of {', '.join(group)}", self._any(self._tags, group)))
        if asked.require_any:
            said = f"has none of {', '.join(asked.require_any)}"
            found.append((said, self._any(self._has, asked.require_any)))
        if asked.region:
            found.append((f"is not in {asked.region}", self._of(self._regions, asked.region)))
        if asked.min_units:
            found.append((f"has less than {asked.min_units} units", self.units >= asked.min_units))
        if asked.max_load >= 0:
            said = f"has more load than {asked.max_load}"
            found.append((said, self.load <= asked.max_load))
        if asked.max_p50_latency_us:
            said = f"answers in more than {asked.max_p50_latency_us} us"
            found.append((said, self.latency_us <= asked.max_p50_latency_us))
        return found

    def why_not(self, asked: Criteria) -> dict[str, str]:
        """For each island that does not match, the first constraint that it fails."""
        found: dict[str, str] = {}
        for said, mask in self.tests(asked):
            for row in np.flatnonzero(~mask).tolist():
                found.setdefault(self.names[row], said)
        return dict(sorted(found.items()))

    def _of(self, sets: Mapping[str, Mask], name: str) -> Mask:
        return sets.get(name, self._none)

    def _any(self, sets: Mapping[str, Mask], names: Sequence[str]) -> Mask:
        mask = self._none.copy()
        for name in names:
            mask |= self._of(sets, name)
        return mask


def _sets(facts: Sequence[IslandFacts], names: Any) -> dict[str, Mask]:
    """By name, the islands that have it."""
    rows: dict[str, list[int]] = {}
    for row, one in enumerate(facts):
        for name in names(one):
            rows.setdefault(name, []).append(row)
    found: dict[str, Mask] = {}
    for name, mine in rows.items():
        found[name] = np.zeros(len(facts), dtype=bool)
        found[name][mine] = True
    return found


__all__ = ["IslandTable"]
