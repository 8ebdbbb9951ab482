"""The fast parser and click, made from one table, mean the same; help has examples everywhere."""

from collections.abc import Iterator
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xce.resreq.options.bsub import BSUB, Support, Value
from xcecli.line.bsub import read_line
from xcecli.options import FAST, Command, parse
from xcecli.tree import from_table, root

VALUES = {
    Value.COUNT: "4", Value.NUMBER: "4", Value.LIMIT: "1:30", Value.SIZE: "4GB",
    Value.TIME: "20:00",
    Value.RESREQ: "mem>4", Value.GPU: "num=2/task", Value.DEPENDENCY: "done(1)", Value.EXITS: "3",
    Value.ENV: "all",
}  # fmt: skip


def by_click(table: Command, argv: list[str]) -> tuple[dict[str, Any], list[str]]:
    seen: list[tuple[dict[str, Any], list[str]]] = []

    def act(values: dict[str, Any], words: list[str]) -> int:
        seen.append((values, words))
        return 0

    from_table("x", table, act).main(args=argv, prog_name="x", standalone_mode=False)
    return seen[0]


WORDS = st.sampled_from(["a", "sleep", "-", "12", "g7", "x=y", "a b", "", "--", "-z", "-n", "-J=1"])


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    name = draw(st.sampled_from(sorted(FAST)))
    argv: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        option = draw(st.sampled_from(FAST[name].options))
        spelling = draw(st.sampled_from(option.names))
        value = draw(st.one_of(WORDS, st.integers(-1, 70_000).map(str)))
        form = draw(st.sampled_from(["apart", "joined", "bare"]))
        if form == "bare" or option.kind == "flag":
            argv.append(spelling)
        elif form == "joined":
            argv.append(f"{spelling}={value}" if spelling.startswith("--") else spelling + value)
        else:
            argv += [spelling, value]
    return name, argv + draw(st.lists(WORDS, max_size=3))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(lines())
def test_what_the_fast_parser_takes_click_takes_with_the_same_meaning(
    line: tuple[str, list[str]],
) -> None:
    name, argv = line
    fast = parse(FAST[name], argv)
    if fast is not None:
        assert by_click(FAST[name], argv) == fast


def test_the_words_of_a_submission_are_never_read_as_options() -> None:
    meant = ({"tasks": 4, "name": "x"}, ["ls", "-n", "7", "--help"])
    assert parse(FAST["submit"], ["-n4", "-J", "x", "ls", "-n", "7", "--help"]) == meant
    assert read_line(["-n4", "-Jx", "ls", "-n", "7", "--help"]) == meant


@pytest.mark.parametrize(
    "name", [name for name, option in BSUB.items() if option.support is Support.HONOURED]
)
def test_no_option_of_bsub_is_taken_for_a_shorter_one_with_its_value(name: str) -> None:
    option = BSUB[name]
    value = VALUES.get(option.value, "x") if option.takes_value else None
    words = [name, *([value] if value else []), "ls", "-x"]
    parsed = parse(FAST["submit"], words) or read_line(words)
    assert parsed is not None
    assert parsed[1] == ["ls", "-x"]
    assert list(parsed[0]) == [option.field, *(["anew"] if option.anew else [])]


def test_repeated_requirements_are_kept_in_order_and_other_options_by_the_last() -> None:
    fast = parse(FAST["submit"], ["-R", "a", "--resreq=b", "-q", "x", "-q", "y", "ls"])
    assert fast == ({"resreq": ["a", "b"], "queue": "y"}, ["ls"])


@pytest.mark.parametrize("argv", [["-app", "fluent"], ["--app", "fluent"], ["--app=fluent"]])
def test_an_application_profile_is_named_as_bsub_does_and_with_two_dashes(argv: list[str]) -> None:
    meant = ({"application": "fluent"}, ["ls", "-app"])
    assert parse(FAST["submit"], [*argv, "ls", "-app"]) == meant
    assert by_click(FAST["submit"], [*argv, "ls", "-app"]) == meant


def test_other_spellings_of_the_profile_are_left_to_click() -> None:
    assert parse(FAST["submit"], ["-app=fluent", "ls"]) is None
    assert by_click(FAST["submit"], ["-app=fluent", "ls"]) == ({"application": "fluent"}, ["ls"])


@pytest.mark.parametrize(
    "argv", [["--help"], ["-n", "x", "ls"], ["--nmae", "x"], ["-n"], ["--id=1"]]
)
def test_what_needs_help_or_a_refusal_is_left_to_click(argv: list[str]) -> None:
    assert parse(FAST["submit"], argv) is None


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), list(commands(root, "xcecli")))
def test_every_command_has_help_with_examples_of_itself(path: str, command: click.Command) -> None:
    with click.Context(command, info_name=path) as context:
        text = command.get_help(context)
    assert "Examples:" in text
    assert path.rsplit(maxsplit=1)[-1] in text.split("Examples:", 1)[1]
    assert len((command.help or "").strip()) > 10
