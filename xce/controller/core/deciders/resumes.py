"""The part of a plan that lets suspended work go on: checked again, all or nothing for each.

What a member lent it gets back on the same hosts, so there is nothing to choose: it fits as the
state is now, or it is stale and waits for the next session.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.plan import facts_of
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.suspending import give_back, hosts_of, waiting_members
from xce.controller.core.queueing.queues import stops_work
from xce.controller.core.resources.lending import lent, owed
from xce.controller.core.resources.pools import free_of, name_of
from xce.controller.core.resources.reported import total_on
from xce.model.ids import group_text, job_text
from xce.model.placing import Share

Answer = tuple[dict[str, Any], dict[str, bytes]]
Waiter = tuple[int, int]


def label(waiter: Waiter) -> str:
    """The gang, or the plain job, that waits to go on."""
    group, job = waiter
    return group_text(group) if group else job_text(job)


def commit_resumes(draft: Draft, command: c.CommitResumes) -> c.Rejection | Answer:
    """Give back what still can be given back; the answer names what was stale."""
    state = draft.state
    accepted: list[Waiter] = []
    members: list[int] = []
    stale = []
    for waiter in command.resumes:
        mine = [] if _is_kept(state, waiter) else waiting_members(state, waiter)
        if mine and can_go_on(state, [*members, *mine], mine, draft.now_us):
            accepted.append(waiter)
            members += mine
        else:
            stale.append(label(waiter))
    if members:
        facts = facts_of(command, resumed=members)
        draft.open(facts, [label(waiter) for waiter in accepted])
        give_back(draft, members)
    return {"planned": len(accepted), "stale": stale}, {}


def _is_kept(state: State, waiter: Waiter) -> bool:
    """Whether the run window of its queue is shut."""
    group, job = waiter
    found = state.groups.get(group) if group else state.jobs.get(job)
    return found is not None and stops_work(state, found.queue)


def can_go_on(state: State, all_of: Iterable[int], mine: Iterable[int], now_us: int) -> bool:
    """Whether the hosts of `mine` are there, and everybody of `all_of` gets back what it lent."""
    for name in hosts_of(state, mine):
        host = state.hosts[name]
        if host.liveness != "UP" or host.reconciled_epoch != state.epoch:
            return False
    needed: dict[tuple[str, str], int] = {}
    for share in _shares(state, all_of, now_us):
        if any(key in state.index.holders for key in share.instances):
            return False
        if any(not _is_sound(state, key) for key in share.instances):
            return False
        for name, amount in share.counters:
            at = ("", name) if "@" in name else (share.host, name)
            needed[at] = needed.get(at, 0) + amount
    fallen = lent(state, now_us)
    return all(
        amount <= _free(state, host, name, fallen.get((host, name), 0))
        for (host, name), amount in needed.items()
    )


def _is_sound(state: State, key: str) -> bool:
    """Whether an instance is as it was; numbers of an interval have no row of their own."""
    found = state.instances.get(key)
    return found is None or found.state in ("PRESENT", "TAINTED")


def _shares(state: State, members: Iterable[int], now_us: int) -> Iterator[Share]:
    for member in members:
        yield from owed(state, state.jobs[member], now_us)


def _free(state: State, host: str, name: str, fallen: int) -> int:
    if not host:
        pool = next((one for one in state.config.pools if name_of(one) == name), None)
        return free_of(state, pool) if pool is not None else 0
    return total_on(state, host, name) - state.index.used.get(host, {}).get(name, 0) + fallen
