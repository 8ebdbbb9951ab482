"""The #BSUB lines of a script, cut into words as a shell would, every word with its place.

A line is a directive when it begins with one `#` and has BSUB as its next word, wherever it
stands in the script. A `#` at the beginning of a word begins a comment; inside quotes and inside
words it does not. A `\\` at the end goes on in the next directive. What looks like a directive
and is none (`#BUSB`, `BSUB`, `#SBATCH`, an indented one) is told, never read; lines that are
commented out (`##BSUB`, `# #BSUB`) are only counted.

Reading never stops: what is wrong becomes a finding with line and column, and the rest is read.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

_DIRECTIVE = re.compile(r"#[ \t]*BSUB(?=[ \t]|$)")
_COMMENTED = re.compile(r"#[ \t]*#[#\s]*BSUB[ \t]+-")
_INDENTED = re.compile(r"[ \t]+#[ \t]*BSUB[ \t]+-")
_GLUED = re.compile(r"#[ \t]*BSUB[-:]")
_BARE = re.compile(r"BSUB[ \t]+-")
_ALMOST = re.compile(r"#[ \t]*([A-Za-z]{3,5})[ \t]+-[A-Za-z]")
_FOREIGN = re.compile(r"#(SBATCH|PBS|COBALT|OAR|PJM|\$)[ \t]+-")

_DOUBLE, _SINGLE = "\u201c\u201d\u201e", "\u2018\u2019\u201a"
# What closes a word processor's quote: any of its kind, or the plain one.
_OPENING = {**dict.fromkeys(_DOUBLE, f'{_DOUBLE}"'), **dict.fromkeys(_SINGLE, f"{_SINGLE}'")}
_BLANKS = " \t\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\r\f\v"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """Something to be said of a place: `column` and `line` are 1-based, `end` is behind it."""

    code: str
    message: str
    line: int
    column: int = 1
    end: int = 0
    hint: str = ""

    def __str__(self) -> str:
        said = f"line {self.line}, column {self.column}: {self.message}"
        return f"{said} ({self.hint})" if self.hint else said


class Word(Struct, frozen=True, gc=False, kw_only=True):
    """A word without its quotes. The first `plain` signs of it stood outside of quotes; `opens`
    is the column of the first sign behind them, inside the quotes if there are any. `raw` is the
    word as it is written."""

    text: str
    line: int
    column: int
    end: int
    plain: int
    opens: int
    raw: str


class Lines(Struct, frozen=True, kw_only=True):
    """What the lines of a script hold: words by directive, and what was found on the way."""

    directives: tuple[tuple[Word, ...], ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    commented_out: tuple[int, ...]
    interpreter: str


def lines_of(text: str) -> Lines:
    """The directives of a script's text."""
    reader = _Reader(text)
    reader.read()
    return Lines(
        directives=tuple(tuple(words) for words in reader.directives),
        errors=tuple(reader.errors),
        warnings=tuple(reader.warnings),
        commented_out=tuple(reader.commented_out),
        interpreter=reader.interpreter,
    )


