"""Application profiles on the command line and in #BSUB lines."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]
MERGED = "rusage[mem=2GB] span[hosts=1]"


def spec_of(live: Live, key: int) -> tuple[str, str]:
    spec = live.engine.state.specs[live.engine.state.jobs[key].spec]
    return spec.application, spec.resreq


@pytest.mark.parametrize(
    "words",
    [
        ["-app", "fluent"],  # the fast parser
        ["--app=fluent"],
        ["-app=fluent"],  # click
    ],
)
def test_a_submission_names_a_profile(live: Live, xcecli: Cli, words: list[str]) -> None:
    assert xcecli("submit", *words, "-R", "rusage[mem=2GB]", "true")[0] == 0
    assert spec_of(live, 1) == ("fluent", MERGED)


def test_a_script_names_a_profile_and_the_command_line_wins(
    live: Live, xcecli: Cli, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#BSUB -app fluent -R rusage[mem=2GB]\necho one\n")
    assert xcecli("submit", str(script)) == (
        0, "Job <1> is submitted to default queue <normal>.\n", "",
    )  # fmt: skip
    assert xcecli("submit", "-app", "abaqus", str(script))[0] == 0
    assert spec_of(live, 1) == ("fluent", MERGED)
    assert spec_of(live, 2) == ("abaqus", "rusage[mem=2GB]")


def test_a_job_is_shown_with_its_profile_and_what_was_merged(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-app", "fluent", "true")
    lines = xcecli("job", "1")[1].splitlines()
    assert lines[2:4] == [
        "  Application <fluent>",
        "  Requested Resources <rusage[mem=4GB] span[hosts=1]>",
    ]
    assert json.loads(xcecli("job", "--json", "1")[1])["application"] == "fluent"


def test_an_unknown_profile_is_refused_with_the_nearest(live: Live, xcecli: Cli) -> None:
    code, out, err = xcecli("submit", "-app", "flunet", "true")
    assert (code, out) == (3, "")
    assert err.splitlines() == [
        "flunet: No such application profile. Job not submitted.",
        "hint: did you mean 'fluent'?",
    ]
    assert live.engine.state.jobs == {}


def test_the_profiles_are_listed(live: Live, xcecli: Cli) -> None:
    assert xcecli("applications")[1].splitlines() == [
        "APP_NAME RESREQ                        DESCRIPTION",
        "abaqus   -                             -",
        "fluent   rusage[mem=4GB] span[hosts=1] CFD",
    ]
