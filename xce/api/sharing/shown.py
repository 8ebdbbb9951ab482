"""Queues, shares, limits and users as the API shows them."""

import pwd
from collections.abc import Iterator
from typing import Any

from xce.api.show import Shown
from xce.controller.core.fold.state import State
from xce.controller.core.queueing.fairness import factors_of, used_in
from xce.controller.core.queueing.limits import Bucket, watched
from xce.controller.core.queueing.queues import is_active, is_open, queue_state, status
from xce.model.config import QueueConfig, ShareTree, UserConfig
from xce.model.config.shares import groups_of
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import HELD, PENDING
from xce.scheduler.sharing.fairshare import HOUR_US, Used, priority_of, weight_of

MILLIONTHS = 1_000_000


def user_text(who: str) -> str:
    """A uid as the machine names it; other words as they are."""
    if not who.isdecimal():
        return who.removeprefix("@")
    try:
        return pwd.getpwuid(int(who)).pw_name
    except (KeyError, OverflowError):
        return who


# -- queues ---------------------------------------------------------------------------------------


def queues(state: State) -> list[dict[str, Any]]:
    """Queues by priority, with the tasks in them as LSF counts them."""
    counts = _counts(state)
    ordered = sorted(state.config.queues, key=lambda queue: (-queue.priority, queue.name))
    return [_queue(queue, state, counts.get(queue.name, {})) for queue in ordered]


def _counts(state: State) -> dict[str, dict[str, int]]:
    """Tasks per queue and LSF word, of the jobs that have not ended."""
    shown = Shown(state)
    counts: dict[str, dict[str, int]] = {}

    def add(queue: str, stat: str, tasks: int) -> None:
        mine = counts.setdefault(queue, {})
        mine[stat] = mine.get(stat, 0) + tasks

    for job in state.jobs.values():
        if job.state not in ENDED_JOB:
            add(job.queue, shown.stat(job), shown.tasks(job, state.specs[job.spec]))
    for array in state.arrays.values():
        tasks = state.specs[array.spec].tasks
        for letter, stat in ((PENDING, "PEND"), (HELD, "PSUSP")):
            if array.count(letter):
                add(array.queue, stat, array.count(letter) * tasks)
    return counts


def _queue(queue: QueueConfig, state: State, counts: dict[str, int]) -> dict[str, Any]:
    tree = next((one for one in state.config.share_trees if queue.name in one.queues), None)
    return {
        "name": queue.name,
        "priority": queue.priority,
        "description": queue.description,
        "open": is_open(state, queue),
        "active": is_active(state, queue),
        "status": status(state, queue),
        "why": queue_state(state, queue.name).why or None,
        "default": queue.name == state.config.default_queue,
        "tasks": sum(counts.values()),
        "stats": dict(sorted(counts.items())),
        "job_limit": _bound(queue.job_limit),
        "user_job_limit": _bound(queue.user_job_limit),
        "host_job_limit": _bound(queue.host_job_limit),
        "processor_job_limit": queue.processor_job_limit / 1000 or None,
        "users": [user_text(one) for one in queue.users],
        "hosts": list(queue.hosts),
        "dispatch_window": list(queue.dispatch_window),
        "run_window": list(queue.run_window),
        "order": list(queue.order or state.config.order),
        "exclusive": queue.exclusive or "N",
        "interactive": queue.interactive or "N",
        "nice": queue.nice,
        "resreq": queue.default_resreq,
        "shares": tree.name if tree is not None else None,
    }


def _bound(number: int) -> int | None:
    return number if number >= 0 else None


# -- shares ---------------------------------------------------------------------------------------


def shares(state: State, now_us: int) -> list[dict[str, Any]]:
    """Every node of every share tree: what it may expect, what it used, its priority now."""
    return [row for tree in state.config.share_trees for row in _tree(state, tree, now_us)]


