"""Deep-learning traces as comma-separated tables, in the manner of those made from Philly.

Columns go by any of their usual names; times are seconds, or `2017-10-03 12:34:56`.
"""

from datetime import UTC, datetime

from xce.sim.readers.form import SECOND_US, BrokenTrace, Reading, TraceJob, Unread, whole
from xce.sim.readers.table import rows

NAMES = {
    "number": ("job_id", "jobid", "id", "name"),
    "submit": ("submit_time", "submitted_time", "time", "arrival_time", "timestamp"),
    "run": ("duration", "run_time", "runtime", "execution_time"),
    "gpus": ("num_gpus", "num_gpu", "gpus", "gpu_num"),
    "limit": ("time_limit", "estimate", "requested_time"),
    "queue": ("vc", "queue", "virtual_cluster"),
    "user": ("user", "user_id"),
}
NEEDED = ("submit", "run", "gpus")


def parse(reading: Reading) -> None:
    """All jobs of a table; the first submission is the zero where times are dates."""
    found: list[tuple[int, dict[str, str], int]] = []
    columns: dict[str, str] = {}
    for number, row in rows(reading, ()):
        columns = columns or _columns(reading, row)
        try:
            found.append((number, row, _moment(row[columns["submit"]])))
        except Unread as error:
            reading.fault(number, str(error))
    dated = any("-" in row[columns["submit"]][1:] for _, row, _ in found)
    zero = min((at for _, _, at in found), default=0) if dated else 0
    users: dict[str, int] = {}
    for place, (number, row, at) in enumerate(found, 1):
        try:
            reading.add(number, _job(row, columns, place, at - zero, users))
        except Unread as error:
            reading.fault(number, str(error))


def _columns(reading: Reading, row: dict[str, str]) -> dict[str, str]:
    known = {what: [one for one in names if one in row] for what, names in NAMES.items()}
    for what in NEEDED:
        if not known[what]:
            names = ", ".join(NAMES[what])
            raise BrokenTrace(f"{reading.name}:1: no column says {what}: one of {names} is needed")
    return {what: names[0] for what, names in known.items() if names}


def _moment(word: str) -> int:
    if "-" not in word[1:]:
        return whole(word, "submit")
    try:
        return int(datetime.fromisoformat(word).replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise Unread(f"submit: expected seconds or a date, found {word!r}") from None


def _job(
    row: dict[str, str], columns: dict[str, str], place: int, at: int, users: dict[str, int]
) -> TraceJob:
    told = {what: row[name].strip() for what, name in columns.items()}
    gpus = whole(told["gpus"], "gpus")
    run = whole(told["run"], "run") if told["run"] else -1
    user = told.get("user", "")
    name = told.get("number", "")
    return TraceJob(
        number=int(name) if name.isdigit() else place,
        name="" if name.isdigit() else name,
        submit_us=at * SECOND_US,
        run_us=run * SECOND_US if run >= 0 else -1,
        tasks=max(1, gpus),
        gpus=1 if gpus > 0 else 0,
        limit_us=whole(told["limit"], "limit") * SECOND_US if told.get("limit") else 0,
        queue=told.get("queue", ""),
        user=users.setdefault(user, len(users) + 1) if user else -1,
    )
