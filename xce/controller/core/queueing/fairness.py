"""Fairshare over the state: what each node of a share tree has used by now, and what is charged.

What ended is in the accounts (`share`), as decayed when they were last charged; what runs is in
the sums of `fold/usage.py`. A group has used what its members have.
"""

from collections.abc import Iterable

from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.queueing.usage import gpus_of, slots_of
from xce.model.config.shares import ShareTree
from xce.model.job import Job
from xce.model.placing import Share as Granted
from xce.model.waiting.share import Share
from xce.scheduler.sharing.fairshare import HOUR_US, Account, Factors, Used, decayed, weight_of


def factors_of(tree: ShareTree) -> Factors:
    """A tree's weights."""
    return Factors(
        history_us=tree.history_us,
        cpu_time=tree.cpu_time_factor,
        run_time=tree.run_time_factor,
        committed=tree.committed_run_time_factor,
        slots=tree.run_job_factor,
        adjustment=tree.adjustment_factor,
        gpu_time=tree.gpu_run_time_factor,
    )


def used_in(state: State, tree: ShareTree, now_us: int) -> dict[str, Used]:
    """What every node of a tree has used by now; nodes that used nothing are not there."""
    found: dict[str, Used] = {}
    running = state.index.usage.running
    for path in sorted({**state.shares, **running}):
        if path.partition("/")[0] != tree.name:
            continue
        used = _of_account(state, tree, path, now_us)
        names = path.split("/")
        for depth in range(2, len(names) + 1):
            found.setdefault("/".join(names[:depth]), Used()).add(used)
    return found


def _of_account(state: State, tree: ShareTree, path: str, now_us: int) -> Used:
    past, now = state.shares.get(path), state.index.usage.running.get(path)
    used = Used()
    if past is not None:
        passed_us = now_us - past.at_us
        used.past_us = decayed(past.run_us, passed_us, tree.history_us)
        used.cpu_us = decayed(past.cpu_us, passed_us, tree.history_us)
        used.gpu_us = decayed(past.gpu_us, passed_us, tree.history_us)
    if now is not None:
        used.slots = now.slots
        used.run_us = max(0, now.timed * now_us - now.begun)
        used.committed_us = now.committed_us
        used.gpu_us += max(0, now.gpus * now_us - now.gpus_begun)
    return used


def accounts(state: State, paths: Iterable[str], now_us: int) -> dict[str, Account]:
    """These accounts and the nodes above them, as a session sees them."""
    found: dict[str, Account] = {}
    used: dict[str, dict[str, Used]] = {}
    ordering = state.index.ordering
    for path in paths:
        tree = ordering.tree_of(path)
        if tree is None:
            continue
        if tree.name not in used:
            used[tree.name] = used_in(state, tree, now_us)
        factors, names = factors_of(tree), path.split("/")
        for depth in range(2, len(names) + 1):
            node = "/".join(names[:depth])
            if node not in found:
                weight = weight_of(used[tree.name].get(node) or Used(), factors)
                shares = ordering.shares.get(node, 0)
                slot_weight = factors.slots * HOUR_US
                found[node] = Account(shares=shares, weight=weight, slot_weight=slot_weight)
    return found


def charge(draft: Draft, job: Job, share: Granted) -> None:
    """A job gives up what it had on one host: its account is charged for the time."""
    state = draft.state
    account = state.index.ordering.account_of(job)
    tree = state.index.ordering.tree_of(account) if account else None
    if tree is None or not job.started_us:
        return
    now_us = draft.now_us
    old = state.shares.get(account) or Share(path=account, at_us=now_us)
    passed_us, ran_us = now_us - old.at_us, max(0, now_us - job.started_us)
    draft.patch(
        "share",
        account,
        at_us=now_us,
        run_us=decayed(old.run_us, passed_us, tree.history_us) + slots_of(share) * ran_us,
        cpu_us=decayed(old.cpu_us, passed_us, tree.history_us),
        gpu_us=decayed(old.gpu_us, passed_us, tree.history_us) + gpus_of(share) * ran_us,
    )
