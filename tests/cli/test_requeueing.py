"""Requeue, -r and -Q on the command line and over HTTP: what is asked, said, shown."""

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Live, Told
from xce.model.job import Exit

Cli = Callable[..., Told]


def spec_of(live: Live, job: int = 1):
    return live.engine.state.specs[live.engine.state.jobs[job].spec]


@pytest.mark.parametrize(
    ("words", "rerunnable"),
    [
        ([], None),
        (["-r"], True),
        (["--rerunnable"], True),
        (["-rn"], False),
        (["-r", "-rn"], False),
        (["-rn", "-r"], True),
    ],
)
def test_a_job_says_whether_it_may_run_again(
    live: Live, xcecli: Cli, words: list[str], rerunnable: bool | None
) -> None:
    assert xcecli("submit", *words, "true")[0] == 0
    assert spec_of(live).rerunnable is rerunnable


def test_exit_values_are_taken_and_shown(live: Live, xcecli: Cli) -> None:
    assert xcecli("submit", "-r", "-Q", "all  ~0", "-J", "rerun", "./flaky.sh")[0] == 0
    assert spec_of(live).requeue_exits == "all ~0"
    lines = xcecli("job", "1")[1].splitlines()
    assert "  Re-runnable" in lines
    assert "  Requeue Exit Values <all ~0>" in lines
    code, _, err = xcecli("submit", "-Q", "1,2", "true")
    assert (code, err.splitlines()[0]) == (3, "-Q takes exit values. Job not submitted.")


def test_an_ended_job_is_requeued_in_the_words_of_lsf(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    live.put("job", 1, state="EXITED", exit=Exit(how="exited", code=3, reason="exit"))
    assert xcecli("requeue", "1") == (5, "", "Job <1>: Job has already finished\n")
    assert xcecli("requeue", "-d", "1") == (5, "", "Job <1>: Job has already finished\n")
    assert xcecli("requeue", "-e", "1") == (0, "Job <1> is being requeued\n", "")
    assert live.engine.state.jobs[1].state == "PENDING"
    assert xcecli("requeue", "-a", "1") == (5, "", "Job <1>: Job has not started yet\n")


def test_a_requeued_job_may_be_held_and_told_as_json(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    live.put("job", 1, state="DONE")
    code, out, _ = xcecli("requeue", "--json", "-a", "-H", "1")
    told = json.loads(out)
    assert (code, told[0]["job"], told[0]["state"]) == (0, "1", "HELD")


def test_what_cannot_be_requeued_gives_its_code_and_the_rest_goes_on(
    live: Live, xcecli: Cli
) -> None:
    xcecli("submit", "true")
    live.put("job", 1, state="DONE")
    assert xcecli("requeue", "-d", "99", "1") == (
        4,
        "Job <1> is being requeued\n",
        "Job <99>: No matching job found\n",
    )
    code, _, err = xcecli("requeue", "g1")
    assert (code, err) == (3, "Group <g1>: requeue is for jobs, not for gangs\n")
