"""The collected command lines read as they should, and `xcecli submit` takes them."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.cli.conftest import Live, Told
from xce.model.config import ApplicationConfig, QueueConfig, TypeConfig
from xce.resreq.options.bsub import BSUB, Support
from xce.resreq.options.script import read_command_line

Cli = Callable[..., Told]
EXPECTED = Path(__file__).parent / "expected" / "cmdlines.txt"
# What refuses a line here, and why that is right: its user group, or whom it waits for, is not
# there; one `=` compares nothing; -n says another number of tasks than the terms do.
REFUSED = {
    "cl012": "group1", "cl003": "gdswzd", "cl015": "setup", "cl022": "select[ ]",
    "cl025": "-n",
}  # fmt: skip


TYPES = (
    *(
        TypeConfig(name=name, layer="attribute", kind="boolean")
        for name in ("hpux", "aws", "LN", "CN")
    ),
    TypeConfig(name="pool", layer="attribute"),
    TypeConfig(name="gpu_model0", layer="attribute", kind="string"),
    TypeConfig(name="gpumodel", layer="attribute", kind="string"),
)
"""What the lines' sites had."""


def expected() -> dict[str, list[str]]:
    blocks = EXPECTED.read_text().split("\n\n")[1:]
    return {lines[0]: lines[1:] for lines in (block.strip().split("\n") for block in blocks)}


def lines() -> dict[str, str]:
    path = Path(os.environ.get("XCE_SHARED", "")) / "cases" / "cmdlines.jsonl"
    if not path.is_file():
        pytest.skip("XCE_SHARED IS NOT SET: the collected command lines were not tested")
    found = (json.loads(line) for line in path.read_text().splitlines())
    return {one["id"]: one["cmd"] for one in found}


def told(cmd: str) -> list[str]:
    """How a command line is read, in the words of the expected files."""
    reading = read_command_line(shlex.split(cmd)[1:])
    found = []
    for given in reading.options:
        means = f" => {given.means or '?'}" if given.means != given.value else ""
        found.append(f"option {given.option} {given.value}".rstrip() + means)
    found += [f"resreq {reading.resreq}"] if reading.resreq else []
    found += [f"word {word}" for word in reading.command]
    return found + [f"error {one.message}" for one in reading.errors]


@pytest.mark.parametrize("name", expected())
def test_a_collected_command_line_is_read_as_it_should(name: str) -> None:
    reading = read_command_line(shlex.split(lines()[name])[1:])
    assert told(lines()[name]) == expected()[name]
    named = " ".join(one.message for one in reading.warnings if one.code == "not_honoured")
    for given in reading.options:
        if BSUB[given.option].support is not Support.HONOURED:
            assert f"{given.option} (" in named, "what is not acted on is named"


def test_every_collected_line_that_submits_has_an_expected_reading() -> None:
    assert {name for name, cmd in lines().items() if cmd.startswith("bsub ")} == set(expected())


@pytest.mark.parametrize("name", expected())
def test_a_collected_command_line_is_taken_by_xcecli(
    live: Live, xcecli: Cli, name: str, tmp_path: Path
) -> None:
    words = shlex.split(lines()[name])[1:]
    config = live.engine.state.config
    queue = words[words.index("-q") + 1] if "-q" in words else ""
    more = (QueueConfig(name=queue),) if queue and config.queue(queue) is None else ()
    queues = (structs.replace(one, exclusive="Y") for one in (*config.queues, *more))
    profile = ApplicationConfig(name="prof1")
    changed = structs.replace(
        config,
        queues=tuple(queues),
        applications=(*config.applications, profile),
        types=(*config.types, *TYPES),
    )
    live.put("setting", "config", config=changed)
    words = [word for word in words if word != "-K"]
    code, out, err = xcecli("submit", *words)
    if name in REFUSED:
        assert (code, REFUSED[name] in err) == (3, True), err
        return
    assert code == 0, err
    assert out.splitlines()[0].startswith("Job <1> is submitted to ")
    spec = live.engine.state.specs[live.engine.state.jobs[1].spec]
    command = [line.removeprefix("word ") for line in expected()[name] if line[:5] == "word "]
    assert list(spec.command) == command


def test_what_a_line_asks_for_is_in_the_job(live: Live, xcecli: Cli) -> None:
    def job(cmd: str) -> tuple[Any, Any]:
        code, _, err = xcecli("submit", *shlex.split(cmd))
        assert code == 0, err
        found = live.engine.state.jobs[max(live.engine.state.jobs)]
        return found, live.engine.state.specs[found.spec]

    _, spec = job("-We 0:59 -M 26 -oo log.txt cmd1 -f 0.0002 -G GRCh37 -b x.bam")
    assert (spec.run_estimate_us, spec.run_limit_us) == (59 * 60_000_000, 0)
    assert (spec.mem_limit_bytes, spec.stdout, spec.begin_us) == (26 << 20, "log.txt", 0)
    _, spec = job('-r -Q "all ~0" -J rerun ./flaky.sh')
    assert (spec.rerunnable, spec.requeue_exits, spec.name) == (True, "all ~0", "rerun")
    found, spec = job("-H -J held true")
    assert (found.state, spec.name) == ("HELD", "held")
    _, spec = job("-b 20:00 -t 6:00 nightly.sh")
    assert 0 < spec.terminate_us - spec.begin_us < 24 * 3600 * 1_000_000
    found, spec = job('-n 4 -R "span[hosts=1]" -sp 80 "export A=1; ./runall.ksh"')
    assert (spec.tasks, found.priority) == (4, 80)
    assert spec.command == ("export A=1; ./runall.ksh",)


@pytest.mark.parametrize("cmd", ["kill -d 5322993"])
def test_what_only_newer_versions_know_is_a_usage_error(live: Live, xcecli: Cli, cmd: str) -> None:
    assert xcecli(*cmd.split())[0] == 2


def test_gpus_per_host_are_asked_for_whatever_the_tasks_are(live: Live, xcecli: Cli) -> None:
    """`-gpu num=N` is per host: also where the tasks do not divide, or nobody said how they lie."""
    for words, per_host, per_task in (
        ('-n 6 -gpu num=1 -R "span[ptile=6]" ./x', 1, 0),
        ("-n 4 -gpu num=2 ./x", 2, 0),
        ('-n 4 -gpu num=2 -R "span[ptile=2]" ./x', 0, 1),
        ("-n 4 -gpu num=2/task ./x", 0, 2),
        ("-gpu - ./x", 0, 1),
    ):
        code, _, err = xcecli("submit", *shlex.split(words))
        assert code == 0, err
        spec = live.engine.state.specs[live.engine.state.jobs[max(live.engine.state.jobs)].spec]
        (gpus,) = spec.need.instances
        assert (gpus.type, gpus.per, gpus.count_per_task) == (
            "gpu", "task" if per_task else "host", per_task or per_host,
        )  # fmt: skip


MORE = Path(__file__).parent / "expected" / "more_cmdlines.txt"


def more() -> dict[str, list[str]]:
    blocks = MORE.read_text().split("\n\n")[1:]
    return {lines[0]: lines[1:] for lines in (block.strip().split("\n") for block in blocks)}


def test_there_are_at_least_forty_more() -> None:
    assert len(more()) >= 40


@pytest.mark.parametrize("cmd", more())
def test_a_line_of_the_same_kinds_is_read_as_it_should(cmd: str) -> None:
    assert told(cmd) == more()[cmd]
