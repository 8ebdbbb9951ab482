"""Texts judged without a controller: requirements, array names, dependencies, scripts.

Every judgement is one plain object: `text`, `valid`, `canonical`, `errors` with columns,
`warnings`, and what the kind of text has to tell besides. Names that are no built-in resource are
a warning here, since a site has names of its own; the controller knows them and refuses others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import to_builtins

from xce.model.resources import BUILT_IN
from xce.resreq import (
    Code,
    Parsed,
    Remark,
    ResreqError,
    canonical,
    merge_levels,
    merge_requirements,
    parse,
    problems,
    resolve,
    tree,
)
from xce.resreq.check import check
from xce.resreq.explain import explain
from xce.resreq.options.arrays import canonical_array, parse_array
from xce.resreq.options.dependency import (
    AllOf,
    AnyOf,
    Condition,
    Dependency,
    Negated,
    canonical_dependency,
    parse_dependency,
)
from xce.resreq.options.script import Given, Reading, read_script
from xce.resreq.options.words import Finding

Judgement = dict[str, Any]
Judge = Callable[[str], Judgement]


def refusal(error: ResreqError, **more: object) -> Judgement:
    """An error as an object."""
    return {
        "code": error.code.value,
        "message": error.message,
        "column": error.column,
        "end": error.end,
        "found": error.found,
        "expected": list(error.expected),
        "hint": error.hint,
        "lsf": error.lsf_text,
        **more,
    }


def remark(one: Remark | ResreqError) -> Judgement:
    """A warning as an object."""
    told = {"code": str(one.code), "message": one.message, "column": one.column}
    return {**told, "hint": one.hint} if isinstance(one, ResreqError) and one.hint else told


def _refused(text: str, errors: Sequence[ResreqError]) -> Judgement:
    told = [refusal(error) for error in errors]
    return {"text": text, "valid": False, "canonical": "", "errors": told, "warnings": []}


def _taken(text: str, form: str, warnings: Sequence[Remark | ResreqError]) -> Judgement:
    told = [remark(one) for one in warnings]
    return {"text": text, "valid": True, "canonical": form, "errors": [], "warnings": told}


# -- requirements -------------------------------------------------------------------------------


def requirement(text: str, *, mode: str, names: bool = False) -> Judgement:
    """A requirement by the grammar of `mode` and the built-in types; with `names` an unknown
    name is an error, too."""
    try:
        parsed = parse(text, mode=mode)
    except ResreqError as error:
        judged = _refused(text, [error])
        if mode == "strict" and _compat(text):
            said = "practice takes it: a submission does, too (--mode compat)"
            judged["warnings"].append({"code": "compat", "message": said, "column": error.column})
        return judged
    return _typed(text, parsed, names=names)


def _compat(text: str) -> bool:
    try:
        parse(text, mode="compat")
    except ResreqError:
        return False
    return True


def _typed(text: str, parsed: Parsed, *, names: bool) -> Judgement:
    found = problems(parsed.tree, BUILT_IN)
    faults = [one for one in found if names or one.code is not Code.UNKNOWN_NAME]
    unknown = [one for one in found if not names and one.code is Code.UNKNOWN_NAME]
    if faults:
        for fault in faults:
            fault.text = text
        return _refused(text, faults)
    remarks = () if found else check(parsed.tree, BUILT_IN)
    judged = _taken(text, canonical(parsed.tree), [*parsed.warnings, *remarks, *unknown])
    if not unknown:
        judged.update(_need(parsed.tree))
    return judged


def _need(made: tree.Tree) -> Judgement:
    try:
        return {"need": to_builtins(resolve(made, types=BUILT_IN))}
    except ResreqError as error:
        return {"not_honoured": [remark(error)]}


def explained(text: str, *, tasks: int) -> Judgement:
    """A requirement in plain words."""
    judged = requirement(text, mode="compat")
    if judged["valid"]:
        made = parse(text, mode="compat").tree
        judged["explanation"] = explain(made, types=BUILT_IN, tasks=tasks)
    return judged


def merged(texts: Sequence[str], *, application: str, queue: str) -> Judgement:
    """Several -R of one job made into one, over those of its application and queue."""
    shown = " ".join(texts)
    try:
        own = merge_requirements(texts, mode="compat") if texts else None
        made = merge_levels(
            job=own.tree if own else None,
            application=parse(application, mode="compat").tree if application else None,
            queue=parse(queue, mode="compat").tree if queue else None,
        )
    except ResreqError as error:
        judged = _refused(shown, [error])
        judged["errors"][0]["text"] = error.text or shown
        return judged
    judged = _taken(shown, canonical(made) if made else "", own.warnings if own else ())
    return {**judged, "strings": list(texts)}


def merged_line(line: str, *, application: str, queue: str) -> Judgement:
    """A line of a stream: a JSON list of strings, or one string as it is."""
    texts = [line]
    if line.lstrip().startswith("["):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            texts = found
    return merged(texts, application=application, queue=queue)


# -- array names and dependencies ---------------------------------------------------------------


def array(text: str) -> Judgement:
    """A job name with indices."""
    try:
        made = parse_array(text)
    except ResreqError as error:
        return _refused(text, [error])
    ranges = [[part.first, part.last, part.step] for part in made.ranges]
    told = {"name": made.name, "count": made.count, "limit": made.limit or None, "ranges": ranges}
    return {**_taken(text, canonical_array(made), ()), **told}


def dependency(text: str) -> Judgement:
    """A dependency expression and the jobs it names."""
    try:
        made = parse_dependency(text)
    except ResreqError as error:
        return _refused(text, [error])
    return {**_taken(text, canonical_dependency(made), ()), "jobs": list(_jobs(made))}


def _jobs(node: Dependency) -> dict[str, None]:
    """The jobs named, each once, in their order."""
    match node:
        case Condition():
            name = str(node.of.job) if node.of.job else node.of.name
            return {name: None} if name else {}
        case Negated():
            return _jobs(node.term)
        case AllOf() | AnyOf():
            return {name: None for term in node.terms for name in _jobs(term)}


# -- scripts ------------------------------------------------------------------------------------


def script(name: str, raw: bytes) -> Judgement:
    """The #BSUB lines of a script."""
    text = raw.decode("utf-8", "replace")
    reading = read_script(text)
    errors = [finding(one) for one in reading.errors]
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        column = error.start - raw[: error.start].rfind(b"\n")
        odd = Finding(code="not_utf8", message="the script is not UTF-8", line=line, column=column)
        errors.insert(0, finding(odd))
    return {"file": name, "valid": not errors, **_read(reading), "errors": errors}


def finding(one: Finding) -> Judgement:
    """An error or warning of a script as an object."""
    return {name: value for name, value in to_builtins(one).items() if value or name == "line"}


def _read(reading: Reading) -> Judgement:
    counts: dict[str, int] = {}
    effective: dict[str, Any] = {}
    for given in reading.options:
        name = given.option.removeprefix("-")
        counts[name] = counts.get(name, 0) + 1
        effective[name] = given.means or given.value or True
    for name, count in counts.items():
        if name in ("R", "f") and count:
            same = [one for one in reading.options if one.option == f"-{name}"]
            effective[name] = [one.means or one.value for one in same]
    return {
        "interpreter": reading.interpreter,
        "options": [_option(given) for given in reading.options],
        "counts": counts,
        "effective": effective,
        "resreq": reading.resreq,
        "warnings": [finding(one) for one in reading.warnings],
        "commented_out": list(reading.commented_out),
    }


def _option(given: Given) -> Judgement:
    told: Judgement = to_builtins(given)
    return {**told, "option": given.option.removeprefix("-")}
