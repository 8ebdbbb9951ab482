"""Array names: `name[1-10:2,20]%3`.

An array is kept as its ranges, never as a list of its elements: a billion elements cost no more
than ten. Overlapping ranges are legal and every index counts once. How many elements a site
allows is the caller's to judge; indices end at 2**31 - 1, as everywhere.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput
from msgspec import Struct

from xce.resreq.errors import Code, ResreqError
from xce.resreq.syntax.hints import stopped_at

INDEX_MAX = 2**31 - 1

# Ranges that overlap are counted one by one, so there is a limit to that.
OVERLAP_MAX = 1_000_000


class ArrayError(ResreqError):
    """An array name that cannot be taken."""

    syntax_text = "Job array index error"


class Range(Struct, frozen=True, gc=False, kw_only=True):
    """The indices first, first + step, ... up to last, which is one of them."""

    first: int
    last: int
    step: int = 1

    @property
    def count(self) -> int:
        """How many indices there are."""
        return (self.last - self.first) // self.step + 1


class ArrayName(Struct, frozen=True, gc=False, kw_only=True):
    """A name, its ranges in the order given, and the slot limit (0: none)."""

    name: str
    ranges: tuple[Range, ...]
    limit: int = 0

    @property
    def count(self) -> int:
        """How many elements there are."""
        if not _overlap(self.ranges):
            return sum(part.count for part in self.ranges)
        return len(_union(self.ranges))

    def indices(self) -> Iterator[int]:
        """All indices, ascending, each once."""
        if _overlap(self.ranges):
            return iter(sorted(_union(self.ranges)))
        ordered = sorted(self.ranges, key=lambda part: part.first)
        return (i for part in ordered for i in range(part.first, part.last + 1, part.step))


def is_array(text: str) -> bool:
    """Whether a job name asks for an array at all."""
    return "[" in text or "]" in text


@lru_cache(maxsize=4096)
def parse_array(text: str) -> ArrayName:
    """The array of a job name; raises ArrayError with a column."""
    try:
        made = cast("ArrayName", _grammar().parse(text))
        if _overlap(made.ranges) and sum(part.count for part in made.ranges) > OVERLAP_MAX:
            said = f"ranges that overlap have at most {OVERLAP_MAX} indices together"
            raise ArrayError(Code.TOO_LARGE, said, column=text.index("[") + 1)
    except UnexpectedInput as error:
        refusal: ResreqError = _refusal(text, *stopped_at(text, error))
    except ResreqError as error:
        refusal = error
    else:
        return made
    refusal.text = text
    raise refusal from None


def canonical_array(made: ArrayName) -> str:
    """The one printed form; reads back as an equal array."""
    ranges = ",".join(_range_text(part) for part in made.ranges)
    return f"{made.name}[{ranges}]{f'%{made.limit}' if made.limit else ''}"


def _range_text(part: Range) -> str:
    if part.first == part.last:
        return str(part.first)
    step = f":{part.step}" if part.step > 1 else ""
    return f"{part.first}-{part.last}{step}"


def _overlap(ranges: tuple[Range, ...]) -> bool:
    ordered = sorted(ranges, key=lambda part: part.first)
    return any(before.last >= after.first for before, after in pairwise(ordered))


def _union(ranges: tuple[Range, ...]) -> set[int]:
    return {i for part in ranges for i in range(part.first, part.last + 1, part.step)}


# --- reading ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    return Lark.open(
        "arrays.lark",
        rel_to=__file__,
        parser="lalr",
        transformer=cast("Transformer[Any, Any]", SimpleNamespace(**_RULES)),
        maybe_placeholders=False,
    )


def _start(nodes: list[Any]) -> ArrayName:
    if not nodes[0].strip():
        raise _refused(nodes[0], Code.SYNTAX, "the name is missing before the list of indices")
    limit = nodes[-1] if isinstance(nodes[-1], int) else 0
    ranges = tuple(node for node in nodes[1:] if isinstance(node, Range))
    return ArrayName(name=str(nodes[0]).strip(), ranges=ranges, limit=limit)


def _range(nodes: list[Token]) -> Range:
    first = _number(nodes[0], "an index")
    last = _number(nodes[1], "an index") if len(nodes) > 1 else first
    step = _number(nodes[2], "a step") if len(nodes) > 2 else 1
    if last < first:
        said = f"the range ends at {last}, before it begins at {first}"
        raise _refused(nodes[1], Code.BAD_VALUE, said)
    return Range(
        first=first,
        last=last - (last - first) % step,
        step=1 if last - first < step else step,
    )


def _limit(nodes: list[Token]) -> int:
    return _number(nodes[0], "the limit")


_RULES: Mapping[str, Any] = MappingProxyType({"start": _start, "range": _range, "limit": _limit})


def _number(token: Token, what: str) -> int:
    if len(token) > len(str(INDEX_MAX)) + 20 or int(token) > INDEX_MAX:
        raise _refused(token, Code.TOO_LARGE, f"{what} is at most {INDEX_MAX}")
    if int(token) < 1:
        raise _refused(token, Code.BAD_VALUE, f"{what} is at least 1")
    return int(token)


def _refused(token: Token, code: Code, said: str) -> ArrayError:
    column = (token.start_pos or 0) + 1
    return ArrayError(code, said, column=column, end=column + len(token), found=str(token))


def _refusal(text: str, offset: int, found: str, expected: tuple[str, ...]) -> ArrayError:
    before = text[:offset].rstrip()
    said, hint = f"unexpected {found!r}" if found else "the array name ends too early", ""
    if "[" not in text:
        said, hint = "no list of indices", "write name[1-10]"
    elif not before:
        said = "the name is missing before the list of indices"
    elif found == "]" and before.endswith("["):
        said = "the list of indices is empty"
    elif found == "{":
        said, hint = "a template's variable was left in", "put the number in its place"
    elif found == "." or found[:1].isalpha():
        said, hint = f"{found!r} is no index", "indices are whole numbers from 1 on"
    elif found == "-" or (found[:1] == "-" and found[1:].isdigit()):
        said = "an index, step or limit is not negative"
    elif before.endswith("-"):
        said = "the end of the range is missing"
    elif before.endswith("%"):
        said = "the limit is missing"
    return ArrayError(
        Code.SYNTAX, said, column=offset + 1, end=offset + 1 + len(found), found=found,
        expected=expected, hint=hint,
    )  # fmt: skip
