"""Checks on the command line: one string in, one judgement out, without a controller."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.resreq.cases import load, sure
from xcecli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line, with lines on its input perhaps."""
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*argv: str, lines: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        code = main(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def judged(run: Run, kind: str, texts: list[str], *more: str) -> tuple[int, list[dict[str, Any]]]:
    lines = "".join(f"{text}\n" for text in texts)
    code, out, err = run(kind, "check", "--stdin", "--json", *more, lines=lines)
    assert err == ""
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["text"] for one in found] == texts
    return code, found


def test_a_requirement_is_printed_in_its_one_form(run: Run) -> None:
    assert run("resreq", "check", "select[mem > 4GB]   rusage[mem=4GB]") == (
        0,
        "select[mem>4GB] rusage[mem=4GB]\n",
        "",
    )


def test_a_refusal_shows_the_text_with_a_caret_and_a_hint(run: Run) -> None:
    code, out, err = run("resreq", "check", "mem>1", "select[a] rsuage[mem=1]")
    assert (code, out) == (1, "select[mem>1]\n")
    assert err.splitlines() == [
        "Bad resource requirement syntax, column 11: unknown section 'rsuage'",
        "  select[a] rsuage[mem=1]",
        "            ^^^^^^",
        "hint: did you mean `rusage`?",
    ]


def test_an_unknown_name_is_a_warning_since_sites_have_their_own(run: Run) -> None:
    code, out, err = run("resreq", "check", "rusage[memm=4GB]")
    assert (code, out) == (0, "rusage[memm=4GB]\n")
    assert err == "warning: column 8: no resource is called 'memm' (did you mean `mem`?)\n"
    assert run("resreq", "check", "--names", "rusage[memm=4GB]")[0] == 1


def test_what_no_site_can_mean_is_an_error_with_the_text_lsf_has_for_it(run: Run) -> None:
    code, found = judged(run, "resreq", ["rusage[mem=1:maxmem=4]"])
    assert code == 1
    error = found[0]["errors"][0]
    assert (error["code"], error["column"]) == ("not_consumable", 14)
    assert error["lsf"] == "Non-consumable resource in the RUSAGE section"


def test_what_practice_takes_is_refused_in_strict_mode_and_told(run: Run) -> None:
    code, found = judged(run, "resreq", ["mem=100:swp=50"])
    assert (code, found[0]["warnings"][0]["code"]) == (1, "compat")
    code, found = judged(run, "resreq", ["mem=100:swp=50"], "--mode", "compat")
    assert (code, found[0]["warnings"][0]["code"]) == (0, "old_syntax")


def test_a_judgement_tells_what_the_requirement_comes_down_to(run: Run) -> None:
    _, found = judged(run, "resreq", ["rusage[mem=4GB] span[ptile=2]", "order[mem]"])
    assert (found[0]["need"]["per_task"], found[0]["need"]["ptile"]) == ([["mem", 2**32]], 2)
    assert found[1]["valid"]


@pytest.mark.parametrize("name", ["resreq.jsonl", "resreq_tricky.jsonl"])
def test_collected_requirements_are_judged_as_recorded(run: Run, name: str) -> None:
    records = [record for record in load(name) if "\n" not in record["s"]]
    _, found = judged(run, "resreq", [record["s"] for record in records])
    pairs = zip(records, found, strict=True)
    assert [r["s"] for r, one in pairs if sure(r) and r["valid"] != one["valid"]] == []


def test_collected_array_names_are_judged_as_recorded(run: Run) -> None:
    records = load("arrays.jsonl")
    _, found = judged(run, "array", [record["s"] for record in records])
    for record, one in zip(records, found, strict=True):
        if sure(record):
            assert one["valid"] == record["valid"], record
            if record["valid"]:
                told = (one["name"], one["count"], one["limit"])
                assert told == (record["name"], record["count"], record["limit"])


def test_collected_dependencies_are_judged_as_recorded(run: Run) -> None:
    records = load("deps.jsonl")
    _, found = judged(run, "dependency", [record["s"] for record in records])
    pairs = zip(records, found, strict=True)
    assert [r["s"] for r, one in pairs if sure(r) and r["valid"] != one["valid"]] == []


def test_a_dependency_names_its_jobs(run: Run) -> None:
    _, found = judged(
        run, "dependency", ['done(12) && (exit("a b") || !ended(12)) && time(1:00-2:00)']
    )
    assert found[0]["jobs"] == ["12", "a b"]
    assert found[0]["canonical"] == 'done(12) && (exit("a b") || !ended(12)) && time(1:00-2:00)'


