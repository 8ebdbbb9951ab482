"""`xce sim run` as its users call it: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from xce.ops.main import main
from xce.ops.sim.running import first_difference
from xce.sim.results import COLUMNS, read_schedule
from xce.wal.export import import_lines
from xce.wal.memory import MemoryLog

TRACE = """\
; MaxProcs: 4
1 0 -1 10 2 -1 -1 2 10 -1 1 1
2 1 -1 5 4 -1 -1 4 5 -1 1 2
3 1 -1 9 2 -1 -1 2 9 -1 1 1
4 2 -1 broken
5 3 -1 0 1
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.swf"
    path.write_text(TRACE)
    return path


def xce(*words: object) -> Result:
    return CliRunner().invoke(main, ["sim", *map(str, words)])


def test_a_run_tells_its_numbers_and_what_it_left_out(trace: Path) -> None:
    done = xce("run", "--swf", trace, "--procs", 4)
    assert done.exit_code == 0, done.output
    assert "tiny.swf on 4 processors: easy, user estimates, cadence event" in done.output
    assert "wait_s              mean 3.0  p50 0.0  p95 9.0  p99 9.0  max 9.0" in done.output
    assert "left out            never_ran 1, broken_lines 1" in done.output
    assert "line 5: expected 18 fields, at least 5 of them, found 4" in done.output


def test_a_schedule_has_a_header_and_a_line_a_job(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = xce("run", "--swf", trace, "--procs", 4, "--schedule", out, "--json")
    told = json.loads(done.output)
    header, rows = read_schedule(out)
    assert rows == {1: ("0", "0", "10"), 2: ("1", "10", "15"), 3: ("1", "1", "10")}
    assert header == {name: str(value) for name, value in told["header"].items()}
    assert {"code", "trace_sha256", "config", "seed", "cadence"} <= header.keys()
    assert ",".join(COLUMNS) in out.read_text()
    assert told["metrics"]["backfilled_share"] == 0.333333


def test_the_log_of_a_run_is_a_log_like_any_other(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    told = json.loads(xce("run", "--swf", trace, "--procs", 4, "--log", out, "--json").output)
    log = MemoryLog(import_lines(out.read_bytes().splitlines(keepends=True)))
    assert (log.head().lsn, log.head().hash.hex()) == tuple(told["log_head"].values())
    assert {"JobSubmitted", "Planned", "LaunchEnded"} <= {record.kind for record in log.read(1)}
    assert "is there already" in xce("run", "--swf", trace, "--procs", 4, "--log", out).output


def test_what_cannot_be_asked_is_refused_with_one_sentence(trace: Path, tmp_path: Path) -> None:
    for words, told in (
        (("--swf", trace), "say which cluster"),
        (("--procs", 4), "say which trace"),
        (("--swf", trace, "--procs", 4, "--hosts", "2x2"), "say which cluster"),
        (("--swf", trace, "--hosts", "2y2"), "expected hosts like 100x8"),
        (("--swf", trace, "--procs", 4, "--strict"), "tiny.swf:5: expected 18 fields"),
        (("--swf", tmp_path / "none", "--procs", 4), "No such file"),
        (("--swf", trace, "--cluster", trace), "tiny.swf:1:"),
    ):
        done = xce("run", *words)
        assert done.exit_code == 3, (words, done.output)
        assert told in done.output
    assert xce("run", "--swf", trace, "--procs", 4, "--cadence", "often").exit_code == 2


def test_the_hosts_and_queues_of_a_file(trace: Path) -> None:
    cluster = Path(__file__).parents[2] / "examples/clusters/dgx-4.toml"
    told = json.loads(xce("run", "--swf", trace, "--cluster", cluster, "--json").output)
    assert told["metrics"]["jobs"] == 3
    assert told["header"]["processors"] == 32


def test_the_first_difference_of_two_logs_is_shown(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    one.write_text("head\nsame\nthis\n")
    other.write_text("head\nsame\nthat\n")
    assert first_difference(one, other) == "\n  this\n  that"
