"""Who uses a standalone claim: members, from their allocation until they end or give that up.

A claim is used as long as a launch of a consumer lives. It takes new consumers while it is BOUND,
all its attachments are READY and nobody asked for its end.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from xce.controller.core.asking import Rejection
from xce.controller.core.fold.state import State
from xce.model.actor import ADMIN, Actor
from xce.model.ids import claim_text, parse_claim
from xce.model.job import ClaimTemplate, Job
from xce.model.start import Allocation, Claim, Launch
from xce.model.tables import LIVE_LAUNCH
from xce.scheduler.reasons import Code, PendReason, reason

if TYPE_CHECKING:
    from xce.controller.core.fold.indexes import Indexes


USES_MAX = 64
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)


class Seen(Protocol):
    """What is looked at of a state, or of a view of one."""

    @property
    def launches(self) -> Mapping[int, Launch]:
        """By number."""

    @property
    def allocations(self) -> Mapping[int, Allocation]:
        """By number."""

    @property
    def index(self) -> "Indexes":
        """What it can be asked without a search."""


def live_launches(state: Seen, number: int) -> list[int]:
    """The launches that use the claim now, in order."""
    found = (
        launch
        for allocation in state.index.claims.consumers.get(number, ())
        for launch in state.allocations[allocation].launches
    )
    return sorted(one for one in found if state.launches[one].state in LIVE_LAUNCH)


def consumers_of(state: Seen, number: int) -> list[int]:
    """The jobs that use the claim now, in order."""
    return sorted({state.launches[one].job for one in live_launches(state, number)})


def is_over(claim: Claim) -> bool:
    """Whether the right is over: what holds it back are its consumers only."""
    return bool(claim.asked) or claim.state == "EXPIRED"


def uses_of(state: State, job: Job) -> tuple[tuple[str, int], ...]:
    """The standalone claims that a job's spec and its gang name, each once: by their name there."""
    templates = list(state.specs[job.spec].claims)
    if job.group:
        spec = state.group_spec(state.groups[job.group])
        templates += [*spec.claims, *spec.role(job.role).claims]
    return uses_in(templates)


def uses_in(templates: Iterable[ClaimTemplate]) -> tuple[tuple[str, int], ...]:
    """The claims that templates use instead of making one."""
    found = {one.name: parse_claim(one.use) or 0 for one in templates if one.use}
    return tuple(found.items())


def hosts_of(state: State, uses: Iterable[tuple[str, int]]) -> tuple[str, ...] | None:
    """The hosts where all of these claims are; None where they bind it to none."""
    common: set[str] | None = None
    for _, number in uses:
        claim = state.claims.get(number)
        own = (
            {one.host for one in claim.holdings if one.host and "@" not in one.counter}
            if claim
            else set()
        )
        if own:
            common = own if common is None else common & own
    return None if common is None else tuple(sorted(common))


def parts_of(
    state: State, templates: Sequence[ClaimTemplate]
) -> tuple[tuple[ClaimTemplate, ...], tuple[str, ...]] | None:
    """The templates that a plan makes claims of, and the hosts that the claims in use bind the work
    to (none: to no host); None while one of those cannot be used."""
    uses = uses_in(templates)
    if not uses:
        return tuple(templates), ()
    if why_not(state, uses) is not None:
        return None
    return tuple(one for one in templates if not one.use), hosts_of(state, uses) or ()


def why_not(state: State, uses: Iterable[tuple[str, int]]) -> PendReason | None:
    """Why a consumer of these claims may not be placed now; None where it may."""
    for _, number in uses:
        said = _unusable(state, number)
        if said:
            return reason(Code.CLAIM, where=claim_text(number), detail=said)
    if hosts_of(state, uses) == ():
        names = ", ".join(claim_text(number) for _, number in uses)
        return reason(Code.CLAIM, where=names, detail="have no host in common")
    return None


def _unusable(state: State, number: int) -> str:
    claim = state.claims.get(number)
    if claim is None or claim.state == "RELEASED":
        return "is not there any more"
    if claim.asked:
        return "is about to go and takes no new consumer"
    if claim.state == "EXPIRED":
        return "takes no new consumer: its lease ran out"
    if claim.state == "FAILED":
        return f"failed{f': {claim.why}' if claim.why else ''}"
    if claim.state != "BOUND":
        return f"is {claim.state}"
    attached = [state.attachments[one] for one in claim.attachments]
    late = [one.host for one in attached if one.state != "READY"]
    return f"is not ready on {', '.join(late)} yet" if late else ""


def resolved(
    state: State, actor: Actor, owner: int, templates: tuple[ClaimTemplate, ...]
) -> tuple[ClaimTemplate, ...] | Rejection:
    """Templates with the numbers of the claims that they name; or what is wrong with one."""
    found = []
    if len(uses_in(templates)) > USES_MAX:
        said = f"a job or role uses at most {USES_MAX} claims"
        return Rejection(code="invalid", message=said, field="claims")
    for template in templates:
        if template.use:
            if _NAME.match(template.name) is None:
                said = f"{template.name[:64]!r} is no name for a claim that is used"
                hint = "a letter, then letters, digits, `_`, `.` or `-`: it becomes a variable"
                return Rejection(code="invalid", message=said, field="claims", hint=hint)
            number = number_of(state, owner, template.use)
            claim = state.claims.get(number)
            if claim is None or not claim.stands_alone or claim.state == "RELEASED":
                return _no_such(template)
            if claim.owner != owner and actor.kind != ADMIN:
                return Rejection(
                    code="not_allowed",
                    message=f"{claim_text(number)}: User permission denied",
                    field="claims",
                    hint="a claim is used by work of its owner",
                )
            found.append(structs.replace(template, use=claim_text(number)))
        else:
            found.append(template)
    return tuple(found)


def number_of(state: State, owner: int, text: str) -> int:
    """The claim that `c7`, or a name of the owner's, means; 0 where there is none."""
    number = parse_claim(text)
    if number is not None and number in state.claims:
        return number
    return state.index.claims.names.get(owner, {}).get(text, 0)


def _no_such(template: ClaimTemplate) -> Rejection:
    return Rejection(
        code="invalid",
        message=f"claim {template.name}: there is no standalone claim {template.use}",
        field="claims",
        hint="xcecli claim list shows those that are there",
    )
