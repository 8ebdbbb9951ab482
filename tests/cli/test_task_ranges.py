"""A range of tasks on the command line, in a script and in a change."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Live, Told
from xce.model.placing import Share
from xce.model.start import Allocation

Cli = Callable[..., Told]


def asked(live: Live, key: int) -> tuple[int, int]:
    spec = live.engine.state.specs[live.engine.state.jobs[key].spec]
    return spec.tasks, spec.tasks_max


def test_a_range_is_said_in_every_way_that_a_number_is(
    live: Live, xcecli: Cli, tmp_path: Path
) -> None:
    xcecli("submit", "-n", "2,8", "true")
    xcecli("submit", "--tasks=2,8", "true")
    xcecli("submit", "-oo", "out", "-n2,8", "true")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#BSUB -n 2,8\ntrue\n")
    xcecli("submit", "--script", str(script))
    xcecli("submit", "-n", "3", "--script", str(script))
    assert [asked(live, key) for key in (1, 2, 3, 4, 5)] == [(2, 8)] * 4 + [(3, 0)]
    xcecli("modify", "-n", "4", "1")
    xcecli("modify", "-n", "1,3", "5")
    xcecli("modify", "-nn", "4")
    assert [asked(live, key) for key in (1, 5, 4)] == [(4, 0), (1, 3), (1, 0)]


def test_what_is_no_range_is_refused(live: Live, xcecli: Cli) -> None:
    for text in ("8,2", "2,", ",2", "2,x", "0,4"):
        code, _, err = xcecli("submit", "-n", text, "true")
        assert code in (2, 3), text
        assert err, text
    assert live.engine.state.jobs == {}


def test_a_range_is_shown_with_what_was_granted(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-n", "2,8", "true")
    assert ", from 2 to 8 Task(s)" in xcecli("job", "1")[1]
    assert "  takes from 2 to 8 tasks: it starts with as many as fit" in xcecli("explain", "1")[1]
    share = Share(host="n1", tasks=6)
    granted = Allocation(number=1, job=1, attempt=1, shares=(share,), launches=(), generation=1)
    live.engine.state.put("allocation", 1, granted)
    live.put("job", 1, state="RUNNING", allocation=1)
    assert ", 6 (of 2 to 8) Task(s)" in xcecli("job", "1")[1]
    assert " 6 " in next(line for line in xcecli("queues")[1].splitlines() if "normal" in line)
