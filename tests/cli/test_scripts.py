"""Scripts with #BSUB lines: what is taken, what is told, what is refused."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
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
        "resreq": ["rusage[mem=1GB]", "span[hosts=1]"],
        "stdout": "out.%J",
        "stderr": "err.%J",
    }
    assert capsys.readouterr().err.splitlines() == [
        "warning: script line 8: -W 1:00 is not supported and is ignored",
        "warning: script line 8: -B is not supported and is ignored",
        "warning: script line 8: -P proj is not supported and is ignored",
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#BSUB -J "open\n', "script line 1: No closing quotation. Job not submitted."),
        ("echo\n#BSUB -n many\n", "script line 2: -n many: not a value of -n. Job not submitted."),
    ],
)
def test_a_bad_line_is_refused_with_its_number(text: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        embedded(text)
    assert caught.value.message == message


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
