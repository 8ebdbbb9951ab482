"""Numbers of what a record brings into being."""

from xce.controller.core.fold.state import State


class Numbers:
    """Numbers given out within one record, after the last ones of the state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._given: dict[str, int] = {}

    def next(self, counter: str) -> int:
        """The next number of a counter."""
        return self.many(counter, 1)[0]

    def many(self, counter: str, count: int) -> range:
        """The next so many numbers of a counter."""
        last = self._given.get(counter, self._state.last(counter))
        self._given[counter] = last + count
        return range(last + 1, last + count + 1)
