"""Dependency expressions: `done(12) && (exit(prep, !=0) || numdone(13, >= 5))`.

The tree says what is waited for; `verdict` judges it from what a lookup knows of each condition.
Four values are needed: a condition holds, does not hold yet, can never hold any more, or names
nothing that exists. What can never hold is told to the user instead of waiting for ever; negated
it holds. Which jobs a name means is the lookup's to know; this module knows no jobs.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput
from msgspec import Struct

from xce.model.units import nearest
from xce.resreq.errors import Code, ResreqError
from xce.resreq.options.arrays import ArrayError, ArrayName, canonical_array, parse_array
from xce.resreq.syntax.hints import stopped_at

NUMBER_MAX = 2**31 - 1
DEPTH_MAX = 200
WORDS = (
    *("done", "ended", "started", "exit", "post_done", "post_err", "external", "time"),
    *("numpend", "numhold", "numrun", "numexit", "numdone", "numstart", "numended"),
)
EACH = "*"

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NESTING = re.compile(r"[()!]|[^()!\s]+")


class DependencyError(ResreqError):
    """A dependency expression that cannot be taken."""

    syntax_text = "Dependency condition syntax error"


class JobReference(Struct, frozen=True, gc=False, kw_only=True):
    """A job by id (above 0) or by name, which may end in `*`. `index` is "" for all of it, `*`
    for the element of the same index, else a list of indices as in an array name."""

    job: int = 0
    name: str = ""
    index: str = ""


class Condition(Struct, frozen=True, gc=False, kw_only=True):
    """One condition: `word` is one of WORDS. `op` and `number` compare an exit code or a count;
    `op` `*` of a count means all elements; `text` is external's word or time's windows."""

    word: str
    of: JobReference = JobReference()
    op: str = ""
    number: int = 0
    text: str = ""


class AllOf(Struct, frozen=True, gc=False, kw_only=True):
    """All terms hold."""

    terms: tuple["Dependency", ...]


class AnyOf(Struct, frozen=True, gc=False, kw_only=True):
    """At least one term holds."""

    terms: tuple["Dependency", ...]


class Negated(Struct, frozen=True, gc=False, kw_only=True):
    """The term does not hold."""

    term: "Dependency"


Dependency = Condition | AllOf | AnyOf | Negated


class Verdict(StrEnum):
    """What is known of a condition."""

    HOLDS = "holds"
    WAITS = "waits"
    NEVER = "never"
    UNKNOWN_JOB = "unknown_job"


def verdict(
    node: Dependency, lookup: Callable[[Condition], Verdict], *, negated: bool = False
) -> Verdict:
    """The verdict on a whole expression, every condition of it looked up."""
    match node:
        case Condition():
            found = lookup(node)
            return _opposite(found, node.word) if negated else found
        case Negated():
            return verdict(node.term, lookup, negated=not negated)
        case AllOf() | AnyOf():
            verdicts = [verdict(term, lookup, negated=negated) for term in node.terms]
            every = isinstance(node, AllOf) is not negated
            order = _WORST_FIRST if every else _BEST_FIRST
            return next(value for value in order if value in verdicts)


# What these say is never taken back, so where it holds its opposite never will.
LATCHING = frozenset({"done", "ended", "exit", "post_done", "post_err"})
_WORST_FIRST = (Verdict.UNKNOWN_JOB, Verdict.NEVER, Verdict.WAITS, Verdict.HOLDS)
_BEST_FIRST = (Verdict.UNKNOWN_JOB, Verdict.HOLDS, Verdict.WAITS, Verdict.NEVER)


def _opposite(found: Verdict, word: str) -> Verdict:
    match found:
        case Verdict.HOLDS:
            return Verdict.NEVER if word in LATCHING else Verdict.WAITS
        case Verdict.WAITS | Verdict.NEVER:
            return Verdict.HOLDS
        case Verdict.UNKNOWN_JOB:
            return found


# --- printing -----------------------------------------------------------------------------------


def canonical_dependency(node: Dependency) -> str:
    """The one printed form; reads back as an equal expression."""
    match node:
        case Condition():
            return _condition_text(node)
        case Negated():
            inner = canonical_dependency(node.term)
            return f"!({inner})" if isinstance(node.term, AllOf | AnyOf) else f"!{inner}"
        case AllOf():
            parts = (canonical_dependency(term) for term in node.terms)
            pairs = zip(node.terms, parts, strict=True)
            return " && ".join(f"({p})" if isinstance(t, AnyOf) else p for t, p in pairs)
        case AnyOf():
            return " || ".join(canonical_dependency(term) for term in node.terms)


def _condition_text(node: Condition) -> str:
    if node.word == "time":
        return f"time({node.text})"
    job = _job_text(node.of)
    if node.word == "external":
        return f"external({job}, {_quoted(node.text)})"
    if node.op == EACH:
        return f"{node.word}({job}, *)"
    if node.word == "exit" and node.op == "==":
        return f"exit({job}, {node.number})"
    return f"{node.word}({job}{f', {node.op} {node.number}' if node.op else ''})"


def _job_text(of: JobReference) -> str:
    name = str(of.job) if of.job else _quoted(of.name)
    return f"{name}[{of.index}]" if of.index else name


def _quoted(text: str) -> str:
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"


# --- reading ------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def parse_dependency(text: str) -> Dependency:
    """The tree of an expression; raises DependencyError with a column."""
    try:
        _judge_depth(text)
        return cast("Dependency", _grammar().parse(text))
    except UnexpectedInput as error:
        refusal: ResreqError = _refusal(text, *stopped_at(text, error))
    except ResreqError as error:
        refusal = error
    refusal.text = text
    raise refusal from None


def _judge_depth(text: str) -> None:
    """Open parentheses and the run of `!` right here, counted outside quotes."""
    opened = negations = 0
    for match in _NESTING.finditer(_QUOTED.sub(lambda quoted: "x" * len(quoted.group()), text)):
        sign = match.group()
        opened += (sign == "(") - (sign == ")")
        negations = negations + 1 if sign == "!" else negations if sign == "(" else 0
        if opened + negations > DEPTH_MAX:
            said = f"nested deeper than {DEPTH_MAX}"
            raise DependencyError(Code.TOO_DEEP, said, column=match.start() + 1)


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    return Lark.open(
        "dependency.lark",
        rel_to=__file__,
        parser="lalr",
        transformer=cast("Transformer[Any, Any]", SimpleNamespace(**_RULES)),
        maybe_placeholders=False,
    )


Nodes = list[Any]


def _word(token: Token) -> str:
    return token.partition("(")[0].strip()


def _refused(token: Token, code: Code, said: str, hint: str = "") -> DependencyError:
    column = (token.start_pos or 0) + 1
    return DependencyError(
        code, said, column=column, end=column + len(token), found=str(token), hint=hint
    )


def _number(token: Token) -> int:
    if len(token) > 30 or int(token) > NUMBER_MAX:
        raise _refused(token, Code.TOO_LARGE, f"a number is at most {NUMBER_MAX}")
    return int(token)


def _job(nodes: Nodes) -> JobReference:
    token = nodes[0]
    index = _index(nodes[1]) if len(nodes) > 1 else ""
    if token.type == "INT":
        if _number(token) == 0:
            raise _refused(token, Code.BAD_VALUE, "job ids begin at 1")
        return JobReference(job=int(token), index=index)
    if token.type == "NAME":
        return JobReference(name=str(token), index=index)
    name = str(token[1:-1])
    if name.endswith("]") and "[" in name and not index:
        name, _, inner = name.partition("[")
        place = (token.start_pos or 0) + len(name) + 1
        index = _index(Token("INDEX", f"[{inner}", start_pos=place))
    if not name or "*" in name[:-1]:
        what = "is empty" if not name else "has its wildcard not at the end"
        raise _refused(token, Code.BAD_VALUE, f"the job name {what}")
    return JobReference(name=name, index=index)


def _index(token: Token) -> str:
    inner = token[1:-1].strip()
    if inner == EACH:
        return EACH
    try:
        made = parse_array(f"x[{inner}]")
    except ArrayError as error:
        column = (token.start_pos or 0) + error.column - 1
        raise DependencyError(error.code, error.message, column=max(column, 1)) from None
    return canonical_array(ArrayName(name="", ranges=made.ranges))[1:-1]


def _either(nodes: Nodes) -> Dependency:
    return AnyOf(terms=tuple(t for n in nodes for t in (n.terms if isinstance(n, AnyOf) else (n,))))


def _both(nodes: Nodes) -> Dependency:
    return AllOf(terms=tuple(t for n in nodes for t in (n.terms if isinstance(n, AllOf) else (n,))))


def _time(nodes: Nodes) -> Condition:
    windows = nodes[0].partition("(")[2][:-1]
    return Condition(word="time", text=" ".join(windows.split()))


def _exit_code(nodes: Nodes) -> Condition:
    op = str(nodes[2]) if len(nodes) > 3 else "=="
    return Condition(word="exit", of=nodes[1], op=op, number=_number(nodes[-1]))


def _count(nodes: Nodes) -> Condition:
    op, number = str(nodes[2]), _number(nodes[3]) if len(nodes) > 3 else 0
    return Condition(word=_word(nodes[0]), of=_job(nodes[1:2]), op=op, number=number)


def _external(nodes: Nodes) -> Condition:
    return Condition(word="external", of=nodes[1], text=str(nodes[2][1:-1]))


_RULES: Mapping[str, Callable[[Nodes], Any]] = MappingProxyType(
    {
        "start": lambda nodes: nodes[0],
        "either": _either,
        "both": _both,
        "negated": lambda nodes: Negated(term=nodes[0]),
        "state": lambda nodes: Condition(word=_word(nodes[0]), of=nodes[1]),
        "exit_any": lambda nodes: Condition(word="exit", of=nodes[1]),
        "exit_code": _exit_code,
        "count": _count,
        "count_all": _count,
        "external": _external,
        "time": _time,
        "bare": lambda nodes: Condition(word="done", of=nodes[0]),
        "job": _job,
    }
)


# --- refusals -----------------------------------------------------------------------------------

_JOINERS = {"and": "&&", "or": "||", "not": "!", "&": "&&", "|": "||", ",": "&&", ";": "&&"}


def _refusal(text: str, offset: int, found: str, expected: tuple[str, ...]) -> DependencyError:
    said, hint = _intention(text, offset, found)
    code = Code.SYNTAX if text.strip() else Code.EMPTY
    return DependencyError(
        code, said, column=offset + 1, end=offset + 1 + len(found), found=found,
        expected=expected, hint=hint,
    )  # fmt: skip


def _intention(text: str, offset: int, found: str) -> tuple[str, str]:
    before, after = text[:offset].rstrip(), text[offset + len(found) :].lstrip()
    inside = before.count("(") > before.count(")")
    if not text.strip():
        return "the expression is empty", ""
    if found == "(" or after.startswith("("):
        word = found if found != "(" else before.rsplit(" ", 1)[-1]
        near = nearest(word, WORDS)
        if near and near != word:
            return f"no condition is called {word!r}", f"did you mean `{near}`?"
    if found.lower() in _JOINERS and not inside:
        return f"{found!r} joins no conditions", f"write `{_JOINERS[found.lower()]}`"
    if ":" in (found, after[:1]) and not inside:
        return "conditions are written with ( )", "write done(JOB)"
    if found == ")":
        if before.endswith("("):
            return "( ) is empty", ""
        return ("`)` without `(`", "take it away") if not inside else ("a part is missing", "")
    if not found:
        return ("`)` is missing", "") if inside else ("a condition is missing at the end", "")
    if before and not inside and before[-1:] not in "&|!":
        return f"no operator before {found!r}", "`&&` joins conditions"
    return _job_intention(before, found, after)


def _job_intention(before: str, found: str, after: str) -> tuple[str, str]:
    """What was meant where a job is named."""
    if found in ("'", '"'):
        return "a quote that is not closed", ""
    if found[:1].isdigit() and not found.isdigit():
        return f"{found!r} begins with a digit", f'quote the name: "{found}"'
    if found == "-" and before.endswith("("):
        return "a job id is not negative", ""
    if found == "*" or after.startswith("*"):
        return "a wildcard stands at the end of a name only", ""
    return f"unexpected {found!r}", ""
