"""Scripts with #BSUB lines: what is taken, what is told, what is refused."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
from xcecli.line.requirements import joined
from xcecli.say import Failure
from xcecli.script import embedded

Cli = Callable[..., Told]

SCRIPT = """#!/bin/sh
#BSUB -J build   # the name
#BSUB -n 4 -q normal
# BSUB -R "rusage[mem=1GB]" -R 'span[hosts=1]'
echo one
#BSUB -oo out.%J \\
#BSUB -e err.%J
#BSUB -W 1:00 -B -P proj
echo two
"""


def test_options_are_read_from_the_whole_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert embedded(SCRIPT) == {
        "name": "build",
        "tasks": 4,
        "queue": "normal",
        "resreq": ["rusage[mem=1GB] span[hosts=1]"],
        "stdout": "out.%J",
        "stderr": "err.%J",
        "anew": ["stdout"],
        "project": "proj",
        "run_limit_us": 3_600_000_000,
    }
    assert capsys.readouterr().err.splitlines() == [
        "warning: script line 6: it stands behind the first command and is read all the same",
        "warning: script line 8: -B (mail at its start) is kept but not acted on yet",
    ]


def test_a_script_comes_from_stdin_and_the_command_line_wins(
    live: Live, xcecli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    assert xcecli("submit", "-n", "2")[:2] == (0, "Job <1> is submitted to queue <normal>.\n")
    job = live.engine.state.jobs[1]
    spec = live.engine.state.specs[job.spec]
    assert (job.name, spec.tasks, spec.command) == ("build", 2, ())
    assert live.engine.state.texts[spec.script].decode() == SCRIPT


def test_a_script_comes_from_a_file(live: Live, xcecli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("echo hello\n")
    assert xcecli("submit", "--script", "job.sh")[0] == 0
    assert live.engine.state.jobs[1].name == "job.sh"
    assert xcecli("submit", "--script", "none.sh")[0] == 2


def test_a_file_with_options_is_submitted_as_a_script_and_with_arguments_in_place(
    live: Live, xcecli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#BSUB -n 3 -q normal\necho $1\n")
    (tmp_path / "plain.sh").write_text("echo hello\n")
    assert xcecli("submit", "./job.sh")[0] == 0
    assert xcecli("submit", "-n", "2", "./job.sh", "-x", "a")[0] == 0
    assert xcecli("submit", "./plain.sh")[0] == 0
    jobs = [live.engine.state.jobs[number] for number in (1, 2, 3)]
    specs = [live.engine.state.specs[job.spec] for job in jobs]
    assert [(spec.tasks, spec.command, bool(spec.script)) for spec in specs] == [
        (3, (), True),
        (2, ("./job.sh", "-x", "a"), False),
        (1, ("./plain.sh",), False),
    ]
    assert jobs[0].name == "job.sh"


_UNTOLD = "not honoured together with a compound or alternative requirement yet"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#BSUB -J "open\n', 'script line 1: the quote " is not closed. Job not submitted.'),
        (
            "echo\n#BSUB -n many\n",
            "script line 2: -n takes a number of tasks, not 'many'. Job not submitted.",
        ),
        (
            "#BSUB -queue normal\n",
            "script line 1: no option is called '-queue'. Job not submitted.",
        ),
        (
            "#BSUB -n 4 -gpu num=1 -R 1*{span[hosts=1]}+3*{span[ptile=1]}\n",
            f"script line 1: -gpu: {_UNTOLD}. Job not submitted.",
        ),
    ],
)
def test_a_bad_line_is_refused_with_its_number(text: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        embedded(text)
    assert caught.value.message == message


def test_the_refusal_of_a_line_shows_it_with_a_caret_and_the_nearest_option() -> None:
    with pytest.raises(Failure) as caught:
        embedded("#!/bin/sh\n#BSUB -n 4 -queue normal\n")
    assert caught.value.lines == "  #BSUB -n 4 -queue normal\n             ^^^^^^"
    assert caught.value.hint == "did you mean `-q`?"


def test_gpus_of_a_script_become_part_of_its_requirement() -> None:
    text = '#BSUB -n 4 -gpu num=2/task -R "rusage[mem=1GB]" -H -sp 7 -cwd /tmp -env none\n'
    assert embedded(text) == {
        "tasks": 4,
        "held": True,
        "priority": 7,
        "cwd": "/tmp",
        "env": "none",
        "resreq": ["rusage[mem=1GB,ngpus_physical=2]"],
    }


SHARED = Path(os.environ.get("XCE_SHARED", "/none")) / "cases"


@pytest.mark.skipif(not SHARED.is_dir(), reason="XCE_SHARED names no folder of real inputs")
def test_real_scripts_are_read_or_refused_in_one_sentence() -> None:
    names = [
        json.loads(line)["file"] for line in (SHARED / "scripts.jsonl").read_text().splitlines()
    ]
    read, said = 0, []
    for name in names:
        path = SHARED / "scripts" / Path(name).name
        try:
            embedded(path.read_text(errors="replace"))
            read += 1
        except Failure as failure:
            said.append(failure.message)
    assert [one for one in said if not one.startswith("script line ")] == []
    assert read >= len(names) * 0.7


def test_several_requirements_of_the_command_line_are_merged() -> None:
    assert joined(["a", "b", "rusage[mem=1]"]) == "select[a && b] rusage[mem=1]"
    with pytest.raises(Failure) as caught:
        joined(["select[a]", "rsuage[mem=1]"])
    assert caught.value.message == (
        "Bad resource requirement, column 1: unknown section 'rsuage'. Job not submitted."
    )
    assert caught.value.lines == "  rsuage[mem=1]\n  ^^^^^^"
