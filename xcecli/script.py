"""Scripts with #BSUB lines: the text that is run, and the options it brings along.

The reading itself is `xce.resreq.options.script`: quotes, comments, placeholders and the rest of
it are the same here, in `script check` and in the tests. What XCE does not act on yet is told on
stderr; what cannot be taken refuses the submission. The command line wins over the script.
"""

from __future__ import annotations

import sys

from xcecli import say
from xcecli.say import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from xce.resreq.options.words import Finding

SCRIPT_BYTES_MAX = 8 << 20


def read_script(path: str) -> tuple[str, dict[str, Any]]:
    """Text and embedded options of a script file, or of the standard input for `-`."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(SCRIPT_BYTES_MAX + 1)
        else:
            with open(path, "rb") as file:
                raw = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}. Job not submitted.", say.USAGE) from None
    if len(raw) > SCRIPT_BYTES_MAX:
        raise Failure(f"the script is larger than {SCRIPT_BYTES_MAX >> 20} MiB", say.REFUSED)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Failure(f"the script is not UTF-8 (line {line})", say.REFUSED) from None
    if not text.strip():
        raise Failure("No command is specified. Job not submitted.", say.REFUSED)
    return text.removeprefix("\ufeff").replace("\r\n", "\n"), embedded(text)


def read_file(words: list[str]) -> tuple[str, dict[str, Any]]:
    """Text and options of a command that is a file with #BSUB lines. A file alone becomes the
    job's script, so that later edits do not change the job; with arguments it is run in place."""
    try:
        with open(words[0], "rb") as file:
            raw = file.read(SCRIPT_BYTES_MAX)
        text = raw.decode()
    except (OSError, UnicodeDecodeError):
        return "", {}
    fields = embedded(text)
    return (text.replace("\r\n", "\n") if fields and len(words) == 1 else ""), fields


def embedded(text: str) -> dict[str, Any]:
    """The fields that the #BSUB lines of a script fill."""
    if "BSUB" not in text:
        return {}
    from xce.resreq.options import script

    reading = script.read_script(text)
    lines = text.splitlines()
    for one in reading.warnings:
        say.tell(f"warning: script line {one.line}: {one.message}{_hint(one)}")
    errors = [*reading.errors, *(one for one in reading.warnings if one.code in _REFUSED)]
    if errors:
        for one in errors[:-1]:
            say.tell_failure(_failure(one, lines))
        raise _failure(errors[-1], lines)
    return reading.fields()


# A job that asks for GPUs and would get none is not submitted.
_REFUSED = frozenset({"gpus_of_terms"})


def _hint(one: Finding) -> str:
    return f" ({one.hint})" if one.hint else ""


def _failure(one: Finding, lines: list[str]) -> Failure:
    shown = lines[one.line - 1] if one.line <= len(lines) else ""
    width = max(1, min(one.end, len(shown) + 1) - one.column)
    return Failure(
        f"script line {one.line}: {one.message}. Job not submitted.",
        say.REFUSED,
        one.hint,
        say.caret(shown, one.column, width) if shown else "",
    )
