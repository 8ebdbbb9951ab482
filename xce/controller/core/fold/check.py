"""The invariants of the state, as one function.

Tests run it after every event, `xce db verify` on the folded log. Indexes are compared with a
fold of the tables; then what design.md promises is checked on the tables themselves. A broken
invariant is a bug: the process must stop before it writes more.
"""

from collections.abc import Iterator

from xce.controller.core.arrays.elements import is_over
from xce.controller.core.claims.using import is_over as right_is_over
from xce.controller.core.claims.using import live_launches
from xce.controller.core.depending.judge import judge_waiter
from xce.controller.core.depending.links import plain
from xce.controller.core.fold.eligible import Waiter, still_awaits
from xce.controller.core.fold.indexes import Indexes
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.counting import GangCounts
from xce.controller.core.gangs.standing import live_of_role
from xce.controller.core.time.reservations import holder_of
from xce.model.group import Group
from xce.model.ids import group_text, job_index, job_number, job_text
from xce.model.job import Job
from xce.model.start import Claim, Start
from xce.model.tables import ENDED_GROUP, ENDED_JOB, LIVE_ATTACHMENT, LIVE_LAUNCH, MACHINES
from xce.model.waiting.array import BLOCK, COUNTED, JOB, NONE, Array
from xce.resreq.options.dependency import Verdict

_COMPARED = (
    "live_launches",
    "live_attachments",
    "used",
    "pooled",
    "waiting_specs",
    "holders",
    "host_instances",
    "starts_of",
    "ports",
    "unfit",
    "users",
    "elements",
    "job_groups",
    "limited",
    "resuming",
)
_STATES = {name: frozenset(row.name for row in one.states) for name, one in MACHINES.items()}


class Broken(AssertionError):
    """An invariant does not hold."""


def check(state: State) -> None:
    """Raise Broken naming the first few invariants that do not hold."""
    found = list(_problems(state))
    if found:
        raise Broken("; ".join(found[:5]))


def _problems(state: State) -> Iterator[str]:
    yield from _indexes(state)
    yield from _states(state)
    yield from _capacity(state)
    yield from _starts(state)
    yield from _launches(state)
    yield from _jobs(state)
    yield from _dependencies(state)
    yield from _arrays(state)
    yield from _groups(state)
    yield from _members(state)
    yield from _claims(state)
    yield from _standalone(state)
    yield from _reservations(state)
    yield from _suspended(state)


def _indexes(state: State) -> Iterator[str]:
    fresh = Indexes(state)
    for what, table in state.tables.items():
        for key, entity in table.items():
            fresh.note(what, key, None, entity)
    for name in _COMPARED:
        if _plain(getattr(fresh, name)) != _plain(getattr(state.index, name)):
            yield f"index {name} is not the fold of the tables"
    if _plain(vars(fresh.claims)) != _plain(vars(state.index.claims)):
        yield "what is counted of claims is not the fold of the tables"
    if fresh.links.dependents != state.index.links.dependents:
        yield "who waits for whom is not the fold of the tables"
    if plain(fresh.links.names) != plain(state.index.links.names):
        yield "names are not the fold of the tables"
    if list(fresh.pending.places()) != list(state.index.pending.places()):
        yield "pending work is not in order"
    if fresh.limits.counts != state.index.limits.counts:
        yield "what counts against limits is not the fold of what is held"
    if fresh.backlog.jobs != state.index.backlog.jobs:
        yield "who waits for his turn is not the fold of the jobs"
    if fresh.usage.running != state.index.usage.running:
        yield "what accounts use is not the fold of the allocations"


def _plain(index: object) -> object:
    """An index without its empty parts."""
    if isinstance(index, dict):
        pairs = ((key, _plain(value)) for key, value in index.items())
        return {key: value for key, value in pairs if value != {}}
    return index


def _states(state: State) -> Iterator[str]:
    for what in ("job", "group", "start", "launch", "claim", "attachment", "instance"):
        for key, entity in state.tables[what].items():
            if entity.state not in _STATES[what]:
                yield f"{what} {key} is in the unknown state {entity.state}"


def _capacity(state: State) -> Iterator[str]:
    for name, used in sorted(state.index.used.items()):
        # More than there is now is no error: a host may come back smaller than its work.
        for counter, amount in sorted(used.items()):
            if amount < 0:
                yield f"{counter} of {name} is used {amount} times"


def _starts(state: State) -> Iterator[str]:
    for number, start in sorted(state.starts.items()):
        launches = [state.launches[one] for one in start.launches]
        ended = sum(one.state not in LIVE_LAUNCH for one in launches)
        if ended != start.ended:
            yield f"start {number}: {ended} launches ended, its tally says {start.ended}"
        let_go = [one.number for one in launches if one.go]
        if let_go and not start.passed_us:
            yield f"start {number} never passed, launches {let_go} were let go"
        if start.state == "OPEN" and start.passed_us:
            yield f"start {number} is OPEN and passed"
        if start.passed_us and not _passed_well(start, len(launches)):
            armed = f"{start.armed} of {len(launches)} ARMED"
            ready = f"{start.ready} of {len(start.attachments)} READY"
            yield f"start {number} passed with {armed}, {ready}"
        if start.state == "FAILED":
            running = [one.number for one in launches if one.state in ("PREPARING", "ARMED")]
            if running:
                yield f"start {number} FAILED, launches {running} are not stopped"


