"""Logs decided again: frozen ones, those of random and crashing worlds, those of the simulator; and
changed decisions are found where they are."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.core.walk import play as walk
from tests.kit.words import job
from tests.kit.world import World
from tests.sim.test_world import one
from tests.sim.test_world import play as simulated
from xce.controller.core import commands as c
from xce.controller.core import decide
from xce.ops.main import main
from xce.sim.replay import Replayed, replay
from xce.sim.tape import Tape
from xce.wal.export import export_lines, import_lines
from xce.wal.memory import MemoryLog

FROZEN = sorted((Path(__file__).parents[1] / "replay").glob("*/*.jsonl"))


def of_file(path: Path) -> Replayed:
    return replay(MemoryLog(import_lines(path.read_bytes().splitlines(keepends=True))))


KNOWN = {
    "ReservationSet", "ReservationEnded", "JobChanged", "ReportRefused",
    "ClaimCreated", "ClaimDeleted", "ClaimRenewed", "ClaimLost", "ClaimReleased", "IslandPublished",
}  # fmt: skip
"""Records whose inputs are not in the log, or not read back from it: reservations in advance,
changed jobs, lies of hosts, what was asked of standalone claims."""


@pytest.mark.parametrize("log", FROZEN, ids=lambda log: f"{log.parent.name}-{log.stem}")
def test_a_frozen_log_is_decided_the_same_by_todays_code(log: Path) -> None:
    done = of_file(log)
    assert done.difference is None
    assert done.folded.keys() <= (KNOWN if log.parent.name >= "0.2.0" else set())
    assert done.records == len(log.read_bytes().split(b'"line":"record"')) - 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_log_of_a_random_world_is_decided_the_same(seed: int) -> None:
    world = walk(seed).world
    done = replay(world.writer.log)
    assert done.difference is None
    assert done.records == world.state.lsn
    assert done.folded.keys() <= KNOWN


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_the_log_of_a_controller_that_dies_again_and_again_is_decided_the_same(seed: int) -> None:
    world = walk(seed, crash_per_1000=25).world
    done = replay(world.writer.log)
    assert done.difference is None
    assert done.records == world.state.lsn
    assert done.folded.keys() <= KNOWN


def test_the_log_of_a_simulation_is_decided_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    jobs = [one(n, n % 7, 1 + n * 7 % 13, 1 + n % 4, limit=14) for n in range(1, 40)]
    _, run = simulated(jobs, tape=Tape(path))
    run.world.tape.close()
    done = of_file(path)
    assert done.difference is None
    assert (done.records, done.folded) == (run.world.tape.lsn, {})


def busy() -> World:
    from tests.core.lab import lab

    world = lab(2)
    for _ in range(3):
        world.submit(job(2))
    world.rest()
    return world


def never_plan(monkeypatch: pytest.MonkeyPatch, key: int) -> None:
    """A planted change of the rules: a job is never planned."""
    before = decide._DECIDERS[c.CommitPlan]

    def changed(draft: Any, command: c.CommitPlan) -> Any:
        left = tuple(one for one in command.placements if one.job != key)
        return before(draft, msgspec.structs.replace(command, placements=left))

    monkeypatch.setitem(decide._DECIDERS, c.CommitPlan, changed)


def test_a_changed_decision_is_found_at_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third plan is the first that a changed rule touches."""
    log = busy().writer.log
    wanted = [record.lsn for record in log.read(1) if record.kind == "Planned"][2]
    never_plan(monkeypatch, 3)
    found = replay(log).difference
    assert found is not None
    assert (found.lsn, found.path) == (wanted, "1 records in the log, 0 now")
    assert '"job":3' in found.logged[0]


def test_a_changed_number_is_found_with_both_sides(tmp_path: Path) -> None:
    """A record that says another priority than is decided, in a chain that is whole."""
    store = busy().writer.log.store
    from xce.wal import codec

    at = next(i for i, row in enumerate(store.rows) if row.kind == "JobSubmitted")
    record = codec.decode(store.rows[at])
    body = msgspec.structs.replace(record.body, name="other")
    before = store.rows[at - 1].hash
    for place in range(at, len(store.rows)):
        one_ = codec.decode(store.rows[place])
        if place == at:
            one_ = msgspec.structs.replace(one_, body=body)
        store.rows[place] = codec.encode(one_, before)
        before = store.rows[place].hash
    found = replay(MemoryLog(store)).difference
    assert found is not None
    assert found.lsn == record.lsn
    assert found.path == 'record 1 of 1: /body/name: "other" in the log, "" now'


def test_the_command_says_that_all_is_the_same_or_shows_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(export_lines(busy().writer.log)))
    done = CliRunner().invoke(main, ["sim", "replay", str(path)])
    assert done.exit_code == 0, done.output
    assert "every record is the same" in done.output
    never_plan(monkeypatch, 2)
    done = CliRunner().invoke(main, ["sim", "replay", str(path)])
    assert done.exit_code == 1
    assert "the first difference is at record" in done.output
    assert CliRunner().invoke(main, ["sim", "replay", str(tmp_path / "none")]).exit_code == 3
