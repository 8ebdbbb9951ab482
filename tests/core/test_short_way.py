"""Plain jobs in bulk: what is written and folded the short way is what the general way comes to."""

import random
from typing import Any

import msgspec
import pytest

from bench._core.clusters import LEVELS, cluster, submit
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.fold import apply as fold_apply
from xce.controller.core.fold.check import check
from xce.controller.core.fold.encode import digest
from xce.controller.core.fold.state import Setting, State
from xce.controller.sessions import Sessions
from xce.controller.step import decide_all
from xce.model.config import Config
from xce.model.records import Record
from xce.scheduler.place import classes

NOW_US = 5_000_000


def day(seed: int) -> tuple[State, list[Record]]:
    """Sessions on a small cluster with more work than room, until nothing more fits; some jobs
    are gone before their slice is decided."""
    turn = random.Random(seed)
    state = cluster(turn.randint(1, 6))
    setting = Setting(name="config", lsn=0, digest="", config=Config(levels=LEVELS))
    state.put("setting", "config", setting)
    submit(state, turn.randint(1, 120), turn.randint(1, 9), gangs=turn.choice([0, 0, 1]))
    sessions, records = Sessions(state), []
    while True:
        work = sessions.begin(NOW_US)
        while not sessions.advance(work):
            pass
        for slice_ in sessions.slices(work):
            done = decide_all(state, [slice_], NOW_US)
            sessions.committed(work, done)
            records += done.records
        if not work.planned:
            return state, records


@pytest.mark.parametrize("seed", range(12))
def test_the_short_way_gives_the_records_and_the_state_of_the_general_way(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, records = day(seed)
    check(state)
    monkeypatch.setattr(decide_plan, "is_short", lambda *_: False)
    monkeypatch.setattr(fold_apply, "fold_short", lambda *_: False)
    monkeypatch.setattr(classes, "quick_way", lambda *_: None)
    slow_state, slow_records = day(seed)
    assert msgspec.json.encode(records) == msgspec.json.encode(slow_records)
    assert digest(state) == digest(slow_state)


def test_a_record_of_the_short_way_folds_alike_from_the_log_and_from_the_general_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def folded(records: list[Record]) -> Any:
        fresh = cluster(3)
        submit(fresh, 30, 4)
        for record in records:
            fold_apply.apply(fresh, record)
        check(fresh)
        return digest(fresh), dict(fresh.index.version)

    state = cluster(3)
    submit(state, 30, 4)
    sessions = Sessions(state)
    work = sessions.begin(NOW_US)
    sessions.advance(work)
    records = [
        record
        for slice_ in sessions.slices(work)
        for record in decide_all(state, [slice_], NOW_US).records
    ]
    reloaded = [
        msgspec.structs.replace(
            one, body=msgspec.json.decode(msgspec.json.encode(one.body), type=type(one.body))
        )
        for one in records
    ]
    short = folded(reloaded)
    assert short == (digest(state), dict(state.index.version))
    monkeypatch.setattr(fold_apply, "fold_short", lambda *_: False)
    assert folded(reloaded) == short