def _passed_well(start: Start, launches: int) -> bool:
    """All ARMED and READY at the pass; the short way (one launch, nothing attached) needs none."""
    if launches == 1 and not start.attachments:
        return True
    return start.armed == launches and start.ready == len(start.attachments)


def _launches(state: State) -> Iterator[str]:
    for number, launch in sorted(state.launches.items()):
        if launch.state == "RUNNING" and not launch.go:
            yield f"launch {number} is RUNNING and was never let go"
        held = state.allocations.get(launch.allocation)
        if launch.state in LIVE_LAUNCH:
            shares = [share.host for share in held.shares] if held else []
            if launch.host not in shares:
                yield f"launch {number} is live and its share on {launch.host} was given up"


def _jobs(state: State) -> Iterator[str]:
    for key, job in sorted(state.jobs.items()):
        live = [one for one in job.launches if state.launches[one].state in LIVE_LAUNCH]
        if job.state in ENDED_JOB and live:
            yield f"job {job_text(key)} is {job.state}, its launches {live} are live"
        if job.state in ("PENDING", "HELD") and (job.start or job.launches):
            yield f"job {job_text(key)} is {job.state} and has start {job.start}"
        if job.state in ("STARTING", "RUNNING") and not job.start:
            yield f"job {job_text(key)} is {job.state} without a start"
        if job.group and job.group not in state.groups:
            yield f"job {job_text(key)} names a group that is not there"


def _dependencies(state: State) -> Iterator[str]:
    """Nothing has begun that still waits for others, and what holds has been written down."""
    waiters: list[tuple[int, Waiter]] = [*sorted(state.arrays.items()), *sorted(state.jobs.items())]
    for key, job in waiters:
        if not still_awaits(job):
            continue
        if isinstance(job, Job) and job.state not in ("PENDING", "HELD"):
            yield f"job {job_text(key)} is {job.state}, its dependency was never met"
        judged = judge_waiter(state, job)
        if judged.verdict is Verdict.HOLDS or judged.latching(job.after_latched):
            yield f"job {job_text(key)}: what holds of its dependency is not latched"


def _arrays(state: State) -> Iterator[str]:
    """Every element is in exactly one place, and is counted there."""
    said: set[tuple[int, int]] = set()
    for number, array in sorted(state.arrays.items()):
        spelled = _spelled(array)
        counts = tuple(spelled.count(letter) for letter in COUNTED)
        if counts != array.tally:
            yield f"array {number}: its tally is {array.tally}, its elements are {counts}"
        if bool(array.ended_us) != is_over(state, number):
            yield f"array {number}: ended at {array.ended_us}, over is {is_over(state, number)}"
        if spelled[array.last :].strip(NONE):
            yield f"array {number} has elements beyond {array.last}"
        said.update((number, at + 1) for at, letter in enumerate(spelled) if letter == JOB)
    keys = {key for key in state.jobs if job_index(key)}
    alone = {(job_number(key), job_index(key)) for key in keys}
    if alone != said:
        yield f"elements {sorted(alone ^ said)[:5]} are jobs or are said to be, not both"


def _spelled(array: Array) -> str:
    return "".join(one * (BLOCK if len(one) == 1 else 1) for one in array.blocks)


def _groups(state: State) -> Iterator[str]:
    for number, group in sorted(state.groups.items()):
        members = [state.jobs[key] for key in group.members()]
        states = {member.state for member in members}
        text = group_text(number)
        if group.state in ("FORMING", "PENDING") and states - {"PENDING", "HELD"}:
            yield f"group {text} is {group.state}, its members are {sorted(states)}"
        if group.state in ENDED_GROUP and states - ENDED_JOB:
            yield f"group {text} is {group.state}, its members are {sorted(states)}"
        if group.state == "RUNNING" and state.starts[group.start].state == "OPEN":
            yield f"group {text} is RUNNING, its start has not passed"
        yield from _parts(state, group, members)


def _members(state: State) -> Iterator[str]:
    """Who waits for a start of some members is kept in step."""
    fresh = GangCounts()
    for job in state.jobs.values():
        if job.group:
            fresh.note(None, job)
    kept = state.index.gangs
    if (fresh.waiting, fresh.stopping) != (kept.waiting, kept.stopping):
        yield "which members wait for a start of their own is not the fold of the jobs"


