"""What a queue lets its jobs reserve: no more than it reserves itself, or what its ranges say.

Without ranges the queue's own reservation of a built-in load index is the most that a job may
ask for. With a range (LSF's RESRSV_LIMIT: `mem=1GB,8GB scratch=10GB`, least and most, or the most
alone) what the job and its application profile come to must lie within it, and the queue's own
reservation is only what counts for jobs that say nothing.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from xce.model.resources import BUILT_IN, ResourceType
from xce.resreq import tree
from xce.resreq.check import type_of
from xce.resreq.errors import Code, ResreqError
from xce.resreq.parse import COMPAT, parse
from xce.resreq.print import amount_text
from xce.resreq.resolve import amount_in_base

Types = Mapping[str, ResourceType]
Usage = tuple[tree.Reserve, ...]

_RANGE = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<first>[^\s,]+)(?:\s*,\s*(?P<last>[^\s,]+))?")


class Range(Struct, frozen=True, gc=False, kw_only=True):
    """The least (None: any) and the most that may be reserved of a resource."""

    name: str
    low: tree.Amount | None
    high: tree.Amount


@lru_cache(maxsize=256)
def ranges_of(text: str) -> tuple[Range, ...]:
    """The ranges of a text such as `mem=1GB,8GB scratch=10GB`; LSF's brackets may stand around
    each. ResreqError says what is wrong with which column."""
    plain = "".join(" " if sign in "[]" else sign for sign in text)
    found: list[Range] = []
    at = 0
    while at < len(plain):
        if plain[at].isspace():
            at += 1
            continue
        match = _RANGE.match(plain, at)
        if match is None or any(one.name == match["name"] for one in found):
            said = "a range was expected" if match is None else f"a second range of {match['name']}"
            hint = "write NAME=MOST or NAME=LEAST,MOST, like mem=1GB,8GB"
            raise ResreqError(Code.BAD_VALUE, said, column=at + 1, hint=hint, text=text)
        found.append(_range(match, text))
        at = match.end()
    return tuple(found)


def _range(match: re.Match[str], text: str) -> Range:
    amounts = [
        _amount(match["name"], match[part], (text, match.start(part)))
        for part in ("first", "last")
        if match[part]
    ]
    return Range(
        name=match["name"], low=amounts[0] if len(amounts) == 2 else None, high=amounts[-1]
    )


def _amount(name: str, text: str, place: tuple[str, int]) -> tree.Amount:
    """The amount, read as rusage[ ] reads one."""
    whole, start = place
    try:
        read = parse(f"rusage[{name}={text}]", mode=COMPAT).tree
    except ResreqError as error:
        raise ResreqError(
            error.code, error.message, column=start + 1, hint=error.hint, text=whole
        ) from error
    assert isinstance(read, tree.Simple)
    return read.rusage[0][0].phases[0].amount


def within_ranges(upper: tree.Tree, ranges: Sequence[Range], types: Types) -> None:
    """ResreqError where a reservation lies outside its range, or counts for something else than
    amounts of its type do."""
    known = {one.name: one for one in ranges}
    for simple in tree.simples(upper) if known else ():
        for reserve in (one for usage in simple.rusage for one in usage):
            allowed, type_ = known.get(reserve.name), type_of(reserve.name, types)
            if allowed is not None and type_ is not None:
                _judge(reserve, allowed, type_)


def _judge(reserve: tree.Reserve, allowed: Range, type_: ResourceType) -> None:
    if reserve.per is not tree.Per.DEFAULT:
        said = f"{reserve.name} has a range in this queue: /{reserve.per} cannot be said"
        raise _outside(Code.RANGE_SCOPE, reserve, said, "leave it out")
    asked = amount_in_base(reserve.phases[0].amount, type_)
    least = amount_in_base(allowed.low, type_) if allowed.low is not None else 0
    if least <= asked <= amount_in_base(allowed.high, type_):
        return
    from_ = f"from {amount_text(allowed.low)} " if allowed.low is not None else "up "
    said = f"{reserve.name}={amount_text(reserve.phases[0].amount)} is outside the queue's range"
    hint = f"ask for {from_}to {amount_text(allowed.high)}, or submit to another queue"
    raise _outside(Code.OUT_OF_RANGE, reserve, said, hint)


def _outside(code: Code, reserve: tree.Reserve, said: str, hint: str) -> ResreqError:
    return ResreqError(code, said, column=reserve.column, found=reserve.name, hint=hint)


def within_queue(
    upper: tree.Tree, queue: tree.Simple, ranges: Sequence[Range], types: Types
) -> None:
    """Of a built-in load index, no level may reserve more, or for longer, than its queue does.

    With several alternatives in the queue, being within one of them is enough. What `ranges` name
    is judged by them alone: the queue's amount is then only what counts for jobs that say none.
    """
    free = frozenset(one.name for one in ranges)
    for simple in tree.simples(upper):
        for usage in simple.rusage:
            refusals = [_excess(usage, allowed, free, types) for allowed in queue.rusage]
            if refusals and all(refusals) and refusals[0] is not None:
                raise refusals[0]


def _excess(usage: Usage, allowed: Usage, free: frozenset[str], types: Types) -> ResreqError | None:
    caps = {reserve.name: reserve for reserve in allowed}
    for reserve in usage:
        cap, type_ = caps.get(reserve.name), type_of(reserve.name, types)
        if cap is None or type_ is None or type_.name not in BUILT_IN or type_.name in free:
            continue
        most, mine = cap.phases[0], reserve.phases[0]
        if amount_in_base(mine.amount, type_) > amount_in_base(most.amount, type_):
            return _over_queue(reserve, f"the queue's {amount_text(most.amount)}")
        if _time(reserve) > _time(cap) >= 0:
            return _over_queue(reserve, "the time the queue reserves it for")
    return None


def _time(reserve: tree.Reserve) -> int:
    """For how long all phases reserve; -1 where that is not said."""
    spans = [phase.duration_us for phase in reserve.phases]
    return sum(span for span in spans if span is not None) if None not in spans else -1


def _over_queue(reserve: tree.Reserve, limit: str) -> ResreqError:
    said = f"{reserve.name} exceeds {limit}"
    return ResreqError(
        Code.OVER_QUEUE, said, column=reserve.column, found=reserve.name,
        hint="ask for less, or submit to another queue",
    )  # fmt: skip
