"""Sections made into one tree, with the rules that concern more than one section.

`strict` is the documented grammar; `compat` also takes what practice takes where the documents
are silent, and says so in a remark. What both take but the documents do not promise (select not
first, no blank between sections) is a remark in both. `partial` is for one of several
requirements of a job: what another one may still add is not judged yet.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from xce.resreq import tree
from xce.resreq.errors import Code, Remark, ResreqError
from xce.resreq.syntax.build import RawBranch, RawTerm, Section, Sections, delay_us
from xce.resreq.syntax.values import refuse

DEPTH_MAX = 200

# What the lexer of C's strtod reads as a number, whatever follows.
_NUMBER_LIKE = re.compile(r"(inf|nan)", re.IGNORECASE)
# A quote, or a word that begins with a digit: what may become a text in the tree.
_TEXT = re.compile(r"['\"]|\d[A-Za-z_]")
_JOINABLE = frozenset({"select", "rusage", "order", "same"})


class Reading(NamedTuple):
    """How the text is read, and where remarks are gathered."""

    text: str
    compat: bool
    partial: bool
    remarks: list[Remark]

    def remark(self, code: str, message: str, column: int) -> None:
        """Notes something taken that is not promised."""
        self.remarks.append(Remark(code=code, message=message, column=column))


def assemble(raw: Any, reading: Reading) -> tree.Tree:
    """The tree of a parsed text."""
    if isinstance(raw, Sections):
        return simple(raw, reading, inner=False)
    if isinstance(raw[0], RawTerm):
        return _compound(raw, reading)
    return _alternatives(raw, reading)


def _compound(raw: list[RawTerm], reading: Reading) -> tree.Compound:
    terms = tuple(
        tree.Term(
            count=term.count,
            simple=simple(term.sections, reading, inner=True),
            column=term.column,
        )
        for term in raw
    )
    return tree.Compound(terms=terms, column=terms[0].column)


def _alternatives(raw: list[RawBranch], reading: Reading) -> tree.Tree:
    first = raw[0]
    if first.delay is not None:
        said = "a delay belongs to the second and later alternatives"
        raise refuse(first.delay, Code.SYNTAX, said)
    branches = []
    for branch in raw:
        body: Any
        if isinstance(branch.body, Sections):
            body = simple(branch.body, reading, inner=True)
        else:
            body = _compound(branch.body, reading)
        wait_us = delay_us(branch.delay) if branch.delay is not None else None
        branches.append(tree.Branch(body=body, delay_us=wait_us, column=branch.column))
    if len(branches) > 1:
        return tree.Alternatives(branches=tuple(branches), column=first.column)
    if not reading.compat:
        raise ResreqError(
            Code.SYNTAX,
            "one alternative alone is none",
            column=len(reading.text.rstrip()) + 1,
            found="the end",
            expected=("`||`",),
            hint="leave out the { }, or give another { } after ||",
        )
    reading.remark("single_alternative", "one alternative alone is none", first.column)
    sole: tree.Tree = branches[0].body
    return sole


# A text of many parts is asked once, not once for every part.
@lru_cache(maxsize=4)
def _has_texts(text: str) -> bool:
    return _TEXT.search(text) is not None


@lru_cache(maxsize=4)
def _has_number_like(text: str) -> bool:
    return _NUMBER_LIKE.search(text) is not None


def simple(raw: Sections, reading: Reading, *, inner: bool) -> tree.Simple:
    """One simple requirement; `inner` is one inside a compound or alternative."""
    values: dict[str, Any] = {}
    for index, section in enumerate(raw.parts):
        _note_position(section, index, raw, reading)
        if section.keyword in values:
            values[section.keyword] = _joined(section, values, reading)
        else:
            values[section.keyword] = section.value
    made = tree.Simple(column=max(raw.parts[0].column, 1), **values)
    if made.select is not None:
        _judge_depth(made.select, reading.text)
        if _has_texts(reading.text):
            _judge_texts(made.select, reading.text)
    if _has_number_like(reading.text):
        _judge_names(made, reading)
    if made.span is not None and not reading.partial:
        judge_span(made)
    if inner and made.cu is not None and (made.cu.excl or made.cu.balance):
        word = "excl" if made.cu.excl else "balance"
        said = f"cu[{word}] does not go inside a compound or alternative requirement"
        fault = ResreqError(Code.CONFLICT, said, column=made.cu.column)
        raise fault.known_as("CU_EXCL_BALANCE")
    return made


def _note_position(section: Section, index: int, raw: Sections, reading: Reading) -> None:
    if section.keyword == "select" and index > 0:
        said = "select is best the first section"
        reading.remark("select_not_first", said, section.column)
    before = reading.text[section.column - 2] if section.column > 1 else " "
    if index > 0 and not before.isspace():
        said = f"no blank before {section.keyword}"
        reading.remark("missing_blank", said, section.column)


def _joined(section: Section, values: dict[str, Any], reading: Reading) -> Any:
    """A section given twice: a mistake, or under `compat` joined where that has one meaning."""
    keyword, first, second = section.keyword, values[section.keyword], section.value
    said = f"{keyword} is given twice"
    if not reading.compat or keyword not in _JOINABLE:
        hint = "join the conditions with &&" if keyword == "select" else "put all into one section"
        raise ResreqError(
            Code.DUPLICATE,
            said,
            column=max(section.column, 1),
            end=section.column + len(keyword),
            found=keyword,
            hint=f"{hint}, or give it in a -R of its own",
        )
    reading.remark("joined", said, section.column)
    if keyword == "select":
        return tree.conjunction([first, second])
    if keyword != "rusage":
        return first + tuple(key for key in second if key not in first)
    return join_rusage(first, second)


Usages = tuple[tuple[tree.Reserve, ...], ...]


def join_rusage(first: Usages, second: Usages) -> Usages:
    """Both usages together: every alternative of one with every one of the other."""
    if len(first) * len(second) > DEPTH_MAX and min(len(first), len(second)) > 1:
        said = f"{len(first)} times {len(second)} alternatives are too many to join"
        raise ResreqError(Code.TOO_LARGE, said, column=second[0][0].column)
    joined = []
    for left in first:
        names = {reserve.name for reserve in left}
        for right in second:
            for reserve in right:
                if reserve.name in names:
                    said = f"{reserve.name!r} is given twice"
                    raise ResreqError(Code.DUPLICATE, said, column=reserve.column)
            joined.append(left + right)
    return tuple(joined)


def judge_span(made: tree.Simple) -> None:
    """Counts per host type or model need the same[] that makes them one type or model."""
    span = made.span
    if span is None or span.form is not tree.SpanForm.PTILE:
        return
    keys = {key.name for key in made.same}
    if span.by_type and not keys & {"type", "model"}:
        raise ResreqError(
            Code.CONFLICT,
            "counts per host type or model need same[type] or same[model]",
            column=span.column,
            hint="add same[type] when they are types, same[model] when they are models",
        )
    if span.slots and {"type", "model"} <= keys:
        raise ResreqError(
            Code.CONFLICT, "ptile='!' does not go with same[type:model]", column=span.column
        )


def _judge_names(made: tree.Simple, reading: Reading) -> None:
    """Names that begin with inf or nan read as numbers, but for `defined()`."""
    named = [(key.name, key.column) for key in made.order]
    named += [(reserve.name, reserve.column) for usage in made.rusage for reserve in usage]
    stack = [made.select] if made.select is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Name):
            named.append((node.name, node.column))
        elif isinstance(node, tree.Infix) and node.ops[0] in tree.COMPARISONS:
            # To the right of a comparison a word may be a value, and a value may be any word.
            stack.extend(t for t in node.terms[1:] if not isinstance(t, tree.Name))
            stack.append(node.terms[0])
        else:
            stack.extend(tree.children(node))
    for name, column in sorted(named, key=lambda pair: pair[1]):
        if _NUMBER_LIKE.match(name):
            said = f"{name!r} reads as a number: it begins with inf or nan"
            if not reading.compat:
                hint = f"ask for it with defined({name})"
                raise ResreqError(
                    Code.BAD_NAME, said, column=column, end=column + len(name),
                    found=name, hint=hint,
                )  # fmt: skip
            reading.remark("number_like_name", said, column)


def _judge_texts(root: tree.Expr, text: str) -> None:
    """A text is compared: resource, operator, value. Nothing else can be done with it."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Text):
            raise _misplaced(node, text)
        if isinstance(node, tree.Infix) and _compares_text(node):
            value = node.terms[1]
            if (
                node.ops[0] not in tree.LEVELS[0]
                and text[value.column - 1 : value.column].isdigit()
            ):
                raise _misplaced(value, text)
        else:
            stack.extend(reversed(tree.children(node)))