def _parts(state: State, group: Group, members: list[Job]) -> Iterator[str]:
    """A gang runs out of its own starts alone; who waits for another one is not also there."""
    text = group_text(group.number)
    current = group.starts()
    if group.further and group.state not in ("RUNNING", "RETRACTING", "ENDING", *ENDED_GROUP):
        yield f"group {text} is {group.state} and has the further starts {group.further}"
    for number in group.further if group.state not in ENDED_GROUP else ():
        if state.starts[number].group != group.number:
            yield f"start {number} is not of group {text}"
    if group.state != "RUNNING":
        return
    for job in members:
        if job.start and job.start not in current:
            yield f"job {job_text(job.key)} is of start {job.start}, its group of {current}"
        if job.awaits == "repair" and job.state not in ("PENDING", "STARTING"):
            yield f"job {job_text(job.key)} is {job.state} and waits for a repair"
    waits = any(job.awaits == "repair" for job in members)
    opened = any(
        one.kind == "repair" and one.state == "OPEN"
        for one in map(state.starts.get, current)
        if one
    )
    if bool(group.degraded_us) != (waits or opened):
        yield f"group {text} is degraded since {group.degraded_us}: {waits}, {opened}"


def _claims(state: State) -> Iterator[str]:
    for number, claim in sorted(state.claims.items()):
        attached = [
            one
            for one in claim.attachments
            if one in state.attachments and state.attachments[one].state in LIVE_ATTACHMENT
        ]
        if claim.state == "RELEASED" and (claim.holdings or attached):
            yield f"claim c{number} is RELEASED, it holds {claim.holdings} and {attached}"
        if claim.state in ("RELEASING", "RELEASED") and _still_used(state, claim):
            yield f"claim c{number} is {claim.state} while a consumer's launch is live"


def _standalone(state: State) -> Iterator[str]:
    """A claim that stands alone holds nothing before it is bound, has a generation from then on,
    and lets go of nothing while somebody uses it."""
    for number, claim in sorted(state.claims.items()):
        if not claim.stands_alone:
            continue
        text = f"claim c{number} is {claim.state}"
        if claim.state == "PENDING" and (claim.holdings or claim.generation):
            yield f"{text}, it holds {claim.holdings} with generation {claim.generation}"
        if claim.state == "BOUND" and not 0 < claim.generation <= state.lsn:
            yield f"{text} with generation {claim.generation}"
        if claim.state in ("RELEASING", "RELEASED") and live_launches(state, number):
            yield f"{text} while launches {live_launches(state, number)} use it"
        stays = claim.state in ("PENDING", "BOUND", "EXPIRED", "FAILED")
        if stays and right_is_over(claim) and not live_launches(state, number):
            yield f"{text}, its right is over and nobody uses it"
    for allocation in state.allocations.values():
        gone = [one for one in allocation.uses if one not in state.claims]
        if gone:
            yield f"job {job_text(allocation.job)} uses claims {gone} that are not there"


def _suspended(state: State) -> Iterator[str]:
    """What is lent is lent by a member that is suspended, or was when it was told to end, and of
    which nothing runs."""
    for number, allocation in sorted(state.allocations.items()):
        if not allocation.lent:
            continue
        job = state.jobs[allocation.job]
        text = f"job {job_text(job.key)} lends"
        if job.suspension != "SUSPENDED":
            yield f"{text} and is {job.suspension}"
        held = {share.host: share for share in allocation.shares}
        for lent in allocation.lent:
            own = held.get(lent.host)
            if own is None or not set(lent.counters) <= set(own.counters):
                yield f"{text} on {lent.host} what allocation {number} does not have"
        live = (state.launches[one] for one in allocation.launches)
        for launch in (one for one in live if one.state in LIVE_LAUNCH and one.go):
            if launch.freeze % 2 == 0 or launch.frozen != launch.freeze:
                yield f"{text} while launch {launch.number} is not frozen"
    for key, job in sorted(state.jobs.items()):
        if job.suspension != "ACTIVE" and job.state not in ("STARTING", "RUNNING", "ENDING"):
            yield f"job {job_text(key)} is {job.state} and {job.suspension}"


def _still_used(state: State, claim: Claim) -> bool:
    found = state.starts.get(claim.start)
    if found is None:
        return False
    if not claim.job:
        return live_of_role(state, found, claim.role)
    launches = (state.launches[one] for one in found.launches)
    return any(one.state in LIVE_LAUNCH and claim.job == one.job for one in launches)


def _reservations(state: State) -> Iterator[str]:
    holders: dict[tuple[int, int], int | str] = {}
    for number, one in sorted(state.tables["reservation"].items()):
        if one.holder == (0, 0):
            continue
        found = holder_of(state, one.group, one.job)
        if found is None or found.state != "PENDING":
            yield f"reservation {number} is for somebody who does not wait"
        if one.holder in holders:
            yield f"reservations {holders[one.holder]} and {number} are for the same"
        holders[one.holder] = number
