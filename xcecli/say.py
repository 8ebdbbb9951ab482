"""What the command says: refusals with a caret, tables, times. Results go to stdout, talk to
stderr; colour only on a terminal and never with NO_COLOR. What others wrote (names, paths,
commands) is shown with everything that could move a terminal's cursor escaped. Standard library
only.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OK, FAILED, USAGE, REFUSED, NOT_FOUND, CONFLICT, UNREACHABLE, NOT_ALLOWED = range(8)
OWN_FAILURE = 125
INTERRUPTED = 130

_CODE_OF_STATUS = {
    400: REFUSED,
    401: NOT_ALLOWED,
    403: NOT_ALLOWED,
    404: NOT_FOUND,
    409: CONFLICT,
    413: REFUSED,
    421: UNREACHABLE,
    422: REFUSED,
    503: UNREACHABLE,
}
_WINDOW = 76


class Failure(Exception):
    """The command cannot go on: one message, a hint, and the exit code."""

    def __init__(self, message: str, code: int = FAILED, hint: str = "", lines: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.hint, self.lines = message, code, hint, lines


def exit_code_of(status: int) -> int:
    """The exit code that an HTTP status means."""
    return OK if status < 300 else _CODE_OF_STATUS.get(status, FAILED)


def failure_of(status: int, body: dict[str, Any], tail: str = "") -> Failure:
    """The failure that a problem is; `tail` is what it means here ("Job not submitted.")."""
    detail = line(str(body.get("detail") or f"the controller answered {status}"))
    message = f"{detail.rstrip('.')}. {tail}" if tail else detail
    text, column = str(body.get("text") or ""), int(body.get("column") or 0)
    shown = caret(text, column) if text and column else ""
    return Failure(message, exit_code_of(status), line(str(body.get("hint") or "")), shown)


def line(text: str) -> str:
    """The text as one line that a terminal shows and does not obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def lines(text: str) -> str:
    """The text with each of its lines as `line` shows it."""
    return "\n".join(map(line, text.split("\n")))


def _escaped(char: str) -> str:
    return repr(char)[1:-1] if char != "\t" else " "


def caret(text: str, column: int, width: int = 1) -> str:
    """The text (a window of it when it is long) and a caret under a 1-based column."""
    line = "".join(char if char.isprintable() else " " for char in text)
    first = min(max(column - 1, 0), len(line))
    start = max(0, min(first - _WINDOW // 2, len(line) - _WINDOW))
    shown = line[start : start + _WINDOW]
    before = "..." if start else ""
    after = "..." if start + _WINDOW < len(line) else ""
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + first - start)}{'^' * width}"


def tell(message: str) -> None:
    """Talk."""
    print(lines(message), file=sys.stderr)


def tell_failure(failure: Failure) -> None:
    """A refusal: the message, the place, the cure."""
    print(paint(lines(failure.message), "31"), file=sys.stderr)
    if failure.lines:
        tell(failure.lines)
    if failure.hint:
        tell(f"hint: {failure.hint}")


def paint(text: str, colour: str) -> str:
    """The text in a colour, where stderr is a terminal that may be coloured."""
    if os.environ.get("NO_COLOR") or not sys.stderr.isatty():
        return text
    return f"\033[{colour}m{text}\033[0m"


def when(at_us: object) -> str:
    """`Nov 29 23:17` as LSF writes it, in local time; `-` for none."""
    if not isinstance(at_us, int) or at_us <= 0:
        return "-"
    return time.strftime("%b %d %H:%M", time.localtime(at_us // 1_000_000))


def exactly(at_us: object) -> str:
    """A time to the millisecond, in local time; `-` for none."""
    if not isinstance(at_us, int) or at_us <= 0:
        return "-"
    seconds, rest = divmod(at_us, 1_000_000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))}.{rest // 1000:03d}"


def table(
    columns: tuple[tuple[str, int], ...], rows: list[list[str]], *, wide: bool, fit: bool = False
) -> str:
    """Rows under their heads. A column has a width; longer values keep their tail behind a `*`,
    a width of 0 cuts nothing. Fit, a column is no wider than its longest value; wide, it is as
    wide as that."""
    heads = [head for head, _ in columns]
    rows = [[line(cell) for cell in row] for row in rows]
    widths = [width for _, width in columns]
    if wide or fit:
        needed = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
        widths = needed if wide else list(map(min, widths, needed))
    return "\n".join(
        " ".join(_cell(cell, width, wide) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *rows]
    )


def _cell(text: str, width: int, wide: bool) -> str:
    if not wide and 0 < width < len(text):
        text = f"*{text[1 - width :]}" if width > 1 else text[:width]
    return text.ljust(width)
