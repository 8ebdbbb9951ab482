"""A manifest's text checked without a controller, every fault with its line and column.

The manifest's rules are those of `xce.model.manifest`; requirements and select expressions are
read by `xce.resreq`. Faults inside a text point at the very column where the text is written
plainly in one line, else at its beginning, and always show the text with a caret.
"""

from __future__ import annotations

from typing import Any

from xce.model.manifest import Fault, lint
from xce.model.need import Need
from xce.model.resources import BUILT_IN
from xce.resreq import ResreqError, canonical, check, parse, parse_select, resolve
from xcecli import say
from xcecli.manifest_text import Marked, Path


def requirement(text: str) -> tuple[str, Need | None, ResreqError | None]:
    """The canonical text and resolved form of a requirement, or what is wrong with it."""
    if not text.strip():
        return "", Need(), None
    try:
        tree = parse(text, mode="compat").tree
        check(tree, BUILT_IN)
        return canonical(tree), resolve(tree, types=BUILT_IN), None
    except ResreqError as error:
        return "", None, error


def faults_of(marked: Marked) -> tuple[Fault, ...]:
    """Everything that can be found wrong here."""
    faults = lint(marked.document)
    return faults or tuple(_texts(marked.document))


def _texts(document: dict[str, Any]) -> list[Fault]:
    found: list[Fault] = []
    for at, role in enumerate(document["roles"]):
        text = role.get("resreq", "")
        _, _, error = requirement(text)
        if error is not None:
            found.append(_fault(("roles", at, "resreq"), text, error))
    holders: list[tuple[Path, dict[str, Any]]] = [((), document)]
    holders += [(("roles", at), role) for at, role in enumerate(document["roles"])]
    for place, holder in holders:
        for at, claim in enumerate(holder.get("claims", ())):
            if "select" in claim:
                try:
                    parse_select(claim["select"])
                except ResreqError as error:
                    where = (*place, "claims", at, "select")
                    found.append(_fault(where, claim["select"], error))
    return found


def _fault(path: Path, text: str, error: ResreqError) -> Fault:
    return Fault(
        code="bad_value",
        path=path,
        message=error.message,
        expected=" or ".join(error.expected[:4]),
        hint=error.hint,
        text=text,
        column=error.column,
    )


def report(name: str, source: str, marked: Marked, fault: Fault) -> str:
    """A fault as compilers show it: `FILE:LINE:COLUMN: message`, the line, a caret."""
    line, column = marked.mark(fault.path)
    lines = source.splitlines()
    if fault.text and fault.column:
        value_line, value_column = marked.values.get(fault.path, (line, column))
        written = lines[value_line - 1][value_column - 1 :] if value_line <= len(lines) else ""
        quote = written[:1] if written[:1] in ("'", '"') else ""
        if written[len(quote) :].startswith(fault.text):
            line, column = value_line, value_column + len(quote) + fault.column - 1
        else:
            shown = say.caret(fault.text, fault.column)
            return f"{name}:{line}:{column}: {_said(fault)}\n{shown}"
    shown = say.caret(lines[line - 1], column) if line <= len(lines) else ""
    return f"{name}:{line}:{column}: {_said(fault)}\n{shown}"


def _said(fault: Fault) -> str:
    return str(fault)
