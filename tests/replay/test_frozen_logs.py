"""Logs of earlier releases, folded by today's code: each agrees with the state it was frozen with.

The expected state was written at the release. Fields that came later may be there beside it; a
field that was there must be there still and say the same.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.replay.freeze import facts
from xce.controller.core.fold.check import check
from xce.controller.recover import recover
from xce.wal.export import import_lines
from xce.wal.memory import MemoryLog

LOGS = sorted(Path(__file__).parent.glob("*/*.jsonl"))


def differences(then: Any, now: Any, path: str = "") -> list[str]:
    """Where what was there then is not there now, or says something else."""
    if isinstance(then, dict) and isinstance(now, dict):
        found = [f"{path}/{key} is gone" for key in then if key not in now]
        for key in then.keys() & now.keys():
            found += differences(then[key], now[key], f"{path}/{key}")
        return sorted(found)
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = zip(then, now, strict=True)
        return [
            line
            for place, (a, b) in enumerate(pairs)
            for line in differences(a, b, f"{path}[{place}]")
        ]
    return [] if then == now else [f"{path} was {then!r} and is {now!r}"]


def test_every_release_left_its_logs() -> None:
    names = {(log.parent.name, log.stem) for log in LOGS}
    first = ("busy", "gang-start", "idle", "restarted")
    second = (*first, "claimed", *(f"mixed-{seed}" for seed in (1, 3, 9, 10, 17, 36)))
    assert {("0.1.0", name) for name in first} | {("0.2.0", name) for name in second} <= names


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.stem}")
def test_a_frozen_log_folds_to_the_state_it_was_frozen_with(log: Path) -> None:
    store = import_lines(log.read_bytes().splitlines(keepends=True))
    state, _ = recover(MemoryLog(store))
    check(state)
    expected = msgspec.json.decode(log.with_suffix(".state.json").read_bytes())
    assert differences(expected, facts(state)) == []


def test_the_comparison_sees_a_changed_a_missing_and_not_an_added_field() -> None:
    then = {"job": {"1": {"state": "DONE", "hosts": [1, 2]}}}
    assert differences(then, {"job": {"1": {"state": "DONE", "hosts": [1, 2], "new": 0}}}) == []
    assert differences(then, {"job": {"1": {"state": "EXITED", "hosts": [1, 2]}}}) == [
        "/job/1/state was 'DONE' and is 'EXITED'"
    ]
    assert differences(then, {"job": {"1": {"state": "DONE"}}}) == ["/job/1/hosts is gone"]
