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
    from xce.resreq.options.script import read_command_line

    split = _split(argv)
    if split is None:
        return None
    own, given, command = split
    parsed = parse(SUBMIT, own)
    if parsed is None or parsed[1]:
        return None
    reading = read_command_line(given)
    for one in reading.warnings:
        say.tell(f"warning: {one.message}{f' ({one.hint})' if one.hint else ''}")
    errors = [*reading.errors, *(one for one in reading.warnings if one.code == "gpus_per_host")]
    if errors:
        for one in errors[:-1]:
            say.tell_failure(_failure(one))
        raise _failure(errors[-1])
    return {**reading.fields(), **parsed[0]}, command


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


def _failure(one: Finding) -> Failure:
    code = say.USAGE if one.code in ("unknown_option", "no_value") else say.REFUSED
    return Failure(f"{one.message}. Job not submitted.", code, one.hint)
