"""`submit -w`, what a waiting job shows, and `wait -w` with its exit codes."""

import json
import threading
import time
from collections.abc import Callable

from tests.cli.conftest import Live, Told
from xce.model.job import Exit

Cli = Callable[..., Told]


def ended(live: Live, key: int, code: int = 0) -> None:
    state = "DONE" if code == 0 else "EXITED"
    live.put("job", key, state=state, exit=Exit(how="exited", code=code))


def test_a_job_waits_and_shows_each_part_of_what_it_waits_for(live: Live, xcecli: Cli) -> None:
    for _ in range(2):
        xcecli("submit", "-J", "prep", "sleep", "60")
    ended(live, 1)
    said = xcecli("submit", "-w", "done(prep) && !exit(1)", "sleep", "60")
    assert said == (0, "Job <3> is submitted to default queue <normal>.\n", "")
    shown = xcecli("job", "3")[1].splitlines()
    at = shown.index('  Dependency Condition <done("prep") && !exit(1)>')
    assert shown[at + 1 : at + 4] == [
        "    done(1): holds",
        "    done(2): waits (job 2 is PENDING)",
        "    exit(1): never (job 1 is done)",
    ]
    told = json.loads(xcecli("job", "--json", "3")[1])["dependency"]
    assert (told["verdict"], told["met_us"], len(told["conditions"])) == ("waits", None, 3)
    assert json.loads(xcecli("job", "--json", "1")[1])["dependency"] is None


def test_what_is_met_at_once_says_when(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    ended(live, 1, 3)
    xcecli("submit", "-w", "exit(1, 3)", "-ti", "sleep", "60")
    line = next(one for one in xcecli("job", "2")[1].splitlines() if "Dependency" in one)
    assert line.startswith("  Dependency Condition <exit(1, 3)>, met at 2023-11-14 ")
    job = live.engine.state.jobs[2]
    assert live.engine.state.specs[job.spec].end_if_impossible


def test_a_script_brings_its_dependency_along(live: Live, xcecli: Cli, tmp_path: object) -> None:
    xcecli("submit", "-J", "prep", "sleep", "60")
    with open("job.sh", "w") as file:
        file.write("#!/bin/sh\n#BSUB -w 'ended(prep)'\ndate\n")
    code, out, err = xcecli("submit", "job.sh")
    assert (code, out, err) == (0, "Job <2> is submitted to default queue <normal>.\n", "")
    assert live.engine.state.jobs[2].after_ids == "ended(1)"


def test_what_cannot_be_waited_for_is_refused_with_its_place(live: Live, xcecli: Cli) -> None:
    assert xcecli("submit", "-w", "done(99)", "true") == (3, "", (
        "99: No matching job found. Job not submitted.\n"
        "  done(99)\n       ^\n"
        "hint: names mean your own jobs that have not been cleaned up; ids mean any job\n"
    ))  # fmt: skip
    code, _, err = xcecli("submit", "-w", "done(1", "true")
    assert (code, err.splitlines()[0]) == (
        3, "Dependency condition syntax error: `)` is missing. Job not submitted."
    )  # fmt: skip
    assert not live.engine.state.jobs


def test_waiting_for_a_condition_exits_as_it_turns_out(live: Live, xcecli: Cli) -> None:
    for _ in range(2):
        xcecli("submit", "sleep", "60")
    ended(live, 1, 3)
    assert xcecli("wait", "-w", "exit(1, 3)") == (0, "", "")
    assert xcecli("wait", "-w", "done(1)") == (
        1, "",
        "Wait condition is never satisfied\n    done(1): never (job 1 ended with exit code 3)\n",
    )  # fmt: skip
    began = time.monotonic()
    assert xcecli("wait", "-w", "done(2)", "-t", "0.005") == (
        125, "", "Wait condition: timeout\n    done(2): waits (job 2 is PENDING)\n"
    )  # fmt: skip
    assert 0.2 < time.monotonic() - began < 5, "0.005 minutes are 0.3 s"
    assert xcecli("wait", "-w", "done(7)")[0] == 3
    assert xcecli("wait", "-w", "done(1)", "2")[0] == 2
    assert xcecli("wait")[0] == 2


def test_a_condition_comes_true_while_it_is_waited_for(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "one", "sleep", "60")
    threading.Timer(0.3, ended, (live, 1)).start()
    code, out, _ = xcecli("wait", "-w", "done(one)", "--timeout", "20", "--json")
    told = json.loads(out)
    assert (code, told["verdict"], told["text"]) == (0, "holds", 'done("one")')


def test_a_condition_may_name_what_left_the_state(live: Live, xcecli: Cli) -> None:
    live.engine.retired["12"] = {
        "job": {
            "key": 12, "spec": "s", "owner": 0, "queue": "normal", "priority": 50,
            "state": "EXITED", "submit_us": 1, "exit": {"how": "exited", "code": 5},
        }
    }  # fmt: skip
    assert xcecli("wait", "-w", "exit(12, 5)")[0] == 0
    assert xcecli("wait", "-w", "done(12)")[0] == 1
