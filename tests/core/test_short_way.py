"""Plain jobs in bulk: what is written and folded the short way is what the general way comes to.

That goes for the records, the entities and all that the indexes keep, whatever a spec makes them
keep beyond the usual.
"""

import random
from typing import Any

import msgspec
import pytest

from bench._core.clusters import GB, LEVELS, cluster, submit
from xce.controller.core.decide import decide
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.fold import apply as fold_apply
from xce.controller.core.fold.check import _COMPARED, _plain, check
from xce.controller.core.fold.encode import digest
from xce.controller.core.fold.state import Setting, State, spec_blob
from xce.controller.sessions import Sessions
from xce.controller.step import decide_all
from xce.model.config import Config, LimitConfig
from xce.model.config.shares import ShareTree
from xce.model.job import Job, Spec, Topology
from xce.model.need import Need
from xce.model.records import Record
from xce.model.waiting.array import Array, filled
from xce.scheduler.place import classes
from xce.wal.codec import blob_name

NOW_US = 5_000_000


CONFIGS = (
    Config(levels=LEVELS),
    Config(
        levels=LEVELS,
        order=("fairshare", "priority"),
        share_trees=(ShareTree(name="all", queues=("normal",)),),
    ),
    Config(levels=LEVELS, limits=(LimitConfig(name="few", amounts=(("jobs", 40),)),)),
)
LIMIT_US = 60_000_000
NEED = Need(span_hosts=1, per_task=(("mem", GB),))
ODD = (
    Spec(command=("true",), need=NEED, run_limit_us=LIMIT_US),
    Spec(command=("true",), need=NEED, terminate_us=NOW_US + LIMIT_US),
    Spec(command=("true",), need=NEED, job_group="/nightly/build", run_estimate_us=LIMIT_US),
    Spec(command=("true",), need=NEED, topology=Topology(required="host", exclusive=True)),
    Spec(command=("true",), need=NEED, run="per_task", tasks=3),
)
"""What makes the indexes keep something of a job beyond the usual."""


def submit_odd(state: State, turn: random.Random) -> None:
    """Jobs, and arrays, of specs with effects of their own, of two owners."""
    names = []
    for spec in ODD:
        blob = spec_blob(spec)
        names.append(blob_name(blob))
        state.intern(names[-1], blob)
    for number in range(10_000, 10_030):
        spec, owner = turn.choice(names), turn.choice([1000, 1001])
        common = {"spec": spec, "owner": owner, "queue": "normal", "priority": 50, "name": "odd"}
        if number % 5:
            after = {"after": "done(1)", "after_ids": "done(1)", "after_met_us": 1}
            more = after if number % 3 == 0 else {}
            job = Job(key=number, state="PENDING", submit_us=9, pending_us=9, **common, **more)
            state.put("job", number, job)
        else:
            limit = turn.choice([0, 2])
            array = Array(
                number=number, submit_us=9, pending_us=9, text="1-8", last=8, step=1,
                limit=limit, **common,
            )  # fmt: skip
            state.put("array", number, filled(array, ((1, 8, 1),)))


def kept(state: State) -> dict[str, Any]:
    """What the indexes keep."""
    index = state.index
    names = (*_COMPARED, "version", "watched", "backing_off", "freed", "waits")
    found = {name: _plain(getattr(index, name)) for name in names}
    return found | {
        # The general way has a deadline for a start that has passed before anybody looks.
        "timers": sorted(one for one in index.timers._heap if one[1] != "start"),
        "backlog": index.backlog.jobs,
        "pending": list(index.pending.places()),
        "limits": index.limits.counts,
        "usage": msgspec.json.encode(index.usage.running),
        "changed": {what: set(keys) for what, keys in state.changed.items()},
        "hosts that changed": index.changes.since(0),
    }


def day(seed: int) -> tuple[State, list[Record]]:
    """Sessions on a small cluster with more work than room, until nothing more fits; some jobs
    are gone before their slice is decided."""
    turn = random.Random(seed)
    state = cluster(turn.randint(1, 6))
    config = CONFIGS[seed // 2 % len(CONFIGS)]
    state.put("setting", "config", Setting(name="config", lsn=0, digest="", config=config))
    submit(state, turn.randint(1, 120), turn.randint(1, 9), gangs=turn.choice([0, 0, 1]))
    if seed % 2:
        submit_odd(state, turn)
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


@pytest.mark.parametrize("seed", range(18))
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
    assert kept(state) == kept(slow_state)


def test_a_bulk_that_is_only_tried_leaves_everything_as_it_was() -> None:
    state = cluster(3)
    submit(state, 30, 4)
    submit_odd(state, random.Random(1))
    sessions = Sessions(state)
    work = sessions.begin(NOW_US)
    while not sessions.advance(work):
        pass
    slices = list(sessions.slices(work))
    before = digest(state), {**kept(state), "hosts that changed": None}
    versions = dict(state.index.version)
    assert sum(len(decide(state, one, NOW_US).records) for one in slices) == len(slices)
    check(state)
    assert (digest(state), {**kept(state), "hosts that changed": None}) == before
    assert state.index.version == versions


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
