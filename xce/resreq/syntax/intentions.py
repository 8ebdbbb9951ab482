"""What was probably meant at the place where the parser stopped: a list of rules.

Each rule looks at a `Spot` and gives a `Guess` or None; the first guess wins. Every rule is a
mistake that was seen in real submissions, so its words are written for the person who made it.
"""

import re
from functools import cached_property

from msgspec import Struct

from xce.model.units import nearest, size_factor
from xce.resreq.errors import Code

SECTIONS = ("select", "order", "rusage", "span", "same", "cu", "affinity")
_OPENER = re.compile(r"([A-Za-z_]*)\s*\[|\]")
_WORD_BEFORE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*$")
_HTML = re.compile(r"&(gt|lt|amp|quot|apos);")
_HTML_PLAIN = {"gt": ">", "lt": "<", "amp": "&", "quot": '"', "apos": "'"}
_OPTION = re.compile(r"-[A-Za-z]")
_VALUE = re.compile(r"[A-Za-z0-9_.*?:/+-]+")
_LAST_SIGN = re.compile(r"(&&|\|\||[<>=!]=|\S)$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class Guess(Struct, frozen=True, gc=False, kw_only=True):
    """A refusal's words; "" and 0 leave what the parser said."""

    code: Code = Code.SYNTAX
    message: str = ""
    hint: str = ""
    column: int = 0


class Spot:
    """The place where the parser stopped, and what surrounds it."""

    def __init__(self, *, text: str, offset: int, found: str, accepted: frozenset[str]) -> None:
        self.text = text
        self.offset = offset
        self.found = found
        self.accepted = accepted
        self.before = text[:offset].rstrip()
        self.after = text[offset + len(found) :].lstrip()

    @cached_property
    def _open(self) -> tuple[str, int]:
        """The section that is open here and the offset of its keyword; ("", -1) outside."""
        section, start = "", -1
        for match in _OPENER.finditer(_QUOTED.sub(_blank, self.text[: self.offset])):
            if match.group() == "]":
                section, start = "", -1
            else:
                section, start = match.group(1), match.start()
        return section, start

    @property
    def section(self) -> str:
        """The name of the open section, "" outside."""
        return self._open[0]

    @property
    def section_column(self) -> int:
        """The column of the open section's keyword, 0 outside."""
        return self._open[1] + 1

    @property
    def in_select(self) -> bool:
        """Inside select[ ], or in a select without its brackets."""
        return self.section == "select" or (not self.section and "AND" in self.accepted)

    @property
    def last_sign(self) -> str:
        """The sign right before the place."""
        match = _LAST_SIGN.search(self.before)
        return match.group() if match else ""

    def unclosed(self, opening: str, closing: str) -> bool:
        """More `opening` than `closing` before the place."""
        bare = _QUOTED.sub(_blank, self.text[: self.offset])
        return bare.count(opening) > bare.count(closing)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def intention(spot: Spot) -> Guess:
    """The first rule that knows what was meant."""
    for rule in _RULES:
        guess = rule(spot)
        if guess is not None:
            return guess
    return Guess()


def _html(spot: Spot) -> Guess | None:
    match = _HTML.match(spot.text, spot.offset)
    if match is None:
        return None
    plain = _HTML_PLAIN[match.group(1)]
    return Guess(message=f"HTML text {match.group()!r}", hint=f"write `{plain}`")


_WRONG_OPERATORS = {
    "=>": ">=",
    "=<": "<=",
    "<>": "!=",
    "=!": "!=",
    "===": "==",
    "!==": "!=",
    ">>": ">",
    "<<": "<",
    "~=": "==",
    "=~": "==",
}


def _operator(spot: Spot) -> Guess | None:
    if not spot.in_select:
        return None
    for length in (3, 2):
        for start in (spot.offset, spot.offset - 1, spot.offset - 2):
            written = spot.text[max(start, 0) : max(start, 0) + length]
            if start >= 0 and written in _WRONG_OPERATORS:
                hint = f"write `{_WRONG_OPERATORS[written]}`"
                return Guess(message=f"no operator {written!r}", hint=hint, column=start + 1)
    if spot.found == "=":
        return Guess(message="a single `=` compares nothing", hint="write `==`")
    if spot.text[max(spot.offset - 1, 0) : spot.offset + 1] == "**":
        hint = "`*` multiplies, `&&` joins conditions"
        return Guess(message="no operator '**'", hint=hint, column=spot.offset)
    words = {"and": "&&", "or": "||", "not": "!", "&": "&&", "|": "||", ",": "&&", ";": "&&"}
    meant = words.get(spot.found.lower())
    if meant is None:
        return None
    return Guess(message=f"{spot.found!r} joins no conditions", hint=f"write `{meant}`")


def _missing_closer(spot: Spot) -> Guess | None:
    inside = spot.section
    if not inside:
        return None
    opens = spot.found in SECTIONS and spot.after.startswith("[")
    opens = opens or any(spot.found.startswith(f"{name}[") for name in SECTIONS)
    if not opens and spot.found:
        return None
    if not opens and spot.unclosed("(", ")"):
        return Guess(code=Code.UNBALANCED, message="`)` is missing")
    said = f"`]` of {inside}[ (column {spot.section_column}) is missing"
    return Guess(code=Code.UNBALANCED, message=said, hint="close it with `]`")


def _missing_brace(spot: Spot) -> Guess | None:
    if not spot.found and spot.unclosed("{", "}"):
        return Guess(code=Code.UNBALANCED, message="`}` is missing")
    if not spot.found and spot.unclosed("(", ")"):
        return Guess(code=Code.UNBALANCED, message="`)` is missing")
    return None


_PAIRS = {"]": "[", ")": "(", "}": "{"}


def _stray_closer(spot: Spot) -> Guess | None:
    opening = _PAIRS.get(spot.found)
    if opening is None:
        return None
    if spot.before[-1:] in ("[", "{") or (spot.before[-1:] == "(" and spot.found == ")"):
        opened = f"{spot.before[-1:]} {spot.found}"
        what = f"{spot.section}[ ]" if spot.section and spot.found == "]" else opened
        return Guess(code=Code.EMPTY, message=f"{what} is empty")
    if not spot.unclosed(opening, spot.found):
        said = f"`{spot.found}` without `{opening}`"
        return Guess(code=Code.UNBALANCED, message=said, hint="take it away")
    if spot.before[-1:] in (",", ":", "|", "&"):
        return Guess(code=Code.EMPTY, message=f"nothing after `{spot.last_sign}`")
    if spot.found == "]" and "RPAR" in spot.accepted and spot.unclosed("(", ")"):
        return Guess(code=Code.UNBALANCED, message="`)` is missing before `]`")
    return None


def _section_name(spot: Spot) -> Guess | None:
    word, column = spot.found, spot.offset + 1
    bracket = spot.after[:1]
    if spot.found in ("[", "("):
        before = _WORD_BEFORE.search(spot.text[: spot.offset])
        if before is None or spot.section:
            return None
        word, column, bracket = before.group(1), before.start() + 1, spot.found
    if not word.replace("_", "a").isalnum() or spot.section or bracket not in ("[", "("):
        return None
    if bracket == "(" and word not in SECTIONS:
        return None
    if word in SECTIONS:
        if bracket == "[":
            return None
        hint = f"write {word}[ ]"
        return Guess(message=f"{word} takes its text in [ ]", hint=hint, column=column)
    near = nearest(word, SECTIONS)
    hint = f"did you mean `{near}`?" if near else f"sections are {', '.join(SECTIONS)}"
    said = f"unknown section {word!r}"
    return Guess(code=Code.UNKNOWN_SECTION, message=said, hint=hint, column=column)


def _braces(spot: Spot) -> Guess | None:
    if spot.found == "{" and spot.before.endswith("{"):
        return Guess(message="`{` twice", hint="was it doubled for a format string?")
    if spot.found == "{" and re.search(r"\d\.\d+\s*\*$", spot.before):
        said = "the number of tasks of a term is whole"
        return Guess(code=Code.BAD_VALUE, message=said, hint="write 2*{...}")
    if spot.found == "{" and re.search(r"\{\s*\d+\s*\*$", spot.before):
        said = "a compound requirement stands inside no other"
        return Guess(message=said, hint="name all terms side by side: N*{...} + M*{...}")
    term = re.search(rf"\d\s*\*\s*({'|'.join(SECTIONS)})?$", spot.before)
    word = term.group(1) or spot.found if term else ""
    if word in SECTIONS:
        return Guess(message="a term stands in { }", hint=f"write N*{{{word}[...]}}")
    if spot.found == "+" and spot.before.startswith("{") and "OR" in spot.accepted:
        hint = "only the last term may go without its number: write N*{...} + ..."
        return Guess(message="a term without its number", hint=hint)
    return None


def _outside(spot: Spot) -> Guess | None:
    if spot.section or not spot.before:
        return None
    if spot.found in ("||", "|") and spot.before.endswith("]"):
        hint = "`||` stands inside rusage[ ] or between { }"
        return Guess(message=f"{spot.found!r} between sections", hint=hint)
    if spot.found == "|":
        return Guess(message="a single `|`", hint="write `||`")
    if _OPTION.match(spot.text, spot.offset) and spot.before.endswith("]"):
        word = spot.text[spot.offset :].split()[0]
        hint = "an option of the command slid into the requirement: check the quotes"
        return Guess(message=f"unexpected {word!r} after the last section", hint=hint)
    return None


def _usage(spot: Spot) -> Guess | None:
    if spot.section != "rusage":
        return None
    if spot.found in ("&&", "&", ";", "and"):
        return Guess(message=f"{spot.found!r} joins no reservations", hint="write `,`")
    if spot.found in ("-", "."):
        if spot.before.endswith("="):
            return Guess(code=Code.BAD_VALUE, message="an amount is not negative")
        hint = "a resource name has letters, digits and _"
        return Guess(code=Code.BAD_NAME, message=f"{spot.found!r} in a name", hint=hint)
    if size_factor(spot.found) is not None and spot.before[-1:].isdigit():
        hint = f"write it without the blank: {spot.before.rsplit('=')[-1]}{spot.found}"
        return Guess(code=Code.BAD_UNIT, message="a blank before the unit", hint=hint)
    if spot.before.endswith("=") and (spot.found == "]" or spot.found[:1].isalpha()):
        found = repr(spot.found) if spot.found != "]" else "nothing"
        return Guess(code=Code.BAD_VALUE, message=f"an amount is a number, not {found}")
    if spot.found == "]" and "EQUAL" in spot.accepted:
        word = _WORD_BEFORE.search(spot.before)
        said = f"{word.group(1) if word else 'it'} has no amount"
        return Guess(code=Code.BAD_VALUE, message=said, hint="write name=amount")
    if spot.found in (">", "<", ">=", "<=", "=="):
        hint = "rusage reserves: `name=amount`; conditions stand in select[ ]"
        return Guess(message=f"{spot.found!r} in rusage[ ]", hint=hint)
    return None


def _value(spot: Spot) -> Guess | None:
    if not spot.in_select:
        return None
    if spot.found in ("'", '"'):
        return Guess(code=Code.UNBALANCED, message="a quote that is not closed")
    if spot.found in (".", "*", "?", "]", ")", "-", ":", "/") and spot.last_sign != "=":
        start = len(spot.before)
        while start and _VALUE.fullmatch(spot.text[start - 1 : start]):
            start -= 1
        word = _VALUE.match(spot.text, start)
        odd = word and not word.group().replace("_", "a").isalnum()
        if word and odd and re.search(r"[=<>]\s*$", spot.text[:start]):
            hint = f"quote the value: '{word.group()}'"
            said = f"{word.group()!r} is no plain word"
            return Guess(message=said, hint=hint, column=start + 1)
    if (spot.found[:1].isalnum() or spot.found[:1] == "_") and "AND" in spot.accepted:
        return Guess(message=f"no operator before {spot.found!r}", hint="`&&` joins conditions")
    if not spot.found or spot.found in ("]", ")", "&&", "||"):
        what = spot.last_sign or "the beginning"
        return Guess(message=f"a condition is missing after `{what}`")
    return None


_RULES = (
    _html,
    _section_name,
    _braces,
    _missing_closer,
    _missing_brace,
    _stray_closer,
    _outside,
    _usage,
    _operator,
    _value,
)
