"""Freezes logs: `python -m tests.replay.freeze VERSION` writes tests/replay/VERSION.

Each story is a log as JSON lines beside the state that it folds to. They are written once, at a
release, and never again: what later code makes of them must agree in every field that was there.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.core.lab import Life, Provision, armed, lab, pair, until_state
from tests.core.standalone.test_islands import published, take
from tests.core.standalone.words import ask, make, renew
from tests.core.walk import Walk
from tests.kit.words import GB, gang, gpus, job, port, role
from tests.kit.world import World
from xce.controller.core.fold.encode import rows
from xce.controller.core.fold.state import State
from xce.model.config import SECOND_US
from xce.wal.export import export_lines

HERE = Path(__file__).parent


def idle() -> World:
    """Hosts that joined, left and came back; nothing to do."""
    world = lab(3)
    world.agents["n2"].restart()
    world.run(5 * SECOND_US)
    world.agents["n3"].reboot()
    world.rest()
    return world


def busy() -> World:
    """Jobs and gangs pending, running, ended well, ended badly, killed and held."""
    world = lab(2)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.scripts.lives["2"] = Life(run_us=SECOND_US, code=3)
    world.scripts.lives["3", 1] = Life(prepare="fail")
    for _ in range(6):
        world.submit(job(2))
    world.submit_gang(pair())
    world.submit_gang(gang(role("solo", 1), claims=(port(),)))
    world.run(30 * SECOND_US)
    for _ in range(30):
        world.submit(job(1, "rusage[mem=100]"))
    world.run(3 * SECOND_US)
    return world


def gang_start() -> World:
    """A gang between its plan and its barrier: one attachment is still PROVISIONING."""
    world = lab(2)
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    return world


def restarted() -> World:
    """A gang that broke, began again, and runs; a leader changed in between."""
    world = lab(2)
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), claims=(port(),)))
    until_state(world, "group", 1, "RUNNING")
    world.change_leader()
    world.agents["n1"].reboot()
    world.run(15 * SECOND_US)
    return world


def mixed(seed: int) -> Callable[[], World]:
    """A random world, stopped in the middle of everything: arrays, dependencies, suspended work,
    limits, shares, reservations, claims, silence; two leaders at least."""

    def play() -> World:
        walk = Walk(seed)
        walk.play(60)
        walk.world.change_leader()
        walk.world.run(5 * SECOND_US)
        for _ in range(6):
            walk.submit()
        walk.world.run(SECOND_US)
        return walk.world

    return play


def claimed() -> World:
    """Islands and a counter under standalone claims, one of them renewed, one used by a job."""
    world = published()
    ask(world, take("site", 2))
    leased = make("store", "mem", amount=2 * GB, until_us=world.now_us + 60 * SECOND_US)
    ask(world, leased)
    ask(world, renew(2, until_us=world.now_us + 90 * SECOND_US))
    world.run(SECOND_US)
    return world


STORIES: dict[str, Callable[[], World]] = {
    "idle": idle,
    "busy": busy,
    "gang-start": gang_start,
    "restarted": restarted,
    "claimed": claimed,
    **{f"mixed-{seed}": mixed(seed) for seed in (1, 3, 9, 10, 17, 36)},
}


def facts(state: State) -> dict[str, Any]:
    """The whole state as plain JSON, by table and key."""
    told: dict[str, Any] = {"lsn": state.lsn, "epoch": state.epoch}
    for what, key, body in rows(state):
        told.setdefault(what, {})[str(key)] = msgspec.json.decode(body)
    return told


def main(version: str) -> int:
    """Write all stories of one version; refuses one that is there."""
    folder = HERE / version
    folder.mkdir()
    for name, play in STORIES.items():
        world = play()
        (folder / f"{name}.jsonl").write_bytes(b"".join(export_lines(world.writer.log)))
        text = msgspec.json.format(msgspec.json.encode(facts(world.state)), indent=1)
        (folder / f"{name}.state.json").write_bytes(text + b"\n")
        sys.stdout.write(f"{folder.name}/{name}: lsn {world.state.lsn}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
