"""One line of a reporter as values by name: LSF's ELIM lines, or a JSON object.

An ELIM line is `N name1 value1 ... nameN valueN`: N pairs, no blanks in values, `-` for unknown.
A JSON line is an object of names and numbers, texts, booleans or null for unknown. Values stay as
they were written: what they mean is for whoever knows their types. Nothing here trusts its input:
a line is bytes of any kind, bounded by the caller, and is either wholly good or refused with what
is wrong in it.
"""

import json
import re
from math import isfinite

Value = int | float | str
Values = dict[str, Value | None]

NAMES_MAX = 128
TEXT_MAX = 64
UNKNOWN = "-"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}\Z")


class LineWrong(Exception):
    """A line that is none of the two forms; the text says why, without the line itself."""


def read_line(line: bytes) -> Values | None:
    """The values of a line; None of a blank one."""
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise LineWrong(f"byte {error.start + 1} is no text") from None
    if not text:
        return None
    return _json(text) if text.startswith("{") else _pairs(text)


def _pairs(text: str) -> Values:
    count, *words = text.split()
    if not count.isascii() or not count.isdigit() or len(count) > 4:
        raise LineWrong(f"{count[:20]!r} is no number of pairs")
    if int(count) > NAMES_MAX:
        raise LineWrong(f"{count} pairs; at most {NAMES_MAX} are taken")
    if len(words) != 2 * int(count):
        raise LineWrong(f"{count} pairs are announced, {len(words)} words follow")
    found: Values = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        found[_named(name)] = None if value == UNKNOWN else _value(name, value)
    return found


def _json(text: str) -> Values:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LineWrong(f"not JSON: {str(error)[:60]}") from None
    if len(told) > NAMES_MAX:
        raise LineWrong(f"{len(told)} values; at most {NAMES_MAX} are taken")
    found: Values = {}
    for name, value in told.items():
        if isinstance(value, bool):
            found[_named(name)] = int(value)
        elif value is None:
            found[_named(name)] = None
        elif isinstance(value, str | int | float):
            found[_named(name)] = _bounded(name, value)
        else:
            raise LineWrong(f"{_named(name)} is neither a number nor a text")
    return found


def _named(name: str) -> str:
    if not _NAME.match(name):
        raise LineWrong(f"{name[:20]!r} cannot name a resource")
    return name


def _value(name: str, word: str) -> Value:
    if _WHOLE.match(word):
        return int(word)
    try:
        return _bounded(name, float(word))
    except ValueError:
        return _bounded(name, word)


def _bounded(name: str, value: Value) -> Value:
    if isinstance(value, str):
        if len(value) > TEXT_MAX or not value.isprintable():
            raise LineWrong(f"the text of {name[:20]} is too long or not printable")
        return value
    if not isfinite(value) or abs(value) > 1e18:
        raise LineWrong(f"the number of {name[:20]} is beyond all bounds")
    return value
