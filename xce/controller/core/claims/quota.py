"""How much one owner's standalone claims may hold, so that nobody holds the cluster by them."""

from collections.abc import Mapping

from xce.controller.core.fold.state import State
from xce.model.resources import BYTES, site_types
from xce.model.start import Claim
from xce.model.units import format_size
from xce.model.waiting.claim import ISLAND
from xce.scheduler.snapshot import HostTable


def asked_of(state: State, claim: Claim) -> dict[str, int]:
    """What a claim is going to hold, by instance type or counter."""
    types = site_types(state.config.types)
    found: dict[str, int] = {}
    for one in claim.requests:
        what = types[one.type].draws_on or one.type if one.type in types else one.type
        found[what] = found.get(what, 0) + (one.amount or one.count)
    return found


def limit_of(state: State, table: HostTable, claim: Claim) -> str:
    """Which limit a claim would be over if it were bound now, "" where none."""
    asked, leased = asked_of(state, claim), bool(claim.until_us)
    return over_limit(state, table, claim.owner, asked, leased=leased)


def over_limit(
    state: State,
    table: HostTable,
    owner: int,
    asked: Mapping[str, int],
    *,
    leased: bool,
    alone: bool = False,
) -> str:
    """Which limit the owner's claims would be over with what is asked, "" where none; `alone` as if
    nothing were held."""
    limits, counts = state.config.claims, state.index.claims
    held = {} if alone else counts.held.get(owner, {})
    unleased = {} if alone else counts.unleased.get(owner, {})
    for what, amount in sorted(asked.items()):
        most = dict(limits.per_user).get(what, -1)
        if 0 <= most < held.get(what, 0) + amount:
            return _said(state, what, held.get(what, 0), amount, most, "in claims")
        if leased or limits.unleased_percent >= 100:
            continue
        # Half of one thing is that thing: a share is rounded up. Of what is not there, none is had.
        islands = len(state.index.host_instances.get("", {}))
        total = islands if what == ISLAND else total_of(table, what)
        share = -(-total * limits.unleased_percent // 100)
        if total and unleased.get(what, 0) + amount > share:
            where = f"in claims without a lease ({limits.unleased_percent}% of what there is)"
            return _said(state, what, unleased.get(what, 0), amount, share, where)
    return ""


def too_many(state: State, owner: int) -> str:
    """Whether the owner has as many claims as one may, in words; "" where not."""
    mine, most = len(state.index.claims.names.get(owner, ())), state.config.claims.count_max
    return f"there are {mine} claims, and one user may have {most}" if mine >= most else ""


def total_of(table: HostTable, what: str) -> int:
    """How much there is of a counter, or how many instances of a type."""
    if what in table.totals:
        return int(table.totals[what].sum())
    return sum(len(row) for row in table.instances.get(what, ()))


def _said(state: State, what: str, held: int, asked: int, most: int, where: str) -> str:
    type_ = site_types(state.config.types).get(what)
    sized = type_ is not None and type_.unit == BYTES
    words = [format_size(n) if sized else str(n) for n in (held, asked, most)]
    return (
        f"{what}: {words[0]} held and {words[1]} more asked, one user may have {words[2]} {where}"
    )
