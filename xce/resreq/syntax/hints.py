"""The parser's complaint made into one sentence, with what was probably meant.

The parser says where it stopped and what could have followed; people want to know what they
did wrong. The rules in `intentions` look at the text around that place, most telling first.
Nothing here changes what is accepted: it only chooses the words of a refusal.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from xce.resreq.errors import Code, ResreqError
from xce.resreq.syntax.intentions import Spot, intention

_TERMINALS: Mapping[str, str] = MappingProxyType(
    {
        "NUMBER": "a number",
        "NAME": "a name",
        "STRING": "a quoted value",
        "DEFINED": "`defined(`",
        "TERM": "`N*{`",
        "DELAY": "`@delay`",
        "EQUALITY": "`==`",
        "RELATION": "`>=`",
        "OR": "`||`",
        "AND": "`&&`",
        "PLUS": "`+`",
        "MINUS": "`-`",
        "STAR": "`*`",
        "SLASH": "`/`",
        "BANG": "`!`",
        "LBRACE": "`{`",
        "RBRACE": "`}`",
        "LPAR": "`(`",
        "RPAR": "`)`",
        "RSQB": "`]`",
        "COMMA": "`,`",
        "COLON": "`:`",
        "EQUAL": "`=`",
        "INT": "a number",
        "PERCENT": "`%`",
        "STATE": "`done(`",
        "EXIT": "`exit(`",
        "COUNT": "`numdone(`",
        "EXTERNAL": "`external(`",
        "TIME": "`time(...)`",
        "INDEX": "`[index]`",
        "OPERATOR": "`>=`",
        "$END": "the end",
        "SELECT": "a section",
        "ORDER": "a section",
        "RUSAGE": "a section",
        "SPAN": "a section",
        "SAME": "a section",
        "CU": "a section",
        "AFFINITY": "a section",
    }
)
_EXPECTED_MAX = 6
_FOUND = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d[A-Za-z0-9_.]*|&&|\|\||[=!<>]=|\S")

_LOOKALIKES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        "\u2264": "<=",
        "\u2265": ">=",
        "\u2260": "!=",
        "\u00d7": "*",
        "\uff1d": "=",
    }
)


def character_error(text: str, offset: int) -> ResreqError:
    """The refusal of a character that is not of the language, most often a word processor's."""
    character = text[offset]
    said = f"the character {character!r} (U+{ord(character):04X}) is not of this language"
    plain = _LOOKALIKES.get(character)
    if plain is None:
        hint = "names and values outside quotes are plain ASCII"
    elif plain == "":
        hint = "it is invisible: delete it"
    elif plain == " ":
        hint = "it looks like a blank: type a plain one"
    elif plain == '"':
        hint = "a word processor's quote: type plain ones; those around it all are the shell's"
    else:
        hint = f"it looks like {plain!r}: type that"
    return ResreqError(
        Code.CHARACTER, said, column=offset + 1, found=character, hint=hint, text=text
    )


def stopped_at(text: str, error: UnexpectedInput) -> tuple[int, str, tuple[str, ...]]:
    """Where the parser stopped, what it found there, and what could have followed."""
    offset, accepted = _place(text, error)
    match = _FOUND.match(text, offset)
    return offset, match.group() if match else "", _expected(accepted)


def syntax_error(text: str, error: UnexpectedInput) -> ResreqError:
    """The refusal of a text that the grammar does not take."""
    offset, accepted = _place(text, error)
    match = _FOUND.match(text, offset)
    found = match.group() if match else ""
    spot = Spot(text=text, offset=offset, found=found, accepted=frozenset(accepted))
    guess = intention(spot)
    shown = found or "the end"
    where = f" in {spot.section}[ ]" if spot.section else ""
    culprit = match if guess.column == 0 else _FOUND.match(text, guess.column - 1)
    column = guess.column or offset + 1
    said = f"unexpected {shown!r}{where}" if found else f"the requirement ends too early{where}"
    return ResreqError(
        guess.code,
        guess.message or said,
        column=column,
        end=culprit.end() + 1 if culprit else column + 1,
        found=shown,
        expected=_expected(accepted),
        hint=guess.hint,
        text=text,
    )


def _place(text: str, error: UnexpectedInput) -> tuple[int, set[str]]:
    if isinstance(error, UnexpectedToken):
        accepted = set(error.accepts)
        if error.token.type == "$END":
            return len(text.rstrip()), accepted
        return error.token.start_pos or 0, accepted
    if isinstance(error, UnexpectedCharacters):
        return cast("int", error.pos_in_stream), set(error.allowed or ())
    assert isinstance(error, UnexpectedEOF)
    return len(text.rstrip()), set(error.expected)


def _expected(accepted: set[str]) -> tuple[str, ...]:
    words = sorted({_TERMINALS.get(name, name) for name in accepted})
    return tuple(words[:_EXPECTED_MAX])
