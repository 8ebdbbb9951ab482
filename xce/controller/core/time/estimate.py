"""When waiting work is expected to begin, on demand: what is reserved for it, or a plan ahead.

The plan is a session's own with conservative backfill: all that waits before it (up to a number
that the size of the cluster allows) and the work itself get reservations on a snapshot, and
nothing of it is written down. So an estimate and a decision cannot disagree.
"""

from msgspec import Struct, structs

from xce.controller.core.arrays.elements import found_job
from xce.controller.core.fold.state import State
from xce.controller.core.time.reservations import reservations
from xce.controller.core.view import Viewer
from xce.model.ids import parse_group, parse_job
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, Snapshot
from xce.scheduler.time.terms import CONSERVATIVE, TimePolicy

PROBED_HOSTS = 20_000
AHEAD_MAX = 100


class Estimate(Struct, frozen=True, kw_only=True):
    """When it is expected to begin, where, and whether that is reserved (then until when the
    reservation stands). `ahead` is how much of what waits before it was planned, too."""

    at_us: int
    hosts: tuple[str, ...]
    reserved: bool = False
    until_us: int = 0
    slips: int = 0
    cause: str = ""
    ahead: int = 0


def estimate(state: State, viewer: Viewer, entity: str, now_us: int) -> Estimate | None:
    """The expected start of a pending job or gang; None where nobody can know it."""
    group, key = parse_group(entity) or 0, parse_job(entity) or 0
    for one in reservations(state).values():
        if one.holder == (group, key):
            hosts = tuple(dict.fromkeys(share.host for share in one.shares))
            return Estimate(
                at_us=one.from_us, hosts=hosts, reserved=True, until_us=one.until_us,
                slips=one.slips, cause=one.cause,
            )  # fmt: skip
    ask = _ask(state, viewer, group, key, now_us)
    return _planned(viewer, ask, now_us) if ask is not None else None


def _ask(state: State, viewer: Viewer, group: int, key: int, now_us: int) -> Ask | None:
    if group:
        found = state.groups.get(group)
        waits = found is not None and found.state == "PENDING"
        return viewer.ask(group, 0, f"g{group}", now_us) if waits else None
    job = found_job(state, key) if key else None
    if job is None or job.group or job.state != "PENDING":
        return None
    return viewer.ask(0, key, state.index.class_of(job), now_us)


def _planned(viewer: Viewer, ask: Ask, now_us: int) -> Estimate | None:
    hosts = max(1, len(viewer.table().names))
    limit = max(1, min(AHEAD_MAX, PROBED_HOSTS // hosts))
    snapshot = viewer.snapshot(now_us, {}, limit, (ask,))
    ask, before = bounded_as(snapshot, ask), []
    for other in snapshot.pending:
        if other.label == ask.label:
            break
        before.append(other)
    policy = TimePolicy(policy=CONSERVATIVE, depth=len(before) + 1, look=0)
    pending = (*before, ask)
    plan = run_session(structs.replace(snapshot, pending=pending, time_policies={"": policy}))
    holder = (ask.group, 0 if ask.group else ask.roles[0].jobs[0])
    for placement in plan.placements:
        if (placement.group, placement.job) == holder:
            used = [share.host for member in placement.members for share in member.shares]
            return Estimate(at_us=now_us, hosts=tuple(dict.fromkeys(used)), ahead=len(before))
    for one in plan.reserves:
        if (one.group, one.job) == holder:
            used = [share.host for share in one.shares]
            return Estimate(at_us=one.from_us, hosts=tuple(dict.fromkeys(used)), ahead=len(before))
    return None


def bounded_as(snapshot: Snapshot, ask: Ask) -> Ask:
    """The ask as the snapshot has it: under the limits that hold for it."""
    found = [one for one in snapshot.pending if one.label == ask.label]
    return found[-1].whole() if found else ask
