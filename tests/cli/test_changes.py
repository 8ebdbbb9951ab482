"""modify, switch, top, bottom and -M on the command line: what is asked, said, shown."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]
MINUTE_US = 60_000_000


def spec_of(live: Live, job: int = 1) -> Any:
    return live.engine.state.specs[live.engine.state.jobs[job].spec]


def test_options_of_a_submission_change_a_job(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "old", "true")
    line = ["-W", "1:30", "-n", "4", "-J", "new", "-R", "rusage[mem=1GB]", "-R", "span[hosts=1]"]
    assert xcecli("modify", *line, "-Q", "3", "-r", "1") == (
        0, "Parameters of job <1> are being changed\n", "",
    )  # fmt: skip
    spec = spec_of(live)
    assert (spec.run_limit_us, spec.tasks, spec.name) == (90 * MINUTE_US, 4, "new")
    assert (spec.resreq, spec.requeue_exits) == ("rusage[mem=1GB] span[hosts=1]", "3")
    assert spec.rerunnable is True
    assert xcecli("modify", "-n", "4", "1") == (
        0, "Parameters of job <1> are as asked already\n", "",
    )  # fmt: skip


def test_an_option_with_an_n_behind_it_puts_it_back(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-W", "5", "-n", "4", "-o", "out", "-P", "p", "-b", "2040:1:1:1:01", "true")
    assert xcecli("modify", "-Wn", "-nn", "-on", "-Pn", "-bn", "1")[0] == 0
    spec = spec_of(live)
    assert (spec.run_limit_us, spec.tasks, spec.stdout, spec.project) == (0, 1, "", "")
    assert (spec.begin_us, live.engine.state.jobs[1].not_before_us) == (0, 0)


def test_minus_rn_means_not_rerunnable_as_in_a_submission(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-r", "true")
    xcecli("modify", "-rn", "1")
    assert spec_of(live).rerunnable is False


def test_a_value_that_ends_in_n_is_a_value(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    assert xcecli("modify", "-J", "-Wn", "1")[0] != 0
    assert xcecli("modify", "-J", "run", "1")[0] == 0
    assert live.engine.state.jobs[1].name == "run"


def test_jobs_and_options_may_be_mixed_and_all_jobs_are_tried(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    xcecli("submit", "true")
    code, out, err = xcecli("modify", "1", "-W", "5", "99", "2")
    assert (code, err) == (4, "Job <99>: No matching job found\n")
    assert out == (
        "Parameters of job <1> are being changed\nParameters of job <2> are being changed\n"
    )


def test_changes_that_cannot_be_are_refused_with_the_place(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    code, _, err = xcecli("modify", "-R", "rusage[memm=1GB", "1")
    assert code == 3
    assert "rusage" in err
    code, _, err = xcecli("modify", "-W", "soon", "1")
    assert (code, err.splitlines()[0]) == (
        3, "-W: a limit is [hours:]minutes, not 'soon'. Nothing was changed.",
    )  # fmt: skip
    assert xcecli("modify", "1")[0] == 2
    assert xcecli("modify", "-W", "5")[0] == 2
    assert xcecli("modify", "-zz", "5", "1")[0] == 2
    assert xcecli("modify", "-W", "5", "g1")[0] == 3


def test_changes_are_told_as_json(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    code, out, _ = xcecli("modify", "--json", "-sp", "70", "1")
    told = json.loads(out)
    assert (code, told[0]["job"], told[0]["changed"]) == (0, "1", ["priority"])


def test_a_job_is_switched_in_the_words_of_lsf(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    assert xcecli("switch", "night", "1") == (0, "Job <1> is switched to queue <night>\n", "")
    assert live.engine.state.jobs[1].queue == "night"
    assert xcecli("switch", "night", "1") == (
        5, "", "Job <1>: Job is already in queue <night>\n",
    )  # fmt: skip
    assert xcecli("switch", "shut", "1")[0] == 3
    code, _, err = xcecli("switch", "nope", "1")
    assert (code, err.splitlines()[0]) == (3, "nope: No such queue.")


def test_jobs_are_moved_in_the_words_of_lsf(live: Live, xcecli: Cli) -> None:
    for _ in range(3):
        xcecli("submit", "true")
    assert xcecli("top", "3") == (0, "Job <3> has been moved to position 1 from top.\n", "")
    assert xcecli("bottom", "1", "2") == (
        0, "Job <1> has been moved to position 2 from bottom.\n", "",
    )  # fmt: skip
    assert [key for _, key, _ in live.engine.state.index.pending.walk()] == [3, 1, 2]
    assert xcecli("top", "1", "x")[0] == 2
    assert xcecli("top", "1", "0")[0] == 3


@pytest.mark.parametrize("text", ["8192", "8GB", "8192MB!"])
def test_a_memory_limit_is_in_megabytes_unless_it_says_otherwise(
    live: Live, xcecli: Cli, text: str
) -> None:
    assert xcecli("submit", f"-M{text}", "true")[0] == 0
    assert spec_of(live).mem_limit_bytes == 8 << 30


def test_the_limit_of_an_array_is_changed_as_bmod_does(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "a[1-9]%2", "true")
    assert xcecli("modify", "-J", "%5", "1") == (
        0, "Parameters of job <1> are being changed\n", "",
    )  # fmt: skip
    assert live.engine.state.arrays[1].limit == 5