def _tree(state: State, tree: ShareTree, now_us: int) -> Iterator[dict[str, Any]]:
    used, factors = used_in(state, tree, now_us), factors_of(tree)
    known = {
        path: number
        for path, number in state.index.ordering.shares.items()
        if path.partition("/")[0] == tree.name
    }
    numbers = {**dict.fromkeys(used, 0), **dict(_declared(state, tree)), **known}
    for path in sorted(numbers):
        mine = used.get(path, Used())
        names = path.split("/")
        yield {
            "tree": tree.name,
            "path": path,
            "name": user_text(names[-1]),
            "depth": len(names) - 2,
            "shares": numbers[path],
            "priority": priority_of(numbers[path], weight_of(mine, factors)) / MILLIONTHS,
            "slots": mine.slots,
            "cpu_time_s": mine.cpu_us // MILLIONTHS,
            "run_time_s": (mine.past_us + mine.run_us) // MILLIONTHS,
            "gpu_run_time_s": mine.gpu_us // MILLIONTHS,
            "history_h": tree.history_us / HOUR_US,
        }


def _declared(state: State, tree: ShareTree) -> Iterator[tuple[str, int]]:
    """The nodes that lists name, with their shares."""
    groups = {group.name: group for group in state.config.user_groups}
    waiting = [(tree.name, tree.shares, 0)]
    while waiting:
        path, level, depth = waiting.pop()
        for who, number in level:
            if who[:1] == "@" and depth <= len(groups):
                yield f"{path}/{who[1:]}", number
                waiting.append((f"{path}/{who[1:]}", groups[who[1:]].shares, depth + 1))
            elif who.isdecimal():
                yield f"{path}/{who}", number


# -- limits ---------------------------------------------------------------------------------------


def limits(state: State) -> list[dict[str, Any]]:
    """Every limit, and for each count of it how much is used; one that counts nothing now once."""
    book = state.index.limits
    found = []
    amounts = {limit.name: dict(limit.amounts) for limit in book.limits}
    for limit in book.limits:
        for what in watched(limit):
            mine = [one for one in book.counts if (one.limit, one.what) == (limit.name, what)]
            for bucket in sorted(mine) or [Bucket(limit.name, what)]:
                said = amounts[limit.name].get(what)
                if said is None and bucket.host:
                    said = book.allowed(bucket, amounts, bucket.host)
                found.append(
                    {
                        "name": limit.name,
                        "what": what,
                        "used": book.counts.get(bucket, 0),
                        "allowed": said,
                        "whose": _whose(bucket.whose),
                        "host": bucket.host or None,
                        "hosts": list(limit.hosts),
                    }
                )
    return found


def _whose(text: str) -> str | None:
    words = (part.split(" ", 1) for part in text.split(", ") if part)
    return ", ".join(f"{kind} {user_text(name)}" for kind, name in words) or None


# -- users ----------------------------------------------------------------------------------------


def users(state: State) -> list[dict[str, Any]]:
    """Who has work, or is named in `[[users]]`: what waits, what runs, what he may have."""
    waiting = state.index.backlog.jobs
    running: dict[int, int] = {}
    slots: dict[int, int] = {}
    for granted in state.allocations.values():
        owner = state.jobs[granted.job].owner
        running[owner] = running.get(owner, 0) + 1
        slots[owner] = slots.get(owner, 0) + sum(share.tasks for share in granted.shares)
    named = {one.who: one for one in state.config.users}
    owners = {*waiting, *running, *(int(who) for who in named if who.isdecimal())}
    nobody = UserConfig(who="")
    found = []
    for owner in sorted(owners):
        bound = named.get(str(owner)) or named.get("default") or nobody
        found.append(
            {
                "uid": owner,
                "name": user_text(str(owner)),
                "pending_jobs": waiting.get(owner, 0),
                "running_jobs": running.get(owner, 0),
                "slots": slots.get(owner, 0),
                "max_slots": _bound(bound.max_slots),
                "max_running_jobs": _bound(bound.max_jobs),
                "max_pending_jobs": _bound(bound.max_pending_jobs),
                "jobs_per_processor": bound.slots_per_processor / 1000 or None,
                "groups": list(groups_of(state.config.user_groups, owner)),
            }
        )
    return found
