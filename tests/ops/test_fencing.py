"""The fencing hook as a program: yes, no, a hang, and what it leaves behind."""

import asyncio
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.core.lab import Life, lab, until_state
from tests.kit.words import job, settings
from tests.kit.world import World
from xce.controller.core.commands import HostFenced
from xce.model.config import FencingConfig
from xce.model.host import Host, HostFacts
from xce.ops import fencing
from xce.ops.config.file import ConfigFaulty, read_site
from xce.ops.fencing import Fencing, run_hook

HOST = Host(
    name="n1", liveness="DOWN", admin="OPEN", incarnation=3, boot_id="boot-7",
    facts=HostFacts(address="10.0.0.1"),
)  # fmt: skip
NEVER = threading.Event()


def hook(folder: Path, text: str, **more: int) -> FencingConfig:
    """A hook that is a shell script."""
    path = folder / "hook"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return FencingConfig(command=(str(path), "--now"), **more)


def living(session: int) -> list[str]:
    """Processes of a session that are no zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == session and words[0] not in "ZX":
            found.append(stat.parent.name)
    return found


def test_exit_0_is_a_yes_and_the_last_line_is_told(tmp_path: Path) -> None:
    config = hook(tmp_path, 'echo begun; echo "$1 $2 $XCE_FENCE_HOST $XCE_FENCE_ADDRESS"')
    assert run_hook(config, HOST, NEVER) == (
        True, f'{tmp_path}/hook n1 exited with 0, said "--now n1 n1 10.0.0.1"',
    )  # fmt: skip


def test_anything_else_is_no_yes(tmp_path: Path) -> None:
    said = run_hook(hook(tmp_path, "echo no power >&2; exit 3"), HOST, NEVER)
    assert said == (False, f'{tmp_path}/hook n1 exited with 3, said "no power"')
    assert run_hook(hook(tmp_path, "kill -9 $$"), HOST, NEVER)[0] is False
    nobody = FencingConfig(command=("/nowhere/hook",))
    assert run_hook(nobody, HOST, NEVER) == (
        False, "/nowhere/hook cannot be run: No such file or directory",
    )  # fmt: skip
    odd = FencingConfig(command=("/bin/true", "a\0b"))
    assert run_hook(odd, HOST, NEVER) == (False, "/bin/true cannot be run: embedded null byte")


@pytest.mark.parametrize("text", ["sleep 60", "trap '' TERM; sleep 60 & wait; sleep 60"])
def test_a_hang_is_killed_with_all_it_began(tmp_path: Path, text: str) -> None:
    began_s = time.monotonic()
    config = hook(tmp_path, f"echo $$ > {tmp_path}/pid; {text}", timeout_us=300_000)
    assert run_hook(config, HOST, NEVER) == (False, f"{tmp_path}/hook did not end in 0.3 s")
    assert time.monotonic() - began_s < 3.0
    assert living(int((tmp_path / "pid").read_text())) == []


class Engine:
    """A world behind the engine's port."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.commands: list[HostFenced] = []

    @property
    def state(self) -> Any:
        return self.world.state

    async def settled(self) -> None:
        """Always."""

    async def ask(self, command: HostFenced) -> None:
        self.commands.append(command)
        self.world.step([command])


def watched(world: World, for_s: float) -> Engine:
    """Watch a world for a while."""
    engine = Engine(world)

    async def main() -> None:
        task = asyncio.create_task(Fencing(engine).watch())  # type: ignore[arg-type]
        await asyncio.sleep(for_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    return engine


def silent_world(config: FencingConfig) -> World:
    """A job runs on n1, which is DOWN."""
    world = lab(1, config=settings(fencing=config))
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    return world


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencing, "LOOK_S", 0.05)


def test_a_no_is_asked_again_ever_later_until_the_yes(tmp_path: Path) -> None:
    text = f"date +%s.%N >> {tmp_path}/times; [ $(wc -l < {tmp_path}/times) -ge 4 ]"
    config = hook(tmp_path, text, retry_first_us=200_000, retry_cap_us=400_000)
    world = silent_world(config)
    world.agents["n1"].reboot(keeps_journal=False)
    world.agents["n1"].muted = True
    engine = watched(world, 2.5)
    assert [command.host for command in engine.commands] == ["n1"]
    assert world.state.jobs[1].state == "EXITED"
    times = [float(line) for line in (tmp_path / "times").read_text().split()]
    pauses = [later - sooner for sooner, later in pairwise(times)]
    assert len(times) == 4
    assert pauses[0] >= 0.2
    assert min(pauses[1:]) >= 0.4


def test_whoever_leads_next_asks_again(tmp_path: Path) -> None:
    config = hook(tmp_path, f"echo x >> {tmp_path}/times; exit 1", retry_first_us=60_000_000)
    world = silent_world(config)
    watched(world, 0.5)
    world.change_leader()
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    watched(world, 0.5)
    assert (tmp_path / "times").read_text() == "x\nx\n"
    assert world.state.jobs[1].state == "RUNNING"


def test_nobody_is_asked_about_a_host_that_is_heard_or_idle(tmp_path: Path) -> None:
    config = hook(tmp_path, f"echo $2 >> {tmp_path}/times")
    world = silent_world(config)
    world.unmute("n1")
    world.run(2_000_000)
    assert watched(world, 0.4).commands == []
    assert not (tmp_path / "times").exists()


def test_the_end_of_the_controller_ends_its_hooks(tmp_path: Path) -> None:
    config = hook(tmp_path, f"echo $$ > {tmp_path}/pid; sleep 60")
    world = silent_world(config)
    began_s = time.monotonic()
    watched(world, 0.5)
    assert time.monotonic() - began_s < 3.0
    assert living(int((tmp_path / "pid").read_text())) == []


def test_the_file_says_which_program(tmp_path: Path) -> None:
    path = tmp_path / "xce.toml"
    path.write_text('[fencing]\ncommand = ["/opt/fence", "--off"]\ntimeout = "30s"\n')
    config = read_site(path).config.fencing
    assert (config.command, config.timeout_us) == (("/opt/fence", "--off"), 30_000_000)
    path.write_text('[fencing]\ncommand = "off"\ntimeot = "30s"\n')
    with pytest.raises(ConfigFaulty) as faulty:
        read_site(path)
    first, second = str(faulty.value).splitlines()
    assert first.endswith('xce.toml:2:1: fencing.command: expected a list of words, like '
                          '["/opt/elim", "-v"]')  # fmt: skip
    assert second.endswith("unknown field 'fencing.timeot'; did you mean 'timeout'?")
