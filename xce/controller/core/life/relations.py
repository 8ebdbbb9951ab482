"""Who follows whom: the relations and conditions that the couplings of the tables name.

Pure look-ups. A relation gives keys in an order that the state fixes (rank order, number order).
"""

from collections.abc import Callable, Iterable

from xce.controller.core.claims.using import is_over as right_is_over
from xce.controller.core.claims.using import live_launches
from xce.controller.core.fold.shape import shape_of
from xce.controller.core.fold.state import Key, State
from xce.controller.core.gangs.standing import live_of_role, starts_of, uses_shared
from xce.model.tables import LIVE_LAUNCH

Relation = Callable[[State, Key], Iterable[Key]]
Condition = Callable[[State, Key], bool]


def launches_of_job(state: State, key: Key) -> tuple[int, ...]:
    """Launches of the job's present attempt, in host order."""
    return state.jobs[key].launches  # type: ignore[index]


def launches_of_group(state: State, key: Key) -> list[int]:
    """Launches of all present attempts of the group's members, in rank order."""
    members = state.groups[key].members()  # type: ignore[index]
    return [launch for job in members for launch in launches_of_job(state, job)]


def claims_of_launch(state: State, key: Key) -> list[int]:
    """Claims that this launch, by ending, may leave without a consumer: of its start, and those
    that stand alone and are used."""
    launch = state.launches[key]  # type: ignore[index]
    shape = shape_of(state, launch.start)
    allocation = state.allocations.get(launch.allocation)
    used = allocation.uses if allocation is not None else ()
    claims = (*shape.shared, *shape.claims_of_job.get(launch.job, ()), *used)
    return sorted(claim for claim in claims if claim in state.claims)


def consumers_live(state: State, key: Key) -> bool:
    """Whether a live launch may still use the claim, or what the claim lives for goes on."""
    claim = state.claims[key]  # type: ignore[index]
    if claim.stands_alone:
        return not right_is_over(claim) or bool(live_launches(state, claim.number))
    start = state.starts[claim.start]
    if claim.job:
        return any(
            state.launches[launch].state in LIVE_LAUNCH
            for launch in launches_of_member(state, start.number, claim.job)
        )
    if start.ended < len(start.launches) and live_of_role(state, start, claim.role):
        return True
    group = state.groups.get(claim.group)
    if group is None or start.number not in group.starts():
        return False
    if uses_shared(state, group, claim.role):
        return True
    return start.state != "FAILED" and group.state in ("STARTING", "RUNNING")


def consumers(state: State, claim: int) -> list[int]:
    """Launches that may use the claim, in order: of its start and of later ones of its gang, or of
    those who use one that stands alone."""
    found = state.claims[claim]
    if found.stands_alone:
        return live_launches(state, claim)
    start = state.starts[found.start]
    if found.job:
        return list(launches_of_member(state, start.number, found.job))
    group = state.groups.get(found.group)
    starts = [start, *(starts_of(state, group) if group is not None else ())]
    return [
        launch
        for number in dict.fromkeys(one.number for one in starts if one.number >= start.number)
        for launch in state.starts[number].launches
        if found.role in ("", state.jobs[state.launches[launch].job].role)
    ]


def launches_of_member(state: State, start: int, job: int) -> tuple[int, ...]:
    """Launches of one member within a start, in host order."""
    return shape_of(state, start).launches_of_job.get(job, ())


def is_over(state: State, start: int) -> bool:
    """Whether no launch of the start is live."""
    found = state.starts[start]
    return found.ended >= len(found.launches)


def _unused(state: State, key: Key) -> bool:
    return not consumers_live(state, key)


def _bare(state: State, key: Key) -> bool:
    claim = state.claims[key]  # type: ignore[index]
    return claim.state == "RELEASING" and all(
        state.attachments[number].state == "RELEASED"
        for number in claim.attachments
        if number in state.attachments
    )


def _group_of_start(state: State, key: Key) -> tuple[int, ...]:
    group = state.starts[key].group  # type: ignore[index]
    return (group,) if group else ()


def _claims_of_group(state: State, key: Key) -> list[int]:
    starts = starts_of(state, state.groups[key])  # type: ignore[index]
    return [claim for start in starts for claim in start.claims if claim in state.claims]


def _instances_of_attachment(state: State, key: Key) -> list[str]:
    attachment = state.attachments[key]  # type: ignore[index]
    holdings = state.claims[attachment.claim].holdings
    return [
        holding.instance
        for holding in holdings
        if holding.host == attachment.host and holding.instance in state.instances
    ]


def _claims_of_instance(state: State, key: Key) -> list[int]:
    """The claim that holds an instance; none when an allocation does, or nobody."""
    what, number = state.index.holders.get(key, ("", 0))  # type: ignore[arg-type]
    return [number] if what == "claim" and number in state.claims else []


CONDITIONS: dict[str, Condition] = {
    "": lambda state, key: True,
    "unused": _unused,
    "bare": _bare,
}

RELATIONS: dict[tuple[str, str], Relation] = {
    ("start", "group"): _group_of_start,
    ("start", "launches"): lambda state, key: state.starts[key].launches,  # type: ignore[index]
    ("start", "claims"): lambda state, key: state.starts[key].claims,  # type: ignore[index]
    ("start", "members"): lambda state, key: state.starts[key].members,  # type: ignore[index]
    ("launch", "claims"): claims_of_launch,
    ("launch", "job"): lambda state, key: (state.launches[key].job,),  # type: ignore[index]
    ("attachment", "instances"): _instances_of_attachment,
    ("instance", "claims"): _claims_of_instance,
    ("group", "claims"): _claims_of_group,
    ("claim", "attachments"): lambda state, key: state.claims[key].attachments,  # type: ignore[index]
    ("claim", "self"): lambda state, key: (key,),
    ("attachment", "claim"): lambda state, key: (state.attachments[key].claim,),  # type: ignore[index]
    ("job", "launches"): launches_of_job,
    ("job", "self"): lambda state, key: (key,),
    ("group", "members"): lambda state, key: state.groups[key].members(),  # type: ignore[index]
    ("group", "launches"): launches_of_group,
}
