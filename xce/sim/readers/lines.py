"""XCE's own form of a workload: one JSON object a line, jobs and gangs alike.

    {"id": 1, "submit": 0, "run": 3600, "tasks": 8, "limit": 7200, "user": 1001}
    {"id": 2, "submit": 60, "run": 7200, "members": 4, "gpus": 8, "limit": "4h"}

`submit`, `run` and `limit` are seconds or durations as LSF and XCE write them (`10m`, `4h`).
"""

import msgspec
from msgspec import Struct

from xce.model.units import parse_duration
from xce.sim.readers.form import SECOND_US, Reading, TraceJob, Unread

Moment = int | float | str


class _Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: int
    submit: Moment
    run: Moment = -1
    tasks: int = 1
    limit: Moment = 0
    members: int = 1
    gpus: int = 0
    mem: int = 0
    user: int = -1
    queue: str = ""
    project: str = ""
    name: str = ""


_decode = msgspec.json.Decoder(_Line).decode


def parse(reading: Reading) -> None:
    """All jobs and gangs of a file."""
    for number, line in reading.lines():
        if line.lstrip().startswith("#"):
            continue
        try:
            reading.add(number, _job(line))
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            reading.fault(number, str(error))
        except Unread as error:
            reading.fault(number, str(error))


def _job(line: str) -> TraceJob:
    told = _decode(line)
    if told.members < 1 or told.gpus < 0 or told.mem < 0:
        raise Unread("members, gpus and mem: expected a count")
    run_us = _us(told.run, "run")
    return TraceJob(
        number=told.id,
        submit_us=_us(told.submit, "submit"),
        run_us=run_us if run_us >= 0 else -1,
        tasks=told.tasks,
        limit_us=max(0, _us(told.limit, "limit")),
        members=told.members,
        gpus=told.gpus,
        mem_bytes=told.mem,
        user=told.user,
        queue=told.queue,
        project=told.project,
        name=told.name,
    )


def _us(moment: Moment, what: str) -> int:
    if isinstance(moment, str):
        try:
            return parse_duration(moment)
        except ValueError as error:
            raise Unread(f"{what}: {error}") from None
    return round(moment * SECOND_US)
