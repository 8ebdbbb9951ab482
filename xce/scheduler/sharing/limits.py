"""Limits inside a session: what a class may still take, counted with what the session books.

A limit on the cluster as a whole is a `Bound`: a number that is compared before an ask is tried
and again when it is known what it takes. A limit on hosts is a counter of its own in the ledger
(`HostBound`), so that placing keeps within it by the same rules as within any other amount.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from xce.model.need import PER_TASK
from xce.model.placing import Holding, Share
from xce.scheduler.plan import PlacedClaim, PlacedMember
from xce.scheduler.reasons import Code, Cure, PendReason, reason
from xce.scheduler.sharing.bounds import Bound, Column, HostBound
from xce.scheduler.snapshot import Ask, RoleAsk

JOBS, SLOTS = "jobs", "slots"
Amounts = Mapping[str, int]


class Limits:
    """What the bounds of a snapshot leave while a session runs."""

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self._bounds = bounds
        self._used = [bound.used for bound in bounds]

    def refuses(self, numbers: Sequence[int], amounts: Amounts) -> PendReason | None:
        """The first of these bounds that would be gone over with these amounts."""
        for number in numbers:
            bound = self._bounds[number]
            needed = amounts.get(bound.what, 0)
            if needed and self._used[number] + needed > bound.allowed:
                return limit_reason(bound, self._used[number], needed)
        return None

    def booked(self, numbers: Sequence[int], amounts: Amounts) -> None:
        """Something under these bounds was placed and takes this."""
        for number in numbers:
            self._used[number] += amounts.get(self._bounds[number].what, 0)

    def trimmed(self, ask: Ask) -> Ask:
        """The ask with no more members beyond its minima than the bounds leave room for, the
        later roles giving way first."""
        if not ask.limits or all(role.min >= role.count for role in ask.roles):
            return ask
        roles = list(ask.roles)
        for place in reversed(range(len(roles))):
            while roles[place].count > roles[place].min:
                whole = added(amounts_of_role(role, role.count, 0) for role in roles)
                if self.refuses(ask.limits, whole) is None:
                    return structs.replace(ask, roles=tuple(roles))
                role = roles[place]
                roles[place] = structs.replace(role, jobs=role.jobs[:-1])
        # Of a start that may be of any number of members at least one is asked for.
        none = not any(role.jobs for role in roles)
        return ask if none else structs.replace(ask, roles=tuple(roles))


def limit_reason(bound: Bound, used: int, needed: int) -> PendReason:
    """Why a class waits for a limit, with its numbers."""
    never = needed > bound.allowed
    code = Code.LIMIT_NEVER if never else Code.LIMIT_REACHED
    return reason(
        code, what=bound.what, where=bound.name, needed=needed, available=bound.allowed,
        detail=bound.whose, used=used,
    )  # fmt: skip


def on_hosts(why: PendReason, bounds: Mapping[str, HostBound]) -> PendReason:
    """A shortage of what a limit on hosts leaves, told as the limit that it is."""
    bound = bounds.get(why.what)
    if bound is None:
        return why
    code = Code.LIMIT_NEVER if why.cure is Cure.NEVER else Code.LIMIT_ON_HOSTS
    told = reason(
        code, what=bound.what, where=bound.name, needed=why.needed,
        available=why.available, detail=bound.whose,
    )  # fmt: skip
    return structs.replace(told, hosts=why.hosts)


def allowed_on_hosts(bounds: Mapping[str, HostBound]) -> dict[str, Column]:
    """What limits on hosts allow where nothing runs."""
    return {name: bound.allowed for name, bound in bounds.items()}


# -- what is taken --------------------------------------------------------------------------------


def added(parts: Iterable[Amounts]) -> dict[str, int]:
    """Amounts together."""
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def least_of(ask: Ask, choice: Sequence[int]) -> dict[str, int]:
    """The least that an ask takes when it is placed by this choice of alternatives."""
    return added(
        amounts_of_role(role, min(role.min, role.count), index)
        for role, index in zip(ask.roles, choice, strict=True)
    )


def amounts_of_role(role: RoleAsk, members: int, index: int) -> dict[str, int]:
    """What so many members take at least."""
    total: dict[str, int] = {JOBS: members}
    for tasks, part in role.need.terms_of(index, role.tasks):
        amounts = dict(part.per_task)
        amounts.setdefault(SLOTS, 1)
        own = [(name, amount * tasks) for name, amount in amounts.items()]
        own += [*part.per_host, *part.per_job]
        own += [
            (item.type, item.count_per_task * (tasks if item.per == PER_TASK else 1))
            for item in part.instances
        ]
        for name, amount in own:
            total[name] = total.get(name, 0) + amount * members
    for claim in role.claims:
        if not claim.size_bytes and not claim.use:
            times = members if claim.scope == "member" else 1
            total[claim.type] = total.get(claim.type, 0) + claim.count * times
    return total


def taken_by(members: Sequence[PlacedMember], claims: Sequence[PlacedClaim]) -> dict[str, int]:
    """What a placement takes, exactly."""
    shares = (share for member in members for share in member.shares)
    holdings = (holding for claim in claims for holding in claim.holdings)
    parts = [*map(of_share, shares), *map(of_holding, holdings)]
    return added([{JOBS: len(members)}, *parts])


def of_share(share: Share) -> dict[str, int]:
    """What a share has of each thing."""
    found = {name.partition("@")[0]: amount for name, amount in share.counters}
    found.setdefault(SLOTS, share.tasks)
    for key in share.instances:
        type_ = key.split("/", 2)[1]
        found[type_] = found.get(type_, 0) + 1
    return found


def of_holding(holding: Holding) -> dict[str, int]:
    """What a claim's holding is of."""
    if holding.instance:
        return {holding.instance.split("/", 2)[1]: 1}
    return {holding.counter.partition("@")[0]: holding.amount} if holding.counter else {}
