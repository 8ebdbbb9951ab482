"""What single tokens mean: numbers, sizes, durations, counts, words of a fixed choice.

Each function takes the lexer's token, so that a refusal can name its column, and gives an exact
value. Columns are 1-based offsets into the whole requirement, whatever lines it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xce.model.units import (
    NUMBER_CHARACTERS_MAX,
    UnitError,
    nearest,
    parse_decimal,
    parse_duration,
    parse_size,
    size_factor,
)
from xce.resreq import tree
from xce.resreq.errors import Code, ResreqError

if TYPE_CHECKING:
    from lark import Token

_COUNT_MAX = 1_000_000_000


def column_of(token: Token) -> int:
    """The 1-based column where the token begins."""
    return (token.start_pos or 0) + 1


def refuse(
    token: Token, code: Code, message: str, *, expected: tuple[str, ...] = (), hint: str = ""
) -> ResreqError:
    """A refusal of one token."""
    column = column_of(token)
    return ResreqError(
        code,
        message,
        column=column,
        end=column + len(token),
        found=str(token)[:NUMBER_CHARACTERS_MAX],
        expected=expected,
        hint=hint,
    )


def amount_of(token: Token) -> tree.Amount:
    """A bare number, or a number with a size unit."""
    if len(token) > NUMBER_CHARACTERS_MAX:
        raise refuse(token, Code.TOO_LARGE, "a number this long is no amount of anything")
    if not token[-1].isalpha() and token[-1] != "_" and token.replace(".", "", 1).isdigit():
        digits, places = parse_decimal(token)
        return tree.Number(digits=digits, places=places, column=column_of(token))
    try:
        size_bytes = parse_size(token, column=column_of(token))
    except UnitError as error:
        raise from_unit_error(error) from None
    return tree.Size(size_bytes=size_bytes, column=column_of(token))


def operand_of(token: Token) -> tree.Number | tree.Size | tree.Text:
    """A number-like token inside select: where no unit fits, it is a value such as `2xlarge`."""
    unit = token.lstrip("0123456789.")
    if unit and size_factor(unit) is None:
        return tree.Text(text=str(token), column=column_of(token))
    return amount_of(token)


def duration_of(token: Token) -> int:
    """Microseconds of a duration; a bare number counts minutes."""
    try:
        return parse_duration(token, column=column_of(token), bare="m")
    except UnitError as error:
        raise from_unit_error(error) from None


def count_of(token: Token, what: str, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if not token.isdigit() or len(token) > NUMBER_CHARACTERS_MAX:
        raise refuse(token, Code.BAD_VALUE, f"{what} is a whole number, not {str(token)!r}")
    value = int(token)
    if value < least:
        raise refuse(token, Code.BAD_VALUE, f"{what} is at least {least}, not {value}")
    if value > _COUNT_MAX:
        raise refuse(token, Code.TOO_LARGE, f"{what} is at most {_COUNT_MAX}")
    return value


def choice_of(token: Token, what: str, allowed: Iterable[str]) -> str:
    """One word of a fixed choice."""
    word, choices = str(token), tuple(allowed)
    if word in choices:
        return word
    near = nearest(word, choices)
    raise refuse(
        token,
        Code.BAD_VALUE,
        f"{what} cannot be {word!r}",
        expected=tuple(f"`{choice}`" for choice in choices),
        hint=f"did you mean `{near}`?" if near else "",
    )


def unquoted(token: Token) -> str:
    """The text of a quoted string, or the word itself."""
    return str(token[1:-1]) if token[0] in "'\"" else str(token)


def from_unit_error(error: UnitError) -> ResreqError:
    """The same refusal as a requirement error."""
    return ResreqError(
        Code.BAD_UNIT,
        error.message,
        column=error.column,
        end=error.end,
        found=error.found,
        expected=(error.expected,),
    )
