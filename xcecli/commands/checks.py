"""Checks that need no controller: requirements, array names, dependencies and scripts.

The strings stand on the command line, or one on each line of the standard input; `--json` answers
every string with one object on one line. Exit codes: 0 all are valid, 1 some are not, 2 usage.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, command, epilog
from xcecli.doing import format_of
from xcecli.say import Failure

Judgement = dict[str, Any]
_STRINGS = click.argument("strings", nargs=-1, metavar="STRING...")
_STDIN = click.option("--stdin", is_flag=True, help="one string on each line of the input")


def _texts(strings: tuple[str, ...], stdin: bool) -> Iterator[str]:
    if stdin:
        for raw in sys.stdin.buffer:
            yield raw.decode("utf-8", "replace").rstrip("\r\n")
    else:
        yield from strings


def answer(
    values: dict[str, Any],
    strings: tuple[str, ...],
    stdin: bool,
    judge: Callable[[str], Judgement],
    shown: str = "canonical",
) -> int:
    """Judges every string and shows the judgements; the exit code."""
    if bool(strings) == stdin:
        what = "give strings or --stdin, not both" if stdin else "which string? or --stdin"
        raise Failure(what, say.USAGE)
    as_json = format_of(values) == "json"
    code: int = say.OK
    for text in _texts(strings, stdin):
        judged = judge(text)
        if not judged["valid"]:
            code = say.FAILED
        if as_json:
            print(json.dumps(judged))
        else:
            _show(judged, shown)
    return code


def _show(judged: Judgement, shown: str) -> None:
    for one in judged["errors"]:
        said = f"{one['lsf']}, column {one['column']}: {one['message']}"
        if one["expected"] and not one["hint"]:
            said += f"; expected {' or '.join(one['expected'])}"
        text = one.get("text", judged["text"])
        lines = say.caret(text, one["column"], _width(text, one))
        say.tell_failure(Failure(said, say.FAILED, one["hint"], lines))
    for one in judged["warnings"]:
        hint = f" ({one['hint']})" if one.get("hint") else ""
        say.tell(f"warning: column {one['column']}: {one['message']}{hint}")
    for one in judged.get("not_honoured", ()):
        say.tell(f"warning: column {one['column']}: {one['message']}")
    if judged["valid"]:
        print(judged[shown])


def _width(text: str, error: Judgement) -> int:
    end: int = min(error["end"], len(text) + 1)
    return max(1, end - int(error["column"]))


def _family(name: str, about: str, example: str) -> click.Group:
    return Family(name, help=about, epilog=epilog(example), context_settings=CONTEXT)


# -- requirements -------------------------------------------------------------------------------

resreq = _family(
    "resreq",
    "Check, explain, merge requirements; needs no controller.",
    "  xcecli resreq check 'select[mem>4GB] rusage[mem=4GB]'\n"
    "  xcecli resreq explain -n 8 'span[ptile=4]'",
)


@command(
    "check",
    "  xcecli resreq check 'select[mem>4GB] rusage[mem=4GB] span[hosts=1]'\n"
    "  xcecli resreq check --stdin --json < requirements.txt",
)
@_STRINGS
@_STDIN
@click.option(
    "--mode",
    type=click.Choice(["strict", "compat"]),
    default="strict",
    show_default=True,
    help="strict: the documented grammar; compat: what practice takes, too",
)
@click.option("--names", is_flag=True, help="a name that is no built-in resource is an error")
def resreq_check(
    values: dict[str, Any], strings: tuple[str, ...], stdin: bool, mode: str, names: bool
) -> int:
    """Check requirements and print each in its one form."""
    from xcecli import checks

    return answer(
        values, strings, stdin, lambda text: checks.requirement(text, mode=mode, names=names)
    )  # fmt: skip


@command("explain", "  xcecli resreq explain -n 8 'rusage[mem=4GB] span[ptile=4] cu[maxcus=1]'")
@_STRINGS
@_STDIN
@click.option(
    "-n", "--tasks", type=click.IntRange(min=1), default=1, metavar="N", help="number of tasks"
)
def resreq_explain(
    values: dict[str, Any], strings: tuple[str, ...], stdin: bool, tasks: int
) -> int:
    """Say in plain words what requirements ask for."""
    from xcecli import checks

    return answer(
        values, strings, stdin, lambda text: checks.explained(text, tasks=tasks), "explanation"
    )  # fmt: skip


@command(
    "merge",
    "  xcecli resreq merge 'select[a]' 'rusage[mem=4GB]' --queue 'select[b] span[hosts=1]'\n"
    """  echo '["select[a]", "select[b]"]' | xcecli resreq merge --stdin --json""",
)
@_STRINGS
@click.option("--stdin", is_flag=True, help="a JSON list of strings on each line of the input")
@click.option("--queue", default="", metavar="STRING", help="the queue's requirement")
@click.option("--app", default="", metavar="STRING", help="the application profile's requirement")
def resreq_merge(
    values: dict[str, Any], strings: tuple[str, ...], stdin: bool, queue: str, app: str
) -> int:
    """Merge several requirements of one job into one.

    They are merged over those of its application profile and its queue.
    """
    from xcecli import checks

    if stdin:
        return answer(
            values,
            strings,
            stdin,
            lambda line: checks.merged_line(line, application=app, queue=queue),
        )
    if not (strings or queue or app):
        raise Failure("which strings? or --stdin", say.USAGE)
    return answer(
        values, (" ".join(strings),), False,
        lambda _: checks.merged(strings, application=app, queue=queue),
    )  # fmt: skip


for _one in (resreq_check, resreq_explain, resreq_merge):
    resreq.add_command(_one)


# -- array names and dependencies ---------------------------------------------------------------

array = _family(
    "array", "Check names of job arrays; needs no controller.", "  xcecli array check 'J[1-10]%3'"
)
dependency = _family(
    "dependency",
    "Check dependency expressions; needs no controller.",
    "  xcecli dependency check 'done(12)'",
)


@command("check", "  xcecli array check 'name[1-10:2,20]%3'")
@_STRINGS
@_STDIN
def array_check(values: dict[str, Any], strings: tuple[str, ...], stdin: bool) -> int:
    """Check names of job arrays and print each in its one form."""
    from xcecli import checks

    return answer(values, strings, stdin, checks.array)


@command("check", "  xcecli dependency check 'done(12) && exit(prep, !=0)'")
@_STRINGS
@_STDIN
def dependency_check(values: dict[str, Any], strings: tuple[str, ...], stdin: bool) -> int:
    """Check dependency expressions and print each in its one form."""
    from xcecli import checks

    return answer(values, strings, stdin, checks.dependency)


array.add_command(array_check)
dependency.add_command(dependency_check)


# -- scripts ------------------------------------------------------------------------------------

script = _family(
    "script", "Check job scripts; needs no controller.", "  xcecli script check job.sh"
)


@command("check", "  xcecli script check job.sh\n  xcecli script check --json - < job.sh")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def script_check(values: dict[str, Any], files: tuple[str, ...]) -> int:
    """Read the #BSUB lines of scripts and tell what each option means."""
    from xcecli import checks

    code: int = say.OK
    for name in files:
        raw = _bytes_of(name)
        judged = checks.script(name, raw)
        if not judged["valid"]:
            code = say.FAILED
        if format_of(values) == "json":
            print(json.dumps(judged))
        else:
            _show_script(judged, raw.decode("utf-8", "replace").splitlines())
    return code