def test_a_requirement_is_said_in_plain_words(run: Run) -> None:
    text = "select[mem>4GB] span[ptile=4] cu[type=rack:maxcus=1]"
    assert run("resreq", "explain", "-n", "8", text)[:2] == (
        0,
        "8 tasks, 4 per host, on hosts with more than 4GB mem free, packed into one rack\n",
    )
    code, out, _ = run("resreq", "explain", "--stdin", "--json", lines="span[hosts=1]\nspan[\n")
    first, second = (json.loads(line) for line in out.splitlines())
    assert (code, first["explanation"]) == (1, "1 task, all on one host")
    assert "explanation" not in second


def test_requirements_are_merged_over_those_of_application_and_queue(run: Run) -> None:
    queue = "select[b] order[mem] span[hosts=1]"
    code, out, _ = run(
        "resreq", "merge", "select[a]", "rusage[mem=4GB]", "--queue", queue, "--app", "same[type]"
    )
    assert (code, out) == (0, "select[a && b] rusage[mem=4GB] span[hosts=1] same[type]\n")
    assert run("resreq", "merge", "--queue", "span[hosts=1]")[1] == "span[hosts=1]\n"


def test_a_merge_that_fails_shows_the_requirement_it_is_about(run: Run) -> None:
    code, _, err = run("resreq", "merge", "select[a] span[hosts=1]", "span[ptile=2]")
    assert code == 1
    assert err.splitlines()[1:3] == ["  span[ptile=2]", "       ^"]


def test_collected_merges_come_out_as_recorded(run: Run) -> None:
    records = load("resreq_multi.jsonl")
    lines = "".join(f"{json.dumps(record['R'])}\n" for record in records)
    _, out, _ = run("resreq", "merge", "--stdin", "--json", lines=lines)
    found = [json.loads(line) for line in out.splitlines()]
    for record, one in zip(records, found, strict=True):
        if sure(record):
            assert one["valid"] == (record["merged"] is not None), record


@pytest.mark.parametrize(
    "argv",
    [
        ["resreq", "check"],
        ["resreq", "check", "--stdin", "mem>1"],
        ["array", "check"],
        ["dependency", "check"],
        ["resreq", "merge"],
        ["script", "check"],
        ["script", "check", "nowhere.sh"],
    ],
)
def test_a_line_that_asks_nothing_is_a_usage_error(run: Run, argv: list[str]) -> None:
    assert run(*argv)[0] == 2


SCRIPT = """#!/bin/bash
#BSUB -n 4 -c 90
#BSUB -R "rusage[mem=1GB]" -R span[hosts=1] -queue normal
"""


def test_a_script_is_shown_option_by_option(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT)
    code, out, err = run("script", "check", str(path))
    assert code == 1
    assert out.splitlines() == [
        "    2  -n        4",
        "    2  -c        90  = 90m  (kept, not acted on yet)",
        "    3  -R        rusage[mem=1GB]",
        "    3  -R        span[hosts=1]",
        "    3  -queue    normal  (unknown)",
        "requirement: rusage[mem=1GB] span[hosts=1]",
    ]
    assert err.splitlines()[0] == f"{path}:3:45: no option is called '-queue'"
    assert err.splitlines()[3] == "hint: did you mean `-q`?"


def test_a_script_is_told_as_one_object(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT)
    code, out, err = run("script", "check", str(path), "--json")
    told = json.loads(out)
    assert (code, err, told["valid"]) == (1, "", False)
    assert told["counts"] == {"n": 1, "c": 1, "R": 2, "queue": 1}
    assert told["effective"]["R"] == ["rusage[mem=1GB]", "span[hosts=1]"]
    assert told["resreq"] == "rusage[mem=1GB] span[hosts=1]"
    assert [(one["code"], one["line"], one["column"]) for one in told["errors"]] == [
        ("unknown_option", 3, 45)
    ]
    assert [one["code"] for one in told["warnings"]] == ["not_honoured"]


def test_a_script_that_is_no_text_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(b"#!/bin/sh\n#BSUB -J a\xff\n")
    code, out, _ = run("script", "check", str(path), "--json")
    assert code == 1
    error = json.loads(out)["errors"][0]
    assert (error["code"], error["line"], error["column"]) == ("not_utf8", 2, 11)
