"""A session gets its part of the loop while submissions come in, and asks too many to come back."""

import pytest

from bench.busy import run
from xce.controller import asking
from xce.controller.asking import Turns


def test_a_step_is_next_only_while_the_session_has_had_its_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(asking.time, "monotonic", lambda: now[0])
    turns = Turns()
    assert turns.step_is_next
    with turns.step():
        now[0] += 6.0
    assert not turns.step_is_next
    with turns.session():
        now[0] += 3.9
    assert not turns.step_is_next
    with turns.session():
        now[0] += 0.1
    assert turns.step_is_next


def test_submissions_are_answered_while_a_session_runs_and_it_places_all() -> None:
    result = run(["--jobs", "2000", "--classes", "20", "--hosts", "200", "--rate", "200"])
    figures = result["figures"]
    assert figures["placed"] >= 1_500
    assert figures["share"] >= 0.4
    assert result["durability"]["synchronous"] == "2"
