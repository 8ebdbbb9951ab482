"""Text of a resource requirement to its tree: the front door of the language.

The grammar is built once, on first use, and the parser is imported then; equal texts are parsed
once. Every refusal is a
`ResreqError` with a column. Any text, however long or broken, is answered in time linear in its
length: brackets are counted before the parser sees them and numbers have a longest form.
"""

import re
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from xce.resreq import tree
from xce.resreq.errors import Code, Remark, ResreqError
from xce.resreq.syntax.assemble import DEPTH_MAX, Reading, assemble
from xce.resreq.syntax.build import RULES
from xce.resreq.syntax.old import OLD_RULES

if TYPE_CHECKING:
    from lark import Lark, Transformer

STRICT, COMPAT = "strict", "compat"
TEXTS_KEPT = 65_536
TEXT_KEPT_MAX = 512

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_BRACKET = re.compile(r"[\[\](){}]")


class Parsed(Struct, frozen=True, gc=False, kw_only=True):
    """A tree, and what was taken although it is not promised to be."""

    tree: tree.Tree
    warnings: tuple[Remark, ...] = ()


def parse(text: str, *, mode: str = STRICT, partial: bool = False) -> Parsed:
    """The tree of a requirement; `partial` for one of several that will be merged."""
    if mode not in (STRICT, COMPAT):
        raise ValueError(f"mode is {STRICT!r} or {COMPAT!r}, not {mode!r}")
    read = _parse if len(text) <= TEXT_KEPT_MAX else _parse.__wrapped__
    return read(text, mode == COMPAT, partial)


def parse_select(text: str) -> tree.Expr:
    """The tree of a select expression without `select[ ]`."""
    return _parse_select(text)


@lru_cache(maxsize=TEXTS_KEPT)
def _parse(text: str, compat: bool, partial: bool) -> Parsed:
    try:
        _scan(text)
        remarks: list[Remark] = []
        reading = Reading(text=text, compat=compat, partial=partial, remarks=remarks)
        made = assemble(_read(text, reading), reading)
    except ResreqError as error:
        error.text = text
        raise
    return Parsed(tree=made, warnings=tuple(remarks))


@lru_cache(maxsize=TEXTS_KEPT)
def _parse_select(text: str) -> tree.Expr:
    opening = "select["
    try:
        made = _parse(f"{opening}{text}]", False, True).tree
    except ResreqError as error:
        error.text = text
        error.column = min(max(1, error.column - len(opening)), len(text) + 1)
        error.end = max(error.column + 1, error.end - len(opening))
        raise
    if not isinstance(made, tree.Simple) or made.select is None or _sections(made) != 1:
        said = "only a select expression is possible here"
        raise ResreqError(Code.SYNTAX, said, text=text)
    return made.select


def _sections(made: tree.Simple) -> int:
    fields = (made.select, made.order, made.rusage, made.span, made.same, made.cu, made.affinity)
    return sum(1 for field in fields if field)


def _read(text: str, reading: Reading) -> object:
    from lark.exceptions import UnexpectedInput

    lark = _grammar()
    try:
        return lark.parse(text, start="start")
    except UnexpectedInput as error:
        from xce.resreq.syntax.hints import syntax_error

        refusal = syntax_error(text, error)
    if reading.compat:
        try:
            raw = lark.parse(text, start="old_start")
        except UnexpectedInput:
            raise refusal from None
        reading.remark("old_syntax", "the select language before brackets", 1)
        return raw
    raise refusal from None


@lru_cache(maxsize=1)
def _grammar() -> "Lark":
    from lark import Lark

    # The parser only looks its callbacks up by name, so a table of functions serves it.
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        start=["start", "old_start"],
        transformer=cast("Transformer[Any, Any]", SimpleNamespace(**RULES, **OLD_RULES)),
        maybe_placeholders=False,
    )


def _scan(text: str) -> None:
    """What is judged before the parser: nothing at all, foreign characters, deep nesting."""
    if not text.strip():
        raise ResreqError(
            Code.EMPTY, "the requirement is empty", expected=("a resource requirement",)
        )
    if not text.isascii():
        bare = _QUOTED.sub(lambda match: "x" * len(match.group()), text)
        for offset, character in enumerate(bare):
            if not character.isascii():
                from xce.resreq.syntax.hints import character_error

                raise character_error(bare, offset)
    if text.count("(") + text.count("[") + text.count("{") > DEPTH_MAX:
        _scan_depth(text)


def _scan_depth(text: str) -> None:
    depth = 0
    bare = _QUOTED.sub(lambda match: "x" * len(match.group()), text)
    for match in _BRACKET.finditer(bare):
        depth += 1 if match.group() in "[({" else -1
        if depth > DEPTH_MAX:
            said = f"brackets nested deeper than {DEPTH_MAX}"
            raise ResreqError(Code.TOO_DEEP, said, column=match.start() + 1, found=match.group())