class _Reader:
    """Reads a script once, from its first line to its last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.directives: list[list[Word]] = []
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self.commented_out: list[int] = []
        self.interpreter = ""
        self.command_line = 0
        self.told = 0

    def read(self) -> None:
        """All lines, the first to the last."""
        text = self.text
        if text.startswith("\ufeff"):
            self.warn("byte_order_mark", "the file begins with a byte order mark", 1)
            text = text[1:]
        if "\r\n" in text:
            number = text[: text.index("\r\n")].count("\n") + 1
            said = "lines end as on Windows: the carriage returns are left out"
            self.warn("crlf", said, number)
            text = text.replace("\r\n", "\n")
        open_line = 0
        for number, line in enumerate(text.split("\n"), 1):
            if number == 1 and line.startswith("#!"):
                self.interpreter = line[2:].strip()
                continue
            found = _DIRECTIVE.match(line)
            if found is not None:
                self._placed(number)
                open_line = self._directive(line, found.end(), number, open_line)
                continue
            if open_line:
                self._unfinished(open_line)
            open_line = 0
            self._other(line, number)
        if open_line:
            self._unfinished(open_line)

    def warn(self, code: str, message: str, line: int, hint: str = "") -> None:
        """Notes what is worth saying."""
        self.warnings.append(Finding(code=code, message=message, line=line, hint=hint))

    def _placed(self, number: int) -> None:
        """Tells once that a directive stands behind a command."""
        if self.command_line and not self.told:
            self.told = number
            said = "it stands behind the first command and is read all the same"
            self.warn("after_command", said, number)

    def _unfinished(self, line: int) -> None:
        said = "no directive follows the `\\` at its end"
        self.warn("unfinished", said, line, "go on in a line that begins with #BSUB")

    def _directive(self, line: str, at: int, number: int, open_line: int) -> int:
        """Reads one line; its number when it goes on in the next one, else 0."""
        line = line.rstrip(_BLANKS)
        goes_on = line.endswith("\\") and not line.endswith("\\\\")
        words = list(self._words(line[:-1] if goes_on else line, at, number))
        if open_line:
            self.directives[-1].extend(words)
        else:
            self.directives.append(words)
        return number if goes_on else 0

    def _other(self, line: str, number: int) -> None:
        """Looks at a line that is no directive."""
        if _COMMENTED.match(line):
            self.commented_out.append(number)
        elif _BARE.match(line):
            said = "BSUB without `#` is no directive: it would be run as a command"
            self.warn("bare", said, number, "write #BSUB")
        elif _INDENTED.match(line):
            said = "an indented directive is a comment and is not read"
            self.warn("indented", said, number, "begin the line with #BSUB")
        elif _GLUED.match(line):
            said = "no blank behind #BSUB: the line is a comment and is not read"
            self.warn("glued", said, number, "write #BSUB and a blank")
        elif found := _FOREIGN.match(line):
            said = f"#{found[1]} is another system's directive and is not read"
            self.warn("foreign", said, number)
        elif found := _ALMOST.match(line):
            self._almost(found[1], number)
        elif line.strip() and not line.lstrip().startswith("#"):
            self.command_line = self.command_line or number

    def _almost(self, word: str, number: int) -> None:
        if word != "BSUB" and (word.upper() == "BSUB" or sorted(word.upper()) == sorted("BSUB")):
            said = f"#{word} is no directive: the line is a comment and is not read"
            self.warn("misspelt", said, number, "did you mean #BSUB?")

    # --- words ---

    def _words(self, line: str, at: int, number: int) -> Iterator[Word]:
        while True:
            while at < len(line) and line[at] in _BLANKS:
                if not line[at].isascii():
                    said = f"a blank that a shell takes for a letter (U+{ord(line[at]):04X})"
                    self._wrong(
                        "odd_blank", said, line=number, column=at + 1, hint="type a plain one"
                    )
                at += 1
            if at >= len(line) or line[at] == "#":
                return
            word, at = self._word(line, at, number)
            yield word

    def _word(self, line: str, start: int, number: int) -> tuple[Word, int]:
        at, text, plain, opens = start, "", -1, 0
        while at < len(line) and line[at] not in _BLANKS:
            sign = line[at]
            if sign in "'\"" or sign in _OPENING:
                if plain < 0:
                    plain, opens = len(text), at + 2
                inside, at = self._quoted(line, at, number)
                text += inside
            elif sign == "\\" and at + 1 < len(line):
                text += line[at + 1]
                at += 2
            else:
                text += sign
                at += 1
        if text and text[0] in _DASHES:
            text = self._dashed(text, number, start)
        if plain < 0:
            plain, opens = len(text), at + 1
        return Word(
            text=text,
            line=number,
            column=start + 1,
            end=at + 1,
            plain=plain,
            opens=opens,
            raw=line[start:at],
        ), at

    def _dashed(self, text: str, number: int, start: int) -> str:
        said = f"the dash {text[0]!r} (U+{ord(text[0]):04X}) begins no option"
        hint = "a word processor's: type a plain -"
        self._wrong("dash", said, line=number, column=start + 1, hint=hint)
        return f"-{text[1:]}"

    def _quoted(self, line: str, start: int, number: int) -> tuple[str, int]:
        """What stands between quotes, and where it ends."""
        quote = line[start]
        closing = _OPENING.get(quote, quote)
        if quote in _OPENING:
            said = f"{quote} (U+{ord(quote):04X}) is no quote to a shell"
            hint = "a word processor's: type plain quotes"
            self._wrong("smart_quote", said, line=number, column=start + 1, hint=hint)
        at, text = start + 1, ""
        while at < len(line) and line[at] not in closing:
            if quote == '"' and line[at] == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                at += 1
            text += line[at]
            at += 1
        if at == len(line):
            said = f"the quote {quote} is not closed"
            hint = "close it on this line"
            self._wrong("open_quote", said, line=number, column=start + 1, hint=hint)
        return text, at + 1

    def _wrong(self, code: str, message: str, *, line: int, column: int, hint: str) -> None:
        self.errors.append(
            Finding(
                code=code, message=message, line=line, column=column, end=column + 1, hint=hint
            )
        )  # fmt: skip


def words_of(arguments: list[str]) -> tuple[Word, ...]:
    """Words of a command line, which a shell has cut already: `line` is 0, columns count signs of
    the words joined by blanks."""
    words, column = [], 1
    for text in arguments:
        end = column + len(text)
        words.append(
            Word(text=text, line=0, column=column, end=end, plain=len(text), opens=column, raw=text)
        )  # fmt: skip
        column = end + 1
    return tuple(words)
