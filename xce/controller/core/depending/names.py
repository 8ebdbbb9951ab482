"""From an expression as its user wrote it to one about numbers, or what is wrong with it.

Names are looked up once, when the expression is taken: they mean the owner's jobs and gangs that
the state knows then, so that work which is submitted later never changes what was asked for. A
name that several have means all of them (each must satisfy the condition), or the latest, as
`[dependencies] names` says. `g7` is a gang, unless there is none and a job is called so.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Protocol

from msgspec import Struct

from xce.controller.core.commands import Rejection
from xce.controller.core.depending.judge import Judged, judge
from xce.controller.core.depending.standing import Seen, Standing
from xce.controller.core.depending.terms import ref_text, refs_of, tree_of
from xce.controller.core.fold.eligible import still_awaits
from xce.model.config import Config
from xce.model.config.dependencies import LATEST
from xce.model.ids import group_text, parse_group, parse_job
from xce.model.job import Past
from xce.model.waiting.array import NONE, Array
from xce.resreq.options.arrays import parse_array
from xce.resreq.options.dependency import (
    EACH,
    AllOf,
    AnyOf,
    Condition,
    Dependency,
    DependencyError,
    JobReference,
    Negated,
    canonical_dependency,
)

JOBS_OF_A_NAME_MAX = 1_000
CHARACTERS_MAX = 64_000
FIELD = "after"


class Known(Seen, Protocol):
    """The part of a state that names are looked up in."""

    @property
    def config(self) -> Config:
        """The configuration in force."""


class Resolved(Struct, frozen=True, gc=False, kw_only=True):
    """An expression that is taken: `text` as it was written, `ids` with numbers for names, and
    what is known of it at once."""

    text: str
    ids: str
    judged: Judged


class _Misfit(Exception):
    """Something that an expression asks for and that there is not."""

    def __init__(self, code: str, message: str, found: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.found, self.hint = code, message, found, hint


def resolve(
    state: Known, owner: int, text: str, past: tuple[Past, ...] = (), own: int = 0
) -> Resolved | Rejection:
    """The expression of a job of `owner`; `own` is the job itself where it exists already."""
    try:
        tree = tree_of(text)
        known = past_of(past)
        ids = canonical_dependency(_Resolver(state, owner, known).tree(tree))
        if len(ids) > CHARACTERS_MAX:
            raise _Misfit("too_large", "the condition is about too many jobs", "")
        _refuse_loop(state, ids, own)
    except DependencyError as error:
        return Rejection(
            code="bad_dependency", message=f"{error.lsf_text}: {error.message}", field=FIELD,
            line=1, column=error.column, hint=error.hint, text=error.text or text,
        )  # fmt: skip
    except _Misfit as misfit:
        place = _place(text, misfit.found)
        return Rejection(
            code=misfit.code, message=misfit.message, field=FIELD, line=1 if place else 0,
            column=place, hint=misfit.hint, text=text if place else "",
        )  # fmt: skip
    return Resolved(text=canonical_dependency(tree), ids=ids, judged=judge(state, ids, (), known))


def past_of(past: tuple[Past, ...]) -> Mapping[int, Standing]:
    """What the loop looked up, by number."""
    found = {}
    for one in past:
        number = parse_group(one.of)
        key = -number if number is not None else parse_job(one.of)
        if key is not None:
            found[key] = Standing(one.state, one.exit, one.tally)
    return found


def _place(text: str, found: str) -> int:
    """The column of a job's number or name; 0 when it is not found."""
    place = re.search(rf"(?<![\w.]){re.escape(found)}(?![\w.])", text) if found else None
    return place.start() + 1 if place else 0


