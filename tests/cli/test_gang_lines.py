"""Gangs on the command line: lint with places, submission, looks."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
from xcecli.manifest_text import TextError, load_yaml

Cli = Callable[..., Told]

GOOD = """\
group: pair
roles:
  - name: w
    count: 2
    command: [sleep, "60"]
"""


def refused(xcecli: Cli, text: str) -> list[str]:
    Path("m.yaml").write_text(text)
    code, out, _ = xcecli("group", "lint", "m.yaml")
    assert code == 3
    return out.splitlines()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def test_an_unknown_field_is_answered_with_line_column_and_the_nearest(xcecli: Cli) -> None:
    assert refused(xcecli, GOOD.replace("count", "cuont")) == [
        "m.yaml:4:5: roles[0].cuont: unknown field 'cuont' (did you mean 'count'?)",
        "      cuont: 2",
        "      ^",
    ]


def test_a_wrong_value_points_at_its_field(xcecli: Cli) -> None:
    assert refused(xcecli, GOOD.replace("count: 2", "count: two"))[0] == (
        "m.yaml:4:5: roles[0].count: found 'two'; expected a whole number, 1 to 16384"
    )


def test_a_bad_requirement_points_at_the_very_column(xcecli: Cli) -> None:
    text = GOOD + '    resreq: "rusage[memm=8GB]"\n'
    assert refused(xcecli, text) == [
        "m.yaml:6:21: roles[0].resreq: no resource is called 'memm' (did you mean `mem`?)",
        '      resreq: "rusage[memm=8GB]"',
        "                      ^",
    ]


def test_a_folded_requirement_is_shown_with_a_caret_of_its_own(xcecli: Cli) -> None:
    text = GOOD + "    resreq: >-\n      rusage[mem=8GB]\n      spam[hosts=1]\n"
    told = refused(xcecli, text)
    assert told[0].startswith("m.yaml:6:5: roles[0].resreq: ")
    assert told[1] == "  rusage[mem=8GB] spam[hosts=1]"
    assert told[2] == "                  ^"


def test_what_is_no_yaml_is_refused_with_its_place(xcecli: Cli) -> None:
    Path("m.yaml").write_text("group: g\nroles:\n\t- name: w\n")
    assert xcecli("group", "lint", "m.yaml") == (
        3,
        "",
        (
            "m.yaml:3:1: a tab stands where blanks must\n"
            "   - name: w\n"
            "  ^\n"
            "hint: indent with blanks\n"
        ),
    )


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a: 1\nb: 2\na: 3\n", "'a' is given twice, first in line 1", (3, 1)),
        ("a: !!python/name:os.system 1\n", "the tag", (1, 4)),
        ("? [a]\n: 1\n", "a field's name must be a word", (1, 3)),
        ("", "the text is empty", (1, 1)),
        ("[" * 40 + "]" * 40, "too large or nested too deep", (1, 34)),
    ],
)
def test_yaml_that_is_no_manifest_is_refused(
    text: str, message: str, place: tuple[int, int]
) -> None:
    with pytest.raises(TextError) as caught:
        load_yaml(text)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == place


def test_aliases_cannot_make_a_document_grow() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(TextError, match="too large or nested too deep"):
        load_yaml("\n".join(lines))


def test_words_stay_words() -> None:
    text = "[yes, on, 1:30, 2024-01-01, 0x10, 012, true, 7, -1, 1.5, null, '7']"
    assert load_yaml(text).document == [
        "yes", "on", "1:30", "2024-01-01", "0x10", "012", True, 7, -1, 1.5, None, "7",
    ]  # fmt: skip


def test_a_gang_is_submitted_listed_shown_and_killed(live: Live, xcecli: Cli) -> None:
    Path("m.yaml").write_text(GOOD)
    assert xcecli("group", "lint", "m.yaml") == (0, "m.yaml: ok, 1 role, 2 members\n", "")
    assert xcecli("group", "submit", "m.yaml") == (
        0,
        "Group <g1> is submitted to queue <normal>, 2 members.\n",
        "",
    )
    row = xcecli("group", "list")[1].splitlines()[1].split()
    assert [row[0], *row[2:7]] == ["g1", "PENDING", "normal", "2", "pair", "PEND:2"]
    lines = xcecli("group", "show", "g1")[1].splitlines()
    assert lines[0].endswith("State <PENDING>, Queue <normal>, 2 members")
    assert [line.split()[:4] for line in lines[2:]] == [
        ["w", "0", "1", "PEND"],
        ["w", "1", "2", "PEND"],
    ]
    assert xcecli("group", "submit", "--dry-run", "m.yaml")[:2] == (
        0,
        "It would wait: the cluster has no host\n",
    )
    assert xcecli("kill", "g1") == (0, "Group <g1> is being terminated\n", "")
    assert xcecli("group", "wait", "g1")[0] == 1
    assert xcecli("group", "list") == (0, "", "No unfinished group found\n")
    assert json.loads(xcecli("group", "list", "-a", "--json")[1])["items"][0]["state"] == "EXITED"


def test_a_refusal_of_the_controller_points_into_the_file(live: Live, xcecli: Cli) -> None:
    Path("m.yaml").write_text(GOOD + "queue: norml\n")
    code, _, err = xcecli("group", "submit", "m.yaml")
    assert code == 3
    assert err.splitlines() == [
        "m.yaml:6:1: queue: there is no queue 'norml' (did you mean 'normal'?)",
        "  queue: norml",
        "  ^",
        "hint: nothing was submitted",
    ]


def test_a_requirement_that_the_controller_refuses_is_shown_in_the_file(
    live: Live, xcecli: Cli
) -> None:
    Path("m.yaml").write_text(GOOD + '    resreq: "rusage[memm=8GB]"\n')
    code, _, err = xcecli("group", "submit", "m.yaml")
    assert code == 3
    assert err.splitlines()[0].startswith("m.yaml:6:21: roles[0].resreq: ")
    assert err.splitlines()[1:3] == [
        '      resreq: "rusage[memm=8GB]"',
        "                      ^",
    ]


def test_a_bad_manifest_is_refused_before_it_is_sent(live: Live, xcecli: Cli) -> None:
    Path("m.yaml").write_text(GOOD.replace("command", "comand"))
    code, out, err = xcecli("group", "submit", "m.yaml")
    assert (code, out) == (3, "")
    assert "did you mean 'command'?" in err
    assert "nothing was submitted" in err
    assert live.engine.state.groups == {}


def test_what_is_acted_on_in_part_is_told_with_the_submission(live: Live, xcecli: Cli) -> None:
    Path("m.yaml").write_text(
        GOOD + "    min: 1\nfailure_policy:\n  - {action: restart_group, keep_allocation: 10m}\n"
    )
    told = xcecli("group", "lint", "m.yaml")[2]
    lines = told.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["m.yaml:8:29", "remark"],
    ]
    code, out, err = xcecli("group", "submit", "--json", "m.yaml")
    assert (code, json.loads(out)["group"], err) == (0, "g1", told)


def test_a_job_is_no_gang_and_the_hint_says_how_each_is_shown(live: Live, xcecli: Cli) -> None:
    code, _, err = xcecli("group", "show", "4")
    assert (code, err.splitlines()) == (
        4,
        ["Group <4>: No matching group found", "hint: a job is shown by `xcecli job 4`"],
    )
    code, _, err = xcecli("job", "g4")
    assert (code, err.splitlines()) == (
        4,
        ["Job <g4>: No matching job found", "hint: a gang is shown by `xcecli group show g4`"],
    )
