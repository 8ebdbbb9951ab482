"""What waiting for others costs: `python -m bench dependencies --jobs N`.

Half of the jobs wait for one of the other half each. `submit_us` is what a submission with `-w`
costs, `plain_us` one without; `end_us` what an end costs that one job waits for (it is latched,
met, and put into the order of what waits), `free_us` an end that nobody waits for. `few_end_us` is
the same with a hundredth of the jobs: it must not grow with what else waits. `wide_us` is what each
of `--wide` jobs costs that wait for one and the same. Processor time of one core.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from xce.controller.core.commands import Kill, SubmitJob
from xce.controller.core.fold.state import State
from xce.controller.step import decide_all
from xce.model.actor import OPERATOR, USER, Actor
from xce.model.job import Spec

ANNA, OPS = Actor(kind=USER, uid=1000), Actor(kind=OPERATOR, uid=501)
SPEC = Spec(command=("true",))


def run(argv: Sequence[str]) -> dict[str, Any]:
    """The figures of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench dependencies")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--wide", type=int, default=10_000)
    args = parser.parse_args(argv)
    submit_us, plain_us, end_us, free_us = _pairs(args.jobs // 2)
    _, _, few_end_us, _ = _pairs(max(50, args.jobs // 200))
    figures = {
        "submit_us": submit_us, "plain_us": plain_us, "end_us": end_us, "free_us": free_us,
        "few_end_us": few_end_us, "wide_us": _wide(args.wide),
    }  # fmt: skip
    return {
        "figures": {name: round(value, 1) for name, value in figures.items()},
        "setting": vars(args),
        "durability": "none: the state is in memory, nothing is appended to a log",
    }


def _pairs(count: int) -> tuple[float, float, float, float]:
    state = State()
    plain = _timed(lambda: [_do(state, _job()) for _ in range(count)], count)
    waits = _timed(
        lambda: [_do(state, _job(after=f"ended({n})")) for n in range(1, count + 1)], count
    )
    some = min(count, 2_000)
    last = state.last("job")
    for _ in range(some):
        _do(state, _job())
    ends = _timed(lambda: [_do(state, Kill(actor=OPS, job=n)) for n in range(1, some + 1)], some)
    free = _timed(
        lambda: [_do(state, Kill(actor=OPS, job=last + n)) for n in range(1, some + 1)], some
    )
    assert all(state.jobs[count + n].after_met_us for n in range(1, some + 1))
    return waits, plain, ends, free


def _wide(count: int) -> float:
    state = State()
    _do(state, _job())
    for _ in range(count):
        _do(state, _job(after="ended(1)"))
    return _timed(lambda: _do(state, Kill(actor=OPS, job=1)), count)


def _job(after: str = "") -> SubmitJob:
    return SubmitJob(actor=ANNA, spec=SPEC, after=after)


def _do(state: State, command: SubmitJob | Kill) -> None:
    decide_all(state, [command], 1_000_000 + state.lsn)


def _timed(act: Callable[[], object], times: int) -> float:
    began = time.process_time()
    act()
    return (time.process_time() - began) * 1_000_000 / times
