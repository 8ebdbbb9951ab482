"""Who names an interned text: what nobody names any more is forgotten."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


class Interned:
    """Counts, per spec and per text that a spec alone names, who names it."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.users: dict[str, int] = {}

    def renamed(self, before: str, after: str) -> None:
        """One entity named `before` and names `after` now ("" for nothing)."""
        if before == after:
            return
        if after:
            self._more(after)
        if before:
            self._less(before)

    def _more(self, name: str) -> None:
        self.users[name] = self.users.get(name, 0) + 1
        spec = self._state.specs.get(name)
        if self.users[name] == 1 and spec is not None:
            for text in filter(None, (spec.script, spec.environment)):
                self._more(text)

    def _less(self, name: str) -> None:
        self.users[name] -= 1
        if self.users[name]:
            return
        del self.users[name]
        spec = self._state.specs.get(name)
        for text in filter(None, (spec.script, spec.environment)) if spec is not None else ():
            self._less(text)
        self._state.forget(name)
