"""A script's #BSUB lines, or a command line of bsub, read into options.

Every option is kept with its value, its meaning and its place, whether XCE acts on it or not;
what it does not act on is named in a warning, what it does not know is an error with the nearest
option. Of several the last counts, but every `-R`. Reading goes on after an error, so that all of
them are told at once. A script means nothing else than its options and its text: nothing is run
and no variable is replaced.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from xce.resreq.errors import ResreqError
from xce.resreq.options.bsub import (
    BSUB,
    Option,
    Support,
    Value,
    nearest_option,
    split_option,
)
from xce.resreq.options.values import judge, taken_as
from xce.resreq.options.words import Finding, Word, lines_of, words_of

UNKNOWN = "unknown"
_SECTION = re.compile(r"\b(select|order|rusage|span|same|cu|affinity)\s*\[")
DEFAULT_SHELL = "/bin/sh"


class Given(Struct, frozen=True, gc=False, kw_only=True):
    """One option as it was given: `means` is its value in one spelling, "" where it has none or
    cannot be taken; `support` says how far XCE acts on it (`unknown` is no option)."""

    option: str
    value: str = ""
    means: str = ""
    support: str = UNKNOWN
    line: int = 0
    column: int = 1


class Reading(Struct, frozen=True, kw_only=True):
    """What was read. `resreq` is all `-R` and the `-gpu` in one requirement; `command` are the
    words behind the options of a command line."""

    options: tuple[Given, ...] = ()
    resreq: str = ""
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    interpreter: str = ""
    commented_out: tuple[int, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether a job could be submitted with it."""
        return not self.errors

    def effective(self) -> dict[str, Given]:
        """The option that counts of each name; of `-R` and its like the last one."""
        return {given.option: given for given in self.options}

    def fields(self) -> dict[str, object]:
        """What the submission of xcecli takes of it, under the names of its own options."""
        taken: dict[str, object] = {}
        anew: set[str] = set()
        for given in self.options:
            option = BSUB.get(given.option)
            if option is None or option.support is not Support.HONOURED:
                continue
            if option.field != "resreq":
                taken[option.field] = taken_as(option, given.value, given.means)
            if option.value is Value.FILE:
                anew.discard(option.field)
                anew |= {option.field} if option.anew else set()
        if anew:
            taken["anew"] = sorted(anew)
        if self.resreq:
            taken["resreq"] = [self.resreq]
        return taken


def read_script(text: str) -> Reading:
    """The options of a script's text."""
    lines = lines_of(text)
    reader = _Reader(list(lines.errors), list(lines.warnings))
    for words in lines.directives:
        reader.options(words)
    reader.finish()
    return Reading(
        options=tuple(reader.given),
        resreq=reader.resreq,
        errors=_sorted(reader.errors),
        warnings=_sorted(reader.warnings),
        interpreter=lines.interpreter or DEFAULT_SHELL,
        commented_out=lines.commented_out,
    )


def read_command_line(arguments: Sequence[str]) -> Reading:
    """The options in front of a command, and the command: the first word that is no option and
    no option's value, with all that follows."""
    reader = _Reader([], [], line=True)
    command = reader.options(words_of(list(arguments)))
    reader.finish()
    return Reading(
        options=tuple(reader.given),
        resreq=reader.resreq,
        errors=_sorted(reader.errors),
        warnings=_sorted(reader.warnings),
        command=tuple(word.text for word in command),
    )


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.line, finding.column)))