class _Resolver:
    """Numbers for names, in one expression."""

    def __init__(self, state: Known, owner: int, past: Mapping[int, Standing]) -> None:
        self._state, self._owner, self._past = state, owner, past

    def tree(self, node: Dependency) -> Dependency:
        """The expression with numbers."""
        match node:
            case Negated():
                return Negated(term=self.tree(node.term))
            case AllOf():
                return AllOf(terms=tuple(map(self.tree, node.terms)))
            case AnyOf():
                return AnyOf(terms=tuple(map(self.tree, node.terms)))
            case Condition():
                return self._condition(node)

    def _condition(self, node: Condition) -> Dependency:
        if node.word in ("external", "time"):
            hint = {
                "external": "messages to jobs are not there yet",
                "time": "a begin time is given by -b, windows by the queue",
            }[node.word]
            said = f"{node.word}(...) is not supported by this version"
            raise _Misfit("unsupported", said, node.word, hint)
        terms = tuple(one for ref in self._refs(node.of) for one in self._about(node, ref))
        return terms[0] if len(terms) == 1 else AllOf(terms=terms)

    def _about(self, node: Condition, ref: int) -> list[Condition]:
        shown = node.of.name or str(node.of.job)
        array = self._state.arrays.get(ref)
        told = self._past.get(ref)
        if array is None and (told is None or not told.tally):
            if node.word.startswith("num") or node.of.index:
                said = f"{ref_text(ref)} is no job array, so it has no elements"
                raise _Misfit("bad_dependency", f"Dependency condition error: {said}", shown)
        elif node.op and node.word == "exit" and not node.of.index:
            said = "the exit code of a whole array is not compared"
            hint = "name elements: exit(12[1-3], 4); or count: numexit(12, > 0)"
            raise _Misfit("unsupported", said, shown, hint)
        return [
            Condition(
                word=node.word, of=self._reference(ref, index), op=node.op, number=node.number,
                text=node.text,
            )
            for index in self._indices(node, ref, array)
        ]  # fmt: skip

    def _reference(self, ref: int, index: str) -> JobReference:
        return (
            JobReference(name=group_text(-ref)) if ref < 0 else JobReference(job=ref, index=index)
        )

    def _indices(self, node: Condition, ref: int, array: Array | None) -> list[str]:
        """Elements that are named one by one; "" is all of it."""
        if not node.of.index:
            return [""]
        if node.of.index == EACH:
            said = "a condition on the element of the same index is not supported by this version"
            raise _Misfit("unsupported", said, EACH, "name elements, or wait for the whole array")
        if array is None:
            raise _Misfit("unsupported", f"the elements of {ref} have left the state", str(ref))
        wanted = list(islice(parse_array(f"x[{node.of.index}]").indices(), JOBS_OF_A_NAME_MAX + 1))
        if len(wanted) > JOBS_OF_A_NAME_MAX:
            said = f"at most {JOBS_OF_A_NAME_MAX} elements may be named"
            raise _Misfit("too_large", said, str(ref), "wait for the whole array, or count")
        lacking = [one for one in wanted if array.letter(one) == NONE]
        if lacking:
            raise self._unknown(f"{ref}[{lacking[0]}]")
        return [str(one) for one in wanted]

    def _refs(self, of: JobReference) -> list[int]:
        if of.job:
            if not self._is_known(of.job):
                raise self._unknown(str(of.job))
            return [of.job]
        group = parse_group(of.name)
        if group is not None and self._is_known(-group):
            return [-group]
        found: list[int] = self._state.index.links.named(self._owner, of.name)
        if of.index:
            found = [ref for ref in found if ref in self._state.arrays]
        if not found:
            raise self._unknown(of.name)
        if self._state.config.dependencies.names == LATEST:
            found = [max(found, key=self._submitted)]
        if len(found) > JOBS_OF_A_NAME_MAX:
            said = (
                f"{of.name}: {len(found)} jobs are called so; at most {JOBS_OF_A_NAME_MAX} may be"
            )
            raise _Misfit("too_large", said, of.name, "name the jobs that count by their ids")
        return found

    def _is_known(self, ref: int) -> bool:
        state = self._state
        found = state.groups.get(-ref) if ref < 0 else state.jobs.get(ref) or state.arrays.get(ref)
        return found is not None or ref in self._past

    def _submitted(self, ref: int) -> tuple[int, int]:
        state = self._state
        found = state.groups.get(-ref) if ref < 0 else state.jobs.get(ref) or state.arrays.get(ref)
        return found.submit_us if found is not None else 0, abs(ref)

    def _unknown(self, found: str) -> _Misfit:
        hint = "names mean your own jobs that have not been cleaned up; ids mean any job"
        return _Misfit("unknown_job", f"{found}: No matching job found", found, hint)


def _refuse_loop(state: Seen, ids: str, own: int) -> None:
    """A job that comes to wait for itself, directly or by way of others, would wait for ever."""
    if not own:
        return
    came_from: dict[int, int] = dict.fromkeys(refs_of(ids), own)
    waiting = list(came_from)
    while waiting:
        ref = waiting.pop()
        if ref == own:
            path = [own]
            while came_from[path[-1]] != own:
                path.append(came_from[path[-1]])
            told = " waits for ".join(ref_text(one) for one in [own, *reversed(path)])
            raise _Misfit("dependency_loop", f"Dependency condition error: {told}", "")
        waiter = state.jobs.get(ref) or state.arrays.get(ref)
        if waiter is None or not still_awaits(waiter):
            continue
        for following in refs_of(waiter.after_ids):
            if following not in came_from:
                came_from[following] = ref
                waiting.append(following)
