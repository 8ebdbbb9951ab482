"""Scripts with #BSUB lines: their options, and the text that is run.

A line that begins with `#` and has BSUB as its next word holds options, several per line, as on
the command line; a `#` after a blank begins a comment, a `\\` at the end goes on in the next such
line. All lines of the script are looked at. The options that XCE has are taken (-J -n -R -q -o -e
-i and their like); others are told on stderr and ignored. The command line wins over the script.
"""

from __future__ import annotations

import re
import shlex
import sys

from xcecli import say
from xcecli.options import SUBMIT, parse
from xcecli.say import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCRIPT_BYTES_MAX = 8 << 20
_LINE = re.compile(r"#\s*BSUB(?=\s|$)(.*)")
_COMMENT = re.compile(r"\s#.*$")

# LSF's options without a value; all others that XCE does not have are taken to have one.
_BARE = frozenset(
    ("-B", "-N", "-x", "-r", "-rn", "-H", "-K", "-I", "-Ip", "-Is", "-ISs", "-L", "-ar")
)
_ALIASES = {"-oo": "-o", "-eo": "-e"}


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
    return text.replace("\r\n", "\n"), embedded(text)


def embedded(text: str) -> dict[str, Any]:
    """The fields that the #BSUB lines of a script fill."""
    values: dict[str, Any] = {}
    rest, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        first = first if rest else number
        rest += _COMMENT.sub("", f" {found[1]}")
        if rest.rstrip().endswith("\\"):
            rest = rest.rstrip()[:-1]
            continue
        _take(rest, first, values)
        rest = ""
    if rest:
        _take(rest, first, values)
    return values


def _take(options: str, number: int, values: dict[str, Any]) -> None:
    try:
        words = shlex.split(options, comments=False)
    except ValueError as error:
        raise Failure(
            f"script line {number}: {error}. Job not submitted.",
            say.REFUSED,
            lines=f"  {options.strip()}",
        ) from None
    known = {name: option for option in SUBMIT.options for name in option.names}
    while words:
        word = _ALIASES.get(words[0], words[0])
        option = known.get(word)
        if option is None:
            _skip(words, number)
            continue
        width = 1 if option.kind == "flag" else 2
        parsed = parse(SUBMIT, [word, *words[1:width]])
        if parsed is None:
            raise Failure(
                f"script line {number}: {' '.join(words[:width])}: not a value of {word}. "
                "Job not submitted.",
                say.REFUSED,
            )
        del words[:width]
        for field, value in parsed[0].items():
            values[field] = [*values.get(field, []), *value] if isinstance(value, list) else value


def _skip(words: list[str], number: int) -> None:
    word = words.pop(0)
    if word.startswith("-") and word not in _BARE and words and not words[0].startswith("-"):
        word = f"{word} {words.pop(0)}"
    say.tell(f"warning: script line {number}: {word} is not supported and is ignored")