class _Reader:
    """Gathers options out of words; `line` is a command line, where a stray word is the command."""

    def __init__(
        self, errors: list[Finding], warnings: list[Finding], *, line: bool = False
    ) -> None:
        self.errors = errors
        self.warnings = warnings
        self.line = line
        self.given: list[Given] = []
        self.requirements: list[tuple[Given, int]] = []
        self.resreq = ""

    # --- words to options ---

    def options(self, words: Sequence[Word]) -> Sequence[Word]:
        """Takes the options of one line; what is left of a command line."""
        at, last = 0, None
        while at < len(words):
            word = words[at]
            option, joined = _option_of(word)
            if option is None and _is_word(word):
                if self.line:
                    return words[at:]
                at = self._stray(words, at, last)
                continue
            if option is None:
                at = self._unknown(words, at)
                continue
            at += 1
            if not option.takes_value:
                self._take(option, word, None)
            elif joined:
                self._joined(option, word, joined)
                self._take(option, word, joined)
            elif at < len(words) and _is_value(words[at]):
                value = words[at]
                value, at = _placeholder(words, at) if value.plain else (value, at + 1)
                self._take(option, word, value)
            else:
                self._wrong("no_value", f"{option.name} has no value", word)
            last = option
        return ()

    def _joined(self, option: Option, word: Word, value: Word) -> None:
        if value.plain and value.text.startswith("="):
            said = f"the `=` belongs to the value of {option.name}"
            self._wrong("equals", said, word, f"write {option.name} {value.text[1:]}".rstrip())

    def _unknown(self, words: Sequence[Word], at: int) -> int:
        """An option that there is not; a word behind it is taken for its value."""
        word = words[at]
        near = nearest_option(word.text)
        hint = f"did you mean `{near}`?" if near else ""
        self._wrong("unknown_option", f"no option is called {word.text!r}", word, hint)
        value = words[at + 1] if at + 1 < len(words) and _is_word(words[at + 1]) else None
        text = value.text if value else ""
        self.given.append(
            Given(option=word.text, value=text, line=word.line, column=word.column)
        )  # fmt: skip
        return at + 2 if value else at + 1

    def _stray(self, words: Sequence[Word], at: int, last: Option | None) -> int:
        """Words that belong to no option, up to the next one."""
        end = at
        while end < len(words) and _is_word(words[end]):
            end += 1
        text = " ".join(word.text for word in words[at:end])
        name = last.name if last else ""
        if text == ";":
            self._warn("semicolon", "`;` between options is left out", words[at])
        elif last is not None and not last.takes_value:
            self._warn("stray", f"{name} takes no value: {text!r} is left out", words[at])
        else:
            said = f"{text!r} belongs to no option"
            whole = f"{self.given[-1].value} {text}" if last and self.given else ""
            hint = f"quote a value with blanks: {name} '{whole}'" if whole else ""
            self._wrong("stray", said, words[at], hint)
        return end

    # --- options to what they mean ---

    def _take(self, option: Option, word: Word, value: Word | None) -> None:
        text = value.text if value is not None else ""
        if value is not None and option.value is Value.RESREQ and value.plain:
            text = value.raw
        if value is not None and value.plain == len(value.text) and text.endswith(";"):
            self._warn("semicolon", "`;` between options is left out", value, len(text) - 1)
            text = text[:-1]
        given = Given(
            option=option.name, value=text, support=option.support,
            line=word.line, column=word.column,
        )  # fmt: skip
        self._placed(option, word)
        if value is not None:
            given = self._judged(option, given, value)
        self._overridden(option, given)
        self.given.append(given)
        if option.value is Value.RESREQ and given.means and value is not None:
            self.requirements.append((given, value.opens if not value.plain else value.column))

    def _judged(self, option: Option, given: Given, value: Word) -> Given:
        start = value.opens if not value.plain else value.column
        try:
            judged = judge(option, given.value)
        except ResreqError as error:
            self.errors.append(_fault(error, given, start))
            return given
        for remark in judged.remarks:
            # The shell has read the words of a command line; what it left is meant so.
            if self.line and remark.code == "variable":
                continue
            self._warn(remark.code, remark.message, value, remark.column - 1)
        if judged.lacks and option.support is not Support.KEPT:
            self._warn("not_honoured", f"{option.name}: {judged.lacks}", value)
        return structs.replace(given, means=judged.means)

    def _placed(self, option: Option, word: Word) -> None:
        """What is to be said of the option itself."""
        name = f"{option.name} ({option.about})"
        match option.support:
            case Support.KEPT:
                self._warn("not_honoured", f"{name} is kept but not acted on yet", word)
            case Support.SITE:
                said = f"{name} belongs to other systems and is not acted on"
                self._warn("not_honoured", said, word)
            case Support.LINE_ONLY if not self.line:
                self._wrong("line_only", f"{name} cannot stand in a script", word)
            case Support.NO_JOB:
                self._wrong("no_job", f"{name} submits no job by itself", word)
            case _ if option.lacks:
                self._warn("not_honoured", f"{option.name}: {option.lacks}", word)

    def _overridden(self, option: Option, given: Given) -> None:
        if option.repeated:
            return
        before = next((one for one in reversed(self.given) if one.option == option.name), None)
        if before is not None and before.value != given.value:
            where = f" of line {before.line}" if before.line else ""
            said = f"{option.name} {given.value} counts instead of {before.value}{where}"
            self.warnings.append(
                Finding(code="overridden", message=said, line=given.line, column=given.column)
            )

    # --- all requirements together ---

    def finish(self) -> None:
        """Joins what several options say together."""
        gpu = self._last("-gpu")
        if not self.requirements and gpu is None:
            return
        from xce.resreq.options.joined import joined

        tasks = self._last("-n")
        texts = [given.value for given, _ in self.requirements]
        try:
            resized = any(given.option == "-ar" for given in self.given)
            made = joined(texts, gpu.value if gpu else "", int(_least(tasks)), resized=resized)
        except ResreqError as error:
            self.errors.append(self._joint_fault(error, gpu))
            return
        self.resreq = made.text
        if made.lacks and gpu is not None:
            self.warnings.append(
                Finding(
                    code="gpus_of_terms", message=made.lacks,
                    hint="write ngpus_physical=N into the terms",
                    line=gpu.line, column=gpu.column,
                )
            )  # fmt: skip

    def _joint_fault(self, error: ResreqError, gpu: Given | None) -> Finding:
        """What goes wrong only together is told of the -R that it is about, else of the GPUs."""
        for given, start in self.requirements:
            if error.text == given.value:
                return _fault(error, given, start)
        given = gpu or self.requirements[-1][0]
        return Finding(
            code=error.code.value, message=error.message, hint=error.hint,
            line=given.line, column=given.column,
        )  # fmt: skip

    def _last(self, name: str) -> Given | None:
        found = [given for given in self.given if given.option == name and given.means]
        return found[-1] if found else None

    # --- findings ---

    def _warn(self, code: str, message: str, word: Word, offset: int = 0) -> None:
        place = word.column if word.plain else word.opens
        column = place + offset
        self.warnings.append(Finding(code=code, message=message, line=word.line, column=column))

    def _wrong(self, code: str, message: str, word: Word, hint: str = "") -> None:
        self.errors.append(
            Finding(
                code=code, message=message, line=word.line, column=word.column, end=word.end,
                hint=hint,
            )
        )  # fmt: skip


