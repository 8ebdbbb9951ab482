"""Who waits for whom, and what is called how: indexes, kept in step with the jobs.

`dependents` leads from what a dependency is about to the jobs that wait for it, so that an end
re-checks those and nobody else. Both are folds of the tables and can be rebuilt from them.
"""

from collections.abc import Iterator
from typing import Any

from xce.controller.core.depending.terms import refs_of
from xce.controller.core.fold.eligible import Waiter, still_awaits
from xce.model.ids import job_index
from xce.model.job import Job

Keys = int | dict[int, None]


class Links:
    """`dependents`: jobs that wait, by what they wait for (gangs below zero). `names`: jobs and
    gangs by owner and name; one alone is kept as its number."""

    def __init__(self) -> None:
        self.dependents: dict[int, dict[int, None]] = {}
        self.names: dict[int, dict[str, Keys]] = {}

    def waiter(self, key: int, old: Waiter | None, new: Waiter | None) -> tuple[int, ...]:
        """A job or an array changed; gives what nobody waits for any more."""
        if old is None or new is None or old.name != new.name:
            self._name(key, old, new)
        before, after = _refs(old), _refs(new)
        if before is after:
            return ()
        for ref in after:
            self.dependents.setdefault(ref, {})[key] = None
        left = []
        for ref in before:
            if ref in after:
                continue
            mine = self.dependents[ref]
            del mine[key]
            if not mine:
                del self.dependents[ref]
                left.append(ref)
        return tuple(left)

    def group(self, number: int, old: Any, new: Any) -> None:
        """A gang changed."""
        if old is None or new is None:
            self._name(-number, old, new)

    def named(self, owner: int, name: str) -> list[int]:
        """Numbers of the owner's jobs and gangs of that name; a `*` at its end stands for
        anything. Gangs (below zero) come last."""
        mine = self.names.get(owner, {})
        if not name.endswith("*"):
            return _ordered(_each(mine[name])) if name in mine else []
        begin = name[:-1]
        found = (
            one for called, keys in mine.items() if called.startswith(begin) for one in _each(keys)
        )
        return _ordered(found)

    def waiting(self) -> list[int]:
        """All jobs that wait for others."""
        return sorted({key for mine in self.dependents.values() for key in mine})

    def _name(self, key: int, old: Any, new: Any) -> None:
        if old is not None and _is_called(old):
            mine = self.names[old.owner]
            keys = mine[old.name]
            if isinstance(keys, int) or len(keys) == 1:
                del mine[old.name]
                if not mine:
                    del self.names[old.owner]
            else:
                del keys[key]
        if new is not None and _is_called(new):
            mine = self.names.setdefault(new.owner, {})
            others = mine.get(new.name)
            if others is None:
                mine[new.name] = key
            elif isinstance(others, int):
                mine[new.name] = {others: None, key: None}
            else:
                others[key] = None


def _is_called(entity: Any) -> bool:
    """Members of a gang and elements go by the name of the whole; what is shorter than a letter
    is no name."""
    part = isinstance(entity, Job) and (entity.group or job_index(entity.key))
    return bool(entity.name) and not part


def _each(keys: Keys) -> Iterator[int]:
    return iter((keys,)) if isinstance(keys, int) else iter(keys)


def _ordered(found: Iterator[int]) -> list[int]:
    return sorted(found, key=lambda ref: (ref < 0, abs(ref)))


def _refs(waiter: Waiter | None) -> tuple[int, ...]:
    """What a job or an array still waits for."""
    return refs_of(waiter.after_ids) if waiter is not None and still_awaits(waiter) else ()


def plain(names: dict[int, dict[str, Keys]]) -> dict[int, dict[str, list[int]]]:
    """Names in one form, for comparing."""
    return {
        owner: {name: sorted(_each(keys)) for name, keys in mine.items()}
        for owner, mine in names.items()
    }
