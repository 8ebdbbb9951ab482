"""How a gang stands: which of its starts are current, who is there, what it shares.

Pure looks at the state. A gang runs out of its start as a whole and of further ones, each of some
of its members; what belongs to none of them is leftover that nobody waits for.
"""

from collections.abc import Iterator

from xce.controller.core.fold.shape import shape_of
from xce.controller.core.fold.state import State
from xce.model.group import Group, RoleSpec
from xce.model.job import Exit, Job
from xce.model.start import Claim, Start
from xce.model.tables import LIVE_LAUNCH

RESTART, REPAIR, GROWTH = "restart", "repair", "growth"
GIVEN_UP = "nothing"
TOLERATED, STOPPED = "tolerated", "stopped"


def starts_of(state: State, group: Group) -> Iterator[Start]:
    """The current starts of a gang."""
    return (state.starts[number] for number in group.starts() if number in state.starts)


def any_live(state: State, number: int) -> bool:
    """Whether a launch of a current start of the gang is live."""
    return any(one.ended < len(one.launches) for one in starts_of(state, state.groups[number]))


def is_further(state: State, start: Start) -> bool:
    """Whether it is a start of some members of a gang that runs."""
    group = state.groups.get(start.group)
    return group is not None and start.number in group.further


def is_good(ended: Exit | None) -> bool:
    """Whether an end counts as success."""
    if ended is None or ended.reason == "host_lost":
        return False
    return ended.how == "exited" and ended.code == 0


def members_of(state: State, group: Group) -> Iterator[Job]:
    """The members of a gang, role by role, in rank order."""
    return (state.jobs[key] for key in group.members())


def is_there(job: Job) -> bool:
    """Whether a member counts for its role's minimum: it runs, ended well, or is run again by a
    rule; one that is lost does not."""
    if job.awaits == RESTART:
        return True
    if job.state == "FINISHED":
        return is_good(job.exit)
    return job.state in ("STARTING", "RUNNING", "ENDING")


def below_minimum(state: State, group: Group) -> RoleSpec | None:
    """The first role with fewer members than its minimum; None when there is none."""
    there: dict[str, int] = {}
    for job in members_of(state, group):
        there[job.role] = there.get(job.role, 0) + is_there(job)
    roles = state.group_spec(group).roles
    return next((role for role in roles if there[role.name] < role.min), None)


def is_degraded(state: State, group: Group) -> bool:
    """Whether ranks of it are lost: they wait for a repair, or one is under way."""
    if group.state != "RUNNING":
        return False
    if any(one.kind == REPAIR and one.state == "OPEN" for one in starts_of(state, group)):
        return True
    return any(job.awaits == REPAIR for job in members_of(state, group))


def shared_claims(state: State, group: Group) -> list[Claim]:
    """What all members, or those of a role, use: the newest of each name, in order."""
    found: dict[tuple[str, str], Claim] = {}
    for start in starts_of(state, group):
        for number in shape_of(state, start.number).shared:
            claim = state.claims.get(number)
            if claim is not None and claim.state in ("BOUND", "FAILED", "EXPIRED"):
                found[claim.role, claim.name] = claim
    return sorted(found.values(), key=lambda claim: claim.number)


def uses_shared(state: State, group: Group, role: str) -> bool:
    """Whether a launch of a current start that may use a claim of the role ("": of the gang) is
    live."""
    for start in starts_of(state, group):
        if start.ended < len(start.launches) and live_of_role(state, start, role):
            return True
    return False


def live_of_role(state: State, start: Start, role: str) -> bool:
    """Whether a launch of the start, of that role ("": of any), is live."""
    for number in start.launches:
        launch = state.launches[number]
        if launch.state in LIVE_LAUNCH and role in ("", state.jobs[launch.job].role):
            return True
    return False