def _bytes_of(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}", say.USAGE) from None


_SAID = {"kept": "kept, not acted on yet", "site": "kept, not acted on", "unknown": "unknown"}


def _show_script(judged: Judgement, lines: list[str]) -> None:
    for one in judged["options"]:
        means = f"  = {one['means']}" if one["means"] not in ("", one["value"]) else ""
        said = f"  ({_SAID[one['support']]})" if one["support"] in _SAID else ""
        print(f"{one['line']:>5}  -{one['option']:<8} {one['value']}{means}{said}".rstrip())
    if judged["resreq"]:
        print(f"requirement: {judged['resreq']}")
    for one in judged["errors"]:
        line, column = one["line"], one["column"]
        shown = say.caret(lines[line - 1], column) if line <= len(lines) else ""
        said = f"{judged['file']}:{line}:{column}: {one['message']}"
        say.tell_failure(Failure(said, say.FAILED, one.get("hint", ""), shown))
    for one in judged["warnings"]:
        if one["code"] == "not_honoured" and " is kept but " in one["message"]:
            continue
        hint = f" ({one['hint']})" if one.get("hint") else ""
        place = f"{judged['file']}:{one['line']}:{one['column']}"
        say.tell(f"{place}: warning: {one['message']}{hint}")


script.add_command(script_check)
