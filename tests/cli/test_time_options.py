"""-W, -We, -b, -t on the command line: what is sent, what is said, what is shown."""

import json
import time
from collections.abc import Callable

import pytest

from tests.cli.conftest import Live, Told
from xcecli.line.moments import resolved, stamp

Cli = Callable[..., Told]
MINUTE_US = 60_000_000


def spec_of(live: Live, job: int = 1):
    return live.engine.state.specs[live.engine.state.jobs[job].spec]


@pytest.mark.parametrize(
    ("text", "minutes"), [("5", 5), ("0:05", 5), ("1:30", 90), ("24:00", 1440)]
)
def test_a_run_limit_is_hours_and_minutes(live: Live, xcecli: Cli, text: str, minutes: int) -> None:
    assert xcecli("submit", "-W", text, "true")[0] == 0
    assert spec_of(live).run_limit_us == minutes * MINUTE_US


def test_a_limit_for_a_host_counts_as_it_is_and_says_so(live: Live, xcecli: Cli) -> None:
    code, _, err = xcecli("submit", "-W", "10/hostA", "-We", "0:59", "true")
    assert (code, err) == (
        0,
        "warning: -W: minutes are minutes on every host, whatever the speed of hostA is\n",
    )
    assert spec_of(live).run_limit_us == 10 * MINUTE_US
    assert spec_of(live).run_estimate_us == 59 * MINUTE_US


def test_begin_and_termination_time_are_said_in_the_words_of_lsf(live: Live, xcecli: Cli) -> None:
    code, out, err = xcecli("submit", "-b", "2040:1:2:03:04", "-t", "2040:1:2:06:00", "true")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Job <1> is submitted to default queue <normal>.",
        "Job will be scheduled after 2040-01-02 03:04:00",
        "Job will be terminated by 2040-01-02 06:00:00",
    ]
    assert spec_of(live).begin_us == stamp((2040, 1, 2, 3, 4))
    assert spec_of(live).terminate_us == stamp((2040, 1, 2, 6, 0))
    assert live.engine.state.jobs[1].not_before_us == stamp((2040, 1, 2, 3, 4))
    told = json.loads(xcecli("job", "--json", "1")[1])
    assert told["begin_us"] == stamp((2040, 1, 2, 3, 4))
    assert "  Specified Start Time <2040-01-02 03:04:00>" in xcecli("job", "1")[1].splitlines()


def test_a_time_of_day_is_the_next_one() -> None:
    noon = stamp((2026, 11, 30, 12, 0))
    assert resolved({"begin": "20:00"}, noon) == {"begin_us": stamp((2026, 11, 30, 20, 0))}
    assert resolved({"terminate": "6:00"}, noon) == {"terminate_us": stamp((2026, 12, 1, 6, 0))}


def test_a_termination_time_that_is_past_is_refused(live: Live, xcecli: Cli) -> None:
    assert xcecli("submit", "-t", "2020:1:2:03:04", "true") == (
        3,
        "",
        "Bad termination time: the termination time is past. Job not submitted.\n",
    )
    assert live.engine.state.jobs == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-W", "soon"], "-W: a limit is [hours:]minutes, not 'soon'. Job not submitted."),
        (["-b", "25:00"], "-b takes a time, not '25:00'. Job not submitted."),
        (["-b", "2027:2:29:1:00"], "-b 2027:2:29:1:00: there is no such day. Job not submitted."),
    ],
)
def test_what_is_no_time_is_refused_with_what_it_should_be(
    live: Live, xcecli: Cli, words: list[str], said: str
) -> None:
    code, out, err = xcecli("submit", *words, "true")
    assert (code, out, err.splitlines()[0]) == (3, "", said)


def test_options_of_bsub_that_are_not_acted_on_are_named(live: Live, xcecli: Cli) -> None:
    code, out, err = xcecli("submit", "-c", "10", "-B", "--id", "sleep", "-W", "5")
    assert (code, out) == (0, "1\n")
    assert err.splitlines() == [
        "warning: -c (CPU time limit) is kept but not acted on yet",
        "warning: -B (mail at its start) is kept but not acted on yet",
    ]
    assert spec_of(live).command == ("sleep", "-W", "5")
    assert spec_of(live).run_limit_us == 0


def test_an_option_that_is_none_is_refused(live: Live, xcecli: Cli) -> None:
    code, _, err = xcecli("submit", "-walltime", "5", "true")
    assert code == 2
    assert err.splitlines() == [
        "no option is called '-walltime'. Job not submitted.",
        "hint: did you mean `-W`?",
    ]


def test_the_time_zone_of_the_user_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        summer, winter = stamp((2026, 7, 1, 12, 0)), stamp((2026, 12, 1, 12, 0))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert summer == 1_782_921_600_000_000  # 16:00 UTC
    assert winter == 1_796_144_400_000_000  # 17:00 UTC
