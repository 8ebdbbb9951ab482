"""The conditions of a dependency as the state holds it: a text in which every name is a number.

Nearly all dependencies are `done(12)` or some of those joined by `&&`; such texts are read by a
pattern, because a chain of a hundred thousand jobs has as many different ones.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from xce.model.ids import group_text, job_key, job_text, parse_group
from xce.resreq.errors import ResreqError
from xce.resreq.options.dependency import (
    AllOf,
    AnyOf,
    Condition,
    Dependency,
    JobReference,
    Negated,
    parse_dependency,
)

_PLAIN = re.compile(r"(done|ended|started|exit)\(([1-9]\d{0,8})\)", re.ASCII)


@lru_cache(maxsize=16_384)
def tree_of(text: str) -> Dependency:
    """The tree of an expression; raises DependencyError with a column."""
    found = [_PLAIN.fullmatch(part) for part in text.split(" && ")]
    if not all(found):
        return parse_dependency(text)
    terms = tuple(
        Condition(word=one[1], of=JobReference(job=int(one[2]))) for one in found if one is not None
    )
    return terms[0] if len(terms) == 1 else AllOf(terms=terms)


def conditions_of(node: Dependency) -> Iterator[Condition]:
    """The conditions from left to right: the order in which they are numbered."""
    match node:
        case Condition():
            yield node
        case Negated():
            yield from conditions_of(node.term)
        case AllOf() | AnyOf():
            for term in node.terms:
                yield from conditions_of(term)


def ref_of(condition: Condition) -> int:
    """What a condition of the state is about: the number of a job or an array, or a gang's below
    zero. An element (`12[3]`) counts as its array."""
    group = parse_group(condition.of.name)
    return condition.of.job if group is None else -group


@lru_cache(maxsize=16_384)
def refs_of(text: str) -> tuple[int, ...]:
    """What an accepted expression is about, each once."""
    return tuple(dict.fromkeys(ref_of(one) for one in conditions_of(tree_of(text))))


def ref_text(ref: int) -> str:
    """`12` or `g7`."""
    return group_text(-ref) if ref < 0 else job_text(ref)


def named_in(text: str) -> list[str]:
    """Ids of all jobs and gangs that a text as its user wrote it names; none when it is wrong."""
    try:
        found = list(conditions_of(tree_of(text)))
    except ResreqError:
        return []
    ids = [
        job_text(job_key(one.of.job)) if one.of.job else one.of.name
        for one in found
        if one.of.job or parse_group(one.of.name) is not None
    ]
    return list(dict.fromkeys(ids))
