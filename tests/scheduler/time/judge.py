"""Independent simulators of FCFS, EASY and conservative backfill on a flat pool of processors.

They share no code with the scheduler: times are seconds, the pool is a number, and the profile of
conservative backfill is a list with one entry per second. One pass per moment: ends, arrivals,
then starts.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """A job of a trace: it asks for `wants` processors for `limit` seconds and runs for `runs`."""

    number: int
    at: int
    wants: int
    limit: int
    runs: int


def easy(processors: int, works: list[Work], *, backfill: bool = True) -> dict[int, int]:
    """When each job starts under EASY (or plain first come, first served)."""
    waiting: list[Work] = []
    running: list[tuple[int, int, Work]] = []  # (really over, over by its limit, job)
    coming = sorted(works, key=lambda work: (work.at, work.number))
    starts: dict[int, int] = {}
    while coming or running:
        now = min([w.at for w in coming[:1]] + [over for over, _, _ in running])
        running = [one for one in running if one[0] > now]
        while coming and coming[0].at <= now:
            waiting.append(coming.pop(0))
        free = processors - sum(work.wants for _, _, work in running)

        while waiting and waiting[0].wants <= free:
            free -= waiting[0].wants
            _begin(waiting[0], now, waiting, running, starts)
        if not waiting or not backfill:
            continue
        head, room = waiting[0], free
        shadow = spare = -1
        for over in sorted({limit for _, limit, _ in running}):
            room = free + sum(work.wants for _, limit, work in running if limit <= over)
            if room >= head.wants:
                shadow, spare = over, room - head.wants
                break
        for work in list(waiting[1:]):
            if work.wants > free:
                continue
            if now + work.limit <= shadow:
                free -= work.wants
                _begin(work, now, waiting, running, starts)
            elif work.wants <= spare:
                free, spare = free - work.wants, spare - work.wants
                _begin(work, now, waiting, running, starts)
    return starts


def _begin(
    work: Work,
    now: int,
    waiting: list[Work],
    running: list[tuple[int, int, Work]],
    starts: dict[int, int],
) -> None:
    starts[work.number] = now
    running.append((now + min(work.runs, work.limit), now + work.limit, work))
    waiting.remove(work)


def conservative(processors: int, works: list[Work]) -> dict[int, int]:
    """When each job starts if every waiting job has a reservation; exact run times only."""
    horizon = max(w.at for w in works) + sum(w.limit for w in works) + 1
    busy = [0] * (horizon + 1)
    starts: dict[int, int] = {}
    for work in sorted(works, key=lambda work: (work.at, work.number)):
        at = work.at
        while any(busy[t] + work.wants > processors for t in range(at, at + work.limit)):
            at += 1
        starts[work.number] = at
        for t in range(at, at + work.limit):
            busy[t] += work.wants
    return starts