def _least(tasks: Given | None) -> str:
    return tasks.means.partition(",")[0] if tasks is not None else "1"


def _fault(error: ResreqError, given: Given, start: int) -> Finding:
    """A refusal of a value as a finding of its line; `start` is the value's first column."""
    expected = f"expected {' or '.join(error.expected)}" if error.expected else ""
    section = _section_of(error, given.value)
    where = f"{given.option}: {section}[ ]: " if section else f"{given.option}: "
    named = error.message.startswith(given.option)
    message = error.message if named else f"{where}{error.message}"
    return Finding(
        code=error.code.value,
        message=message,
        line=given.line,
        column=start + error.column - 1,
        end=start + error.end - 1,
        hint=error.hint or expected,
    )


def _section_of(error: ResreqError, value: str) -> str:
    """The section of a requirement that a refusal is in; "" where it names one, or is in none."""
    before = value[: max(0, error.column - 1)]
    found = _SECTION.findall(before)
    if not found or before.rfind("]") > before.rfind("[") or found[-1] in error.message:
        return ""
    return str(found[-1])


def _option_of(word: Word) -> tuple[Option | None, Word | None]:
    """The option a word is, and the value written together with it."""
    if not word.plain or not word.text.startswith("-") or word.text == "-":
        return None, None
    if word.plain < len(word.text) and (option := BSUB.get(word.text[: word.plain])):
        rest, opens, plain = word.text[word.plain :], word.opens, 0
    else:
        option, rest = split_option(word.text)
        opens = word.column + len(word.text) - len(rest)
        plain = len(rest)
    if option is None or not rest:
        return option, None
    if not option.takes_value:
        return None, None
    raw = word.raw[len(option.name) :]
    value = Word(
        text=rest, line=word.line, column=opens, end=word.end, plain=plain, opens=opens, raw=raw
    )  # fmt: skip
    return option, value


def _is_word(word: Word) -> bool:
    """Whether a word is none that begins an option."""
    return not word.plain or not word.text.startswith("-") or word.text == "-"


def _is_value(word: Word) -> bool:
    """Whether a word can be the value of the option before it; old requirements begin with `-`."""
    return _is_word(word) or (_option_of(word)[0] is None and ":" in word.text)


def _placeholder(words: Sequence[Word], at: int) -> tuple[Word, int]:
    """A word, or all words of `<a name>` that a template left in on one line."""
    first = words[at]
    if first.text.startswith("<") and ">" not in first.text:
        for end in range(at + 1, len(words)):
            if words[end].line != first.line:
                break
            if words[end].text.endswith(">"):
                text = " ".join(word.text for word in words[at : end + 1])
                return structs.replace(first, text=text, plain=len(text)), end + 1
    return first, at + 1
