"""Command lines with options of bsub that the fast path does not know: all of them are read.

One table (`xce.resreq.options.bsub`) says what there is; the same reader judges the lines of a
script. Options with two dashes are xcecli's own. What is not acted on is told on stderr.
"""

from __future__ import annotations

from xcecli import say
from xcecli.options import DIGITS_MAX, SUBMIT, Values, parse
from xcecli.say import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from xce.resreq.options.bsub import Option
    from xce.resreq.options.words import Finding


def read_line(argv: list[str]) -> tuple[Values, list[str]] | None:
    """The fields and the command of a submission's line; None when click is to say what is wrong.
    A value that cannot be taken is a Failure."""
    split = _split(argv)
    if split is None:
        return None
    own, given, command = split
    parsed = parse(SUBMIT, own)
    if parsed is None or parsed[1]:
        return None
    return {**_read(given, "Job not submitted."), **parsed[0]}, command


def read_changes(argv: list[str]) -> tuple[Values, tuple[str, ...], list[str]]:
    """The fields of a change's line, those that are put back (`-Wn`), and its words."""
    from xce.resreq.options.bsub import BSUB

    back: dict[str, None] = {}
    left: list[str] = []
    words: list[str] = []
    while argv:
        split = _split(argv)
        if split is None or split[0]:
            odd = next(word for word in argv if word.startswith("-"))
            raise Failure(f"{odd}: there is no such option", say.USAGE)
        _, given, rest = split
        left += given
        words, argv = words + rest[:1], rest[1:]
    options = []
    for at, word in enumerate(left):
        option = BSUB.get(word[:-1]) if word.endswith("n") and word not in BSUB else None
        if option is not None and option.field and (at == 0 or not _awaits(left[at - 1])):
            back[option.field] = None
        else:
            options.append(word)
    return _read(options, "Nothing was changed."), tuple(back), words


def _awaits(word: str) -> bool:
    """Whether the word behind it is its value."""
    from xce.resreq.options.bsub import split_option

    option, joined = split_option(word)
    return option is not None and option.takes_value and not joined


def _read(given: list[str], otherwise: str) -> Values:
    """The fields of options of bsub; what is not acted on is told."""
    from xce.resreq.options.script import read_command_line

    reading = read_command_line(given)
    for one in reading.warnings:
        say.tell(f"warning: {one.message}{f' ({one.hint})' if one.hint else ''}")
    errors = [*reading.errors, *(one for one in reading.warnings if one.code == "gpus_of_terms")]
    if errors:
        for one in errors[:-1]:
            say.tell_failure(_failure(one, otherwise))
        raise _failure(errors[-1], otherwise)
    return reading.fields()


def _split(argv: list[str]) -> tuple[list[str], list[str], list[str]] | None:
    """xcecli's own options, those of bsub, and the command behind them."""
    from xce.resreq.options.bsub import split_option

    flags = {name: option.kind == "flag" for option in SUBMIT.options for name in option.names}
    own: list[str] = []
    given: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return own, given, argv[at + 1 :]
        if not word.startswith("-") or word == "-":
            break
        name, mark, value = word.partition("=")
        if mark and len(name) > 2 and name in flags and not word.startswith("--"):
            own += [name, value]
            at += 1
            continue
        if word.startswith("--"):
            if name not in flags:
                return None
            taken, into = (1 if mark or flags[name] else 2), own
        else:
            option, joined = split_option(word)
            taken = 2 if option is not None and option.takes_value and not joined else 1
            if option is not None and not _may_be(
                option, joined or (argv[at + 1 : at + 2] or [""])[0]
            ):
                return None
            into = given
        into += argv[at : at + taken]
        at += taken
    return own, given, argv[at:]


def _may_be(option: Option, value: str) -> bool:
    """What is no number is click's to refuse, as everywhere; `-n` takes two of them."""
    if option.value not in ("count", "number"):
        return True
    numbers = value.split(",", 1) if option.value == "count" else [value]
    return all(n.isascii() and n.isdigit() and len(n) <= DIGITS_MAX for n in numbers)


def _failure(one: Finding, otherwise: str) -> Failure:
    code = say.USAGE if one.code in ("unknown_option", "no_value") else say.REFUSED
    return Failure(f"{one.message}. {otherwise}", code, one.hint)
