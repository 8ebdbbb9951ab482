"""Counters of the state: the last number given out of each kind."""

from xce.controller.core.fold.state import Counter, State


def count_up(state: State, name: str, number: int) -> None:
    """A number was given out; counters never go back."""
    if number > state.last(name):
        state.put("counter", name, Counter(name=name, last=number))