def _compares_text(node: tree.Infix) -> bool:
    left, right = node.terms[0], node.terms[1]
    plain = isinstance(left, tree.Name) and isinstance(right, tree.Text)
    return plain and len(node.terms) == 2 and node.ops[0] in tree.COMPARISONS


def _misplaced(node: tree.Expr, text: str) -> ResreqError:
    """The refusal of a text that is not compared, or of a number with an odd unit."""
    assert isinstance(node, tree.Text)
    quoted = not text[node.column - 1 : node.column].isdigit()
    end = node.column + len(node.text) + (2 if quoted else 0)
    if quoted:
        said = f"the text {node.text!r} is not compared with anything"
        hint = "a text stands to the right of a comparison: hname=='host-1'"
        return ResreqError(
            Code.WRONG_KIND, said, column=node.column, end=end, found=node.text, hint=hint
        )
    unit = node.text.lstrip("0123456789.")
    said = f"unknown size unit {unit!r}: {node.text!r}"
    expected = ("a number", "a size like 512MB or 4GB")
    return ResreqError(
        Code.BAD_UNIT, said, column=node.column, end=end, found=node.text, expected=expected
    )


def _judge_depth(root: tree.Expr, text: str) -> None:
    """Refuses what is too deep to be walked safely by everybody after us."""
    # A tree deeper than the limit needs more of these signs than a fraction of the limit.
    if text.count("(") + text.count("!") + text.count("-") < DEPTH_MAX // 8:
        return
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > DEPTH_MAX:
            said = f"nested deeper than {DEPTH_MAX}"
            raise ResreqError(Code.TOO_DEEP, said, column=node.column)
        stack.extend((child, depth + 1) for child in tree.children(node))
