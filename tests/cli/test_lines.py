"""Command lines against a served engine: the very text, and the exit codes."""

import json
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
from xce.model.job import Exit
from xce.model.placing import Share
from xce.model.start import Allocation
from xcecli import say
from xcecli.commands.jobs import fact_text

Cli = Callable[..., Told]
ME = pwd.getpwuid(os.getuid()).pw_name
START = 1_700_000_000


def test_submit_says_what_lsf_says(live: Live, xcecli: Cli) -> None:
    assert xcecli("submit", "sleep", "60") == (
        0,
        "Job <1> is submitted to default queue <normal>.\n",
        "",
    )
    assert xcecli("submit", "-q", "normal", "sleep", "60") == (
        0,
        "Job <2> is submitted to queue <normal>.\n",
        "",
    )
    assert xcecli("submit", "--id", "true") == (0, "3\n", "")
    code, out, _ = xcecli("submit", "--json", "true")
    assert (code, json.loads(out)["job"]) == (0, "4")


def test_a_submission_carries_directory_environment_and_umask(
    live: Live, xcecli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLOUR", "red")
    monkeypatch.setenv("SECRET", "x")
    before = os.umask(0o027)
    xcecli("submit", "--env", "all,~SECRET,MODE=fast", "-n", "3", "-o", "o.%J", "printenv")
    os.umask(before)
    spec = live.engine.state.specs[live.engine.state.jobs[1].spec]
    env = live.engine.state.texts[spec.environment].decode().split("\0")
    assert "COLOUR=red" in env
    assert "MODE=fast" in env
    assert not [part for part in env if part.startswith("SECRET=")]
    assert (spec.cwd, spec.umask, spec.tasks, spec.stdout) == (str(tmp_path), 0o027, 3, "o.%J")


def test_refusals_of_a_submission(live: Live, xcecli: Cli) -> None:
    assert xcecli("submit", "-q", "nope", "true") == (
        3,
        "",
        "nope: No such queue. Job not submitted.\nhint: queues here: normal, night, shut\n",
    )
    code, _, err = xcecli("submit", "-R", "select[mem>4] rusage[memm=4]", "true")
    assert code == 3
    assert err.splitlines()[1:3] == [
        "  select[mem>4] rusage[memm=4]",
        "                       ^",
    ]
    assert xcecli("submit", "--hom", "true")[0] == 2
    assert live.engine.state.jobs == {}


def test_jobs_are_listed_as_lsf_lists_them(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "a_long_job_name", "sleep", "60")
    share = Share(host="n1", tasks=4)
    granted = Allocation(number=1, job=1, attempt=1, shares=(share,), launches=(), generation=1)
    live.engine.state.put("allocation", 1, granted)
    live.put("job", 1, state="RUNNING", allocation=1, submit_us=START * 1_000_000)
    assert xcecli("jobs") == (
        0,
        (
            "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"
            f"1       {ME:<7} RUN   normal     -           4*n1        *_job_name Nov 14 22:13\n"
        ),
        "",
    )
    wide = xcecli("jobs", "-w")[1].splitlines()[1]
    assert wide.split() == [
        "1", ME, "RUN", "normal", "-", "4*n1", "a_long_job_name", "Nov", "14", "22:13"
    ]  # fmt: skip
    assert json.loads(xcecli("jobs", "--json")[1])["items"][0]["hosts"][0]["host"] == "n1"


def test_an_empty_list_is_talk_and_no_failure(live: Live, xcecli: Cli) -> None:
    assert xcecli("jobs") == (0, "", "No unfinished job found\n")
    assert xcecli("jobs", "-p") == (0, "", "No pending job found\n")
    assert xcecli("jobs", "-a") == (0, "", "No job found\n")
    assert xcecli("jobs", "99") == (4, "", "Job <99>: No matching job found\n")


def test_kill_tries_all_and_fails_by_the_first(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "sleep", "60")
    assert xcecli("kill", "99", "1") == (
        4,
        "Job <1> is being terminated\n",
        "Job <99>: No matching job found\n",
    )
    assert xcecli("kill", "1") == (5, "", "Job <1>: Job has already finished\n")
    assert xcecli("kill")[0] == 2


@pytest.mark.parametrize(
    ("ended", "state", "code"),
    [
        (Exit(how="exited", code=0), "DONE", 0),
        (Exit(how="exited", code=3), "EXITED", 3),
        (Exit(how="signalled", code=9), "EXITED", 137),
        (Exit(how="lost", reason="host_lost"), "EXITED", 125),
    ],
)
def test_wait_exits_with_the_jobs_code(
    live: Live, xcecli: Cli, ended: Exit, state: str, code: int
) -> None:
    xcecli("submit", "true")
    live.put("job", 1, state=state, exit=ended)
    assert xcecli("wait", "1")[0] == code


def test_wait_gives_up_with_its_own_code(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    code, _, err = xcecli("wait", "--timeout", "0.05", "1")
    assert (code, err) == (125, "Job <1> has not ended in time\n")
    assert xcecli("wait", "99")[0] == 125


def test_submit_and_wait_keeps_stdout_free(live: Live, xcecli: Cli) -> None:
    import threading
    import time

    def end() -> None:
        while 1 not in live.engine.state.jobs:
            time.sleep(0.01)
        live.put("job", 1, state="EXITED", exit=Exit(how="exited", code=7))

    thread = threading.Thread(target=end)
    thread.start()
    told = xcecli("submit", "--wait", "true")
    thread.join()
    assert told == (7, "", "Job <1> is submitted to default queue <normal>.\n")


def test_job_explain_and_history(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-R", "rusage[mem=1GB]", "sleep", "60")
    code, out, _ = xcecli("job", "1")
    first = out.splitlines()[0]
    assert (code, first) == (
        0,
        (
            f"Job <1>, Job Name <sleep 60>, User <{ME}>, Status <PEND>, Queue <normal>, "
            "Job Priority <50>, Command <sleep 60>"
        ),
    )
    assert xcecli("explain", "1")[1].splitlines() == [
        "Job <1> is PEND",
        "  needs 8 gpu on one host; best host n1 has 6 free",
        "  hosts: 2 x short of gpu",
        "  in the order: 0 before it, 1 wait",
    ]
    xcecli("kill", "1")
    lines = xcecli("history", "1")[1].splitlines()
    assert lines[0].split() == ["LSN", "TIME", "KIND", "ACTOR", "CAUSE", "CHANGE", "FACTS"]
    assert [line.split()[0] for line in lines[1:]] == ["3", "4"]
    assert "kill>EXITED" in lines[2]
    assert lines[2].endswith("job=1 reason=user")


def test_an_ended_job_is_explained_by_how_it_ended(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "sleep", "9")
    xcecli("kill", "1")
    first, second = xcecli("explain", "1")[1].splitlines()
    assert first == "Job <1> is EXIT"
    assert second.endswith(": Ended without a code: killed.")


def test_moments_among_the_facts_of_a_record_are_times_of_day() -> None:
    noon_us = 1_796_040_000_123_456
    assert fact_text("started_us", noon_us) == f"started={say.exactly(noon_us)[11:]}"
    assert fact_text("grace_us", 5_000_000) == "grace_us=5000000"
    assert fact_text("job", 3) == "job=3"


def test_hosts_queues_and_instances(live: Live, xcecli: Cli) -> None:
    live.engine.add_host("n1")
    live.put("host", "n1", liveness="UP")
    head, line = xcecli("hosts")[1].splitlines()
    row = line.split()
    assert head == "HOST_NAME STATUS LIVENESS MAX NJOBS RUN SSUSP USUSP MEM    INSTANCES DOMAINS"
    assert row == ["n1", "ok", "UP", "4", "0", "0", "0", "0", "0B/8GB", "0/2", "nvlink=n1-nv"]
    assert [line.split()[2] for line in xcecli("queues")[1].splitlines()] == [
        "STATUS",
        "Open:Active",
        "Open:Inact",
        "Closed:Active",
    ]
    rows = xcecli("instances", "--type", "gpu")[1].splitlines()[1:]
    assert [row.split()[:5] for row in rows] == [
        ["n1", "gpu", "0", "PRESENT", "-"],
        ["n1", "gpu", "1", "PRESENT", "-"],
    ]
    assert xcecli("instances", "--host", "n9") == (0, "", "No instance found\n")
    assert xcecli("claim", "list") == (0, "", "No claim found that is not released\n")
    assert xcecli("claim", "show", "c7")[0] == 4


def test_logs_print_the_output_and_say_when_there_is_none(
    live: Live, xcecli: Cli, tmp_path: Path
) -> None:
    xcecli("submit", "true")
    assert xcecli("logs", "1") == (0, "", "Job <1>: Not yet started.\n")
    live.put("job", 1, state="DONE")
    assert xcecli("logs", "1") == (
        1,
        "",
        f"Job <1>: the output is not here: {tmp_path}/xce-1.out\n",
    )
    (tmp_path / "xce-1.out").write_text("hello\n")
    assert xcecli("logs", "1") == (0, "hello\n", "")
    assert xcecli("logs", "-f", "1") == (0, "hello\n", "")


def test_unreachable_is_one_clear_line(
    xcecli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XCE_HOME", str(tmp_path))
    code, out, err = xcecli("jobs")
    assert (code, out) == (6, "")
    assert err.splitlines()[0] == (
        f"No controller answers at {tmp_path}/api.sock: No such file or directory"
    )


def test_tcp_needs_the_token_and_works_with_it(
    live: Live, xcecli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{live._service.port}"
    assert xcecli("jobs", "--url", url)[0] == 0
    monkeypatch.setenv("XCE_TOKEN", "wrong")
    assert xcecli("jobs", "--url", url)[0] == 7


def test_a_misspelt_command_is_answered_with_the_nearest(xcecli: Cli) -> None:
    code, _, err = xcecli("jbos")
    assert code == 2
    assert "Did you mean 'jobs'?" in err
    code, _, err = xcecli("group", "sumbit")
    assert code == 2
    assert "Did you mean 'submit'?" in err
    code, _, err = xcecli("group", "lint", "--jsn", "x")
    assert code == 2
    assert "Did you mean '--json'?" in err
