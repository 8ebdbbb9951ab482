"""`jobgroup` with its families, `submit -g`, and what is asked of all jobs of a group."""

import json
from collections.abc import Callable

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]


def test_a_group_is_made_shown_changed_and_removed_with_lsfs_texts(live: Live, xcecli: Cli) -> None:
    assert xcecli("jobgroup") == (0, "", "No job group found\n")
    assert xcecli("jobgroup", "add", "-L", "5", "/a") == (0, "Job group </a> was added.\n", "")
    assert xcecli("jobgroup", "add", "/a/b") == (0, "Job group </a/b> was added.\n", "")
    xcecli("submit", "-g", "/a/b", "sleep", "60")
    xcecli("submit", "-H", "-g", "/c", "sleep", "60")
    live.put("job", 1, state="RUNNING")
    head, *rows = xcecli("jobgroup", "show")[1].splitlines()
    heads = "GROUP_NAME NJOBS PEND RUN SSUSP USUSP FINISH SLA JLIMIT OWNER"
    assert " ".join(head.split()) == heads
    assert [row.split()[:9] for row in rows] == [
        ["/a", "0", "0", "0", "0", "0", "0", "()", "1/5"],
        ["/a/b", "1", "0", "1", "0", "0", "0", "()", "1/-"],
        ["/c", "1", "1", "0", "0", "0", "0", "()", "0/-"],
    ]
    assert xcecli("jobgroup", "modify", "-L", "9", "/a")[1] == "Job group </a> is modified.\n"
    assert json.loads(xcecli("jobgroup", "show", "--json", "/a")[1])["items"][0]["limit"] == 9
    assert xcecli("jobgroup", "modify", "--no-limit", "/a")[0] == 0
    assert xcecli("jobgroup", "remove", "/a") == (
        5, "",
        "Job group </a> still has 1 job not ended\nhint: end them first: xcecli kill -g /a\n",
    )  # fmt: skip
    live.put("job", 1, state="DONE")
    assert xcecli("jobgroup", "remove", "/a") == (0, "Job group </a> is deleted.\n", "")
    assert list(live.engine.state.job_groups) == []


def test_what_is_wrong_is_told_in_one_line(live: Live, xcecli: Cli) -> None:
    code, _, err = xcecli("submit", "-g", "a", "true")
    assert code == 3
    assert err.startswith("Bad job group name: a job group begins with `/`")
    assert xcecli("jobgroup", "add", "-L", "x", "/a")[0] == 2
    assert xcecli("jobgroup", "modify", "/a")[0] == 2
    assert xcecli("jobgroup", "modify", "-L", "1", "/a") == (
        4, "", "Job group </a>: No such job group\n"
    )  # fmt: skip
    assert xcecli("jobgroup", "show", "/none")[0] == 4
    xcecli("jobgroup", "add", "-L", "2", "/a")
    assert xcecli("jobgroup", "add", "-L", "3", "/a/b") == (
        5, "", "Job group </a/b>: the limit 3 exceeds that of </a>, which is 2\n"
    )  # fmt: skip
    assert xcecli("kill", "-g", "/a") == (4, "", "No job of yours in job group </a>\n")


def test_all_jobs_of_a_group_are_suspended_resumed_killed_and_listed(
    live: Live, xcecli: Cli
) -> None:
    for path in ("/a", "/a/b", "/ab"):
        xcecli("submit", "-g", path, "sleep", "60")
    assert [row.split()[0] for row in xcecli("jobs", "-g", "/a")[1].splitlines()[1:]] == ["1", "2"]
    assert xcecli("suspend", "-g", "/a")[1].splitlines() == [
        "Job <1> is being stopped", "Job <2> is being stopped",
    ]  # fmt: skip
    assert [live.engine.state.jobs[key].state for key in (1, 2, 3)] == ["HELD", "HELD", "PENDING"]
    assert xcecli("resume", "-g", "/a/b", "0")[1] == "Job <2> is being resumed\n"
    assert xcecli("kill", "-g", "/a", "2")[1] == "Job <2> is being terminated\n"
    assert xcecli("kill", "-g", "/")[1].splitlines() == [
        "Job <1> is being terminated", "Job <3> is being terminated",
    ]  # fmt: skip
    assert "  Job Group </a/b>" in xcecli("job", "2")[1].splitlines()
