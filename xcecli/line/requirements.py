"""Several requirements of one submission become one."""

from __future__ import annotations

from xcecli import say
from xcecli.say import Failure


def joined(texts: list[str]) -> str:
    """All -R of a job in one text; a Failure says what is wrong with them together."""
    from xce.resreq import ResreqError, canonical, merge_requirements

    try:
        return canonical(merge_requirements(texts, mode="compat").tree)
    except ResreqError as error:
        shown = say.caret(error.text, error.column, error.end - error.column)
        said = f"Bad resource requirement, column {error.column}: {error.message}"
        raise Failure(f"{said}. Job not submitted.", say.REFUSED, error.hint, shown) from None
