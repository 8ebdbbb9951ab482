"""Job arrays by the command: LSF's texts, counts, ranges, and what is refused."""

import json
from collections.abc import Callable

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]


def _ids(told: Told) -> list[str]:
    return [row.split()[0] for row in told[1].splitlines()[1:]]


def test_an_array_is_one_submission_and_its_number_names_its_elements(
    live: Live, xcecli: Cli
) -> None:
    said = xcecli("submit", "-J", "sweep[1-3:2,7]%2", "sleep", "60")
    assert said == (0, "Job <1> is submitted to default queue <normal>.\n", "")
    assert xcecli("submit", "--id", "-J", "b[1-5]", "sleep", "60") == (0, "2\n", "")
    assert _ids(xcecli("jobs", "1")) == ["1[1]", "1[3]", "1[7]"]
    assert _ids(xcecli("jobs")) == ["1[1]", "1[3]", "1[7]", *(f"2[{i}]" for i in range(1, 6))]
    row = xcecli("jobs", "-w", "1[3]")[1].splitlines()[1].split()
    assert (row[0], row[2], row[6]) == ("1[3]", "PEND", "sweep[3]")
    assert _ids(xcecli("jobs", "-J", "sweep")) == ["1[1]", "1[3]", "1[7]"]
    assert xcecli("jobs", "--limit", "2", "2")[2] == "2 of 5 are shown; --limit shows more\n"


def test_arrays_are_listed_with_the_counts_of_lsf(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "sweep[1-10]%4", "sleep", "60")
    xcecli("submit", "sleep", "60")
    xcecli("kill", "1[1-3]")
    xcecli("suspend", "1[9,10]")
    lines = xcecli("jobs", "-A")[1].splitlines()
    assert " ".join(lines[0].split()) == (
        "JOBID ARRAY_SPEC OWNER NJOBS PEND DONE RUN EXIT SSUSP USUSP PSUSP"
    )
    (row,) = (line.split() for line in lines[1:])
    assert (row[0], row[1]) == ("1", "sweep[1-10]%4")
    assert row[3:] == ["10", "5", "0", "0", "3", "0", "0", "2"]
    assert xcecli("jobs", "-A", "1")[1].splitlines() == lines
    assert xcecli("jobs", "-A", "2") == (3, "", "Job <2> is no job array\n")
    told = json.loads(xcecli("jobs", "-A", "--json")[1])
    assert told["items"][0]["states"] == {"EXITED": 3, "HELD": 2, "PENDING": 5}


def test_ranges_are_killed_and_held_in_one_line_each(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "a[1-10]", "sleep", "60")
    assert xcecli("kill", "1[2-3]") == (0, "Job <1[2-3]> is being terminated\n", "")
    assert xcecli("suspend", "1[4]", "1[5-6]")[0] == 0
    assert _ids(xcecli("jobs", "-d", "1")) == ["1[2]", "1[3]"]
    assert xcecli("resume", "1") == (0, "Job <1> is being resumed\n", "")
    assert len(_ids(xcecli("jobs", "-p", "1"))) == 8
    assert xcecli("kill", "1[2]") == (5, "", "Job <1[2]>: Job has already finished\n")
    assert xcecli("kill", "1[11-12]") == (4, "", "Job <1[11-12]>: No matching job found\n")
    assert xcecli("kill", "1")[0] == 0
    assert xcecli("jobs", "-A")[2] == "No unfinished job found\n"
    assert xcecli("wait", "1")[0] == 1


def test_an_array_and_an_element_are_shown_whole(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "sweep[1-10]%4", "-o", "out.%J.%I", "sleep", "60")
    lines = xcecli("job", "1")[1].splitlines()
    assert lines[0].startswith("Job <1>, Job Name <sweep[1-10]%4>, User <")
    assert lines[2] == "  10 elements: 10 PEND; 4 may run at once"
    first = xcecli("job", "1[3]")[1].splitlines()
    assert first[0].startswith("Job <1[3]>, Job Name <sweep[3]>, User <")
    assert f"Output File <{live.home.parent}/out.1.3>" in first[1]
    assert xcecli("logs", "1[3]") == (0, "", "Job <1[3]>: Not yet started.\n")
    code, _, said = xcecli("logs", "1")
    assert (code, said.splitlines()[0]) == (
        2, "Job <1> is an array: each element has its own output"
    )  # fmt: skip
    assert len(xcecli("history", "1[3]")[1].splitlines()) == 2
    assert xcecli("explain", "1[3]")[1].splitlines()[0] == "Job <1[3]> is PEND"


def test_a_script_may_ask_for_an_array_and_nothing_is_said_about_it(
    live: Live, xcecli: Cli
) -> None:
    job = live.home.parent / "job.sh"
    job.write_text('#!/bin/sh\n#BSUB -J "sweep[1-4]%2"\n#BSUB -o out.%J.%I\necho $LSB_JOBINDEX\n')
    said = xcecli("submit", "--script", str(job))
    assert said == (0, "Job <1> is submitted to default queue <normal>.\n", "")
    array = live.engine.state.arrays[1]
    assert (array.name, array.text, array.limit) == ("sweep", "[1-4]%2", 2)


def test_a_wrong_array_name_is_refused_with_a_caret(live: Live, xcecli: Cli) -> None:
    code, out, said = xcecli("submit", "-J", "a[1-5]%x", "sleep", "60")
    assert (code, out) == (3, "")
    assert "Job array index error" in said
    assert "Job not submitted." in said
    assert "^" in said
    code, _, said = xcecli("submit", "-J", "a[1-1000001]", "sleep", "60")
    assert code == 3
    assert "Job array index too large: 1000001 is beyond 1000000" in said


def test_the_slot_limit_is_changed_as_in_lsf(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-J", "a[1-10]%2", "sleep", "60")
    assert xcecli("modify", "-J", "%5", "1") == (0, "Parameters of job <1> are being changed\n", "")
    assert live.engine.state.arrays[1].limit == 5
    same = (0, "Parameters of job <1> are as asked already\n", "")
    assert xcecli("modify", "-J", "%5", "1") == same
    assert xcecli("modify", "-J", "%0", "1")[0] == 0
    assert live.engine.state.arrays[1].limit == 0
    assert xcecli("modify", "-J", "%x", "1")[2].splitlines()[0] == (
        "Job array index error: the slot limit is a whole number behind the %"
    )
    assert xcecli("modify", "-J", "%5", "1[3]")[2] == (
        "Job <1[3]>: the limit is one of the whole array\n"
    )
    code, _, said = xcecli("modify", "-J", "b[1-20]", "1")
    assert (code, said.splitlines()[0]) == (3, "the indices of a job array cannot be changed")
    assert xcecli("modify", "-J", "renamed", "1")[0] == 0
    assert xcecli("jobs", "-w", "1[3]")[1].splitlines()[1].split()[6] == "renamed[3]"
