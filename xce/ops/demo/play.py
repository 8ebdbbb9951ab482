"""The demo from beginning to end: a cluster comes up, a gang runs, everything is stopped.

It uses what users use: the API over the home's socket, a manifest, output files. The examples
are those of the checkout; they are copied into the demo's own folder, where the gang runs.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml
from msgspec import structs

import xce
from xce.ops.config.file import read_site
from xce.ops.demo.scene import Scene
from xce.ops.demo.screen import Screen
from xce.ops.serving import Options, Serving, with_root
from xce.ops.talk import ask
from xce.ops.up import plan_for, run, run_up

WAIT_S, LOOK_S, FREE_S = 60.0, 2.0, 10.0
FILES = ("allreduce.yaml", "allreduce.py")


class Demo:
    """One run of the demo in a home."""

    def __init__(self, home: Path, screen: Screen) -> None:
        self.home = home
        self.is_good = False
        self.has_ended = False
        self._screen = screen
        self._work = home / "gang"

    async def act(self, serving: Serving) -> None:
        """What the user would do."""
        screen = self._screen
        await serving.joined(self._hosts())
        screen.say(f"A controller at {serving.url} and {len(self._hosts())} agents are up.")
        screen.say("Submitting allreduce.yaml: a launcher, and 2 workers of 4 tasks with 4 GPUs.")
        scene = await asyncio.to_thread(self._submit)
        try:
            await asyncio.wait_for(self._follow(scene), WAIT_S)
        except TimeoutError:
            screen.say(f"\n{scene.group} did not end within {WAIT_S:.0f} s.")
        await asyncio.to_thread(self._tell_outputs, scene)
        await asyncio.to_thread(self._await_free)
        self.has_ended = True

    def _hosts(self) -> list[str]:
        return list(read_site(examples() / "clusters" / "dgx-4.toml").emulated)

    def _submit(self) -> Scene:
        self._work.mkdir(exist_ok=True)
        for name in FILES:
            shutil.copy(examples() / "gangs" / name, self._work / name)
        manifest = yaml.safe_load((self._work / FILES[0]).read_text())
        path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        body = {"manifest": manifest, "cwd": str(self._work), "env": {"PATH": path}}
        before = ask(self.home, "GET", "/readyz")["lsn"]
        told = ask(self.home, "POST", "/v1/groups", body)
        return Scene(before, told["group"], self._hosts())

    async def _follow(self, scene: Scene) -> None:
        """Show every record until the gang is over and its claims are given back."""
        while not scene.is_over:
            where = f"/v1/events?after={scene.lsn}&wait={LOOK_S}"
            answer = await asyncio.to_thread(ask, self.home, "GET", where)
            for record in answer["items"]:
                self._screen.show(scene, scene.take(record))
        self.is_good = scene.verdict == "DONE"

    def _tell_outputs(self, scene: Scene) -> None:
        answer = ask(self.home, "GET", f"/v1/groups/{scene.group}/members")
        self._screen.say()
        for member in answer["members"]:
            path = Path(member["stdout"])
            if not path.exists():
                continue
            self._screen.say(f"{member['role']}[{member['rank']}] wrote {path}")
            for line in path.read_text(errors="replace").splitlines():
                self._screen.say(f"    {line}")

    def _await_free(self) -> None:
        """Until no host holds anything of the gang any more."""
        end_s = time.monotonic() + FREE_S
        while time.monotonic() < end_s:
            claims = ask(self.home, "GET", "/v1/claims")["items"]
            hosts = ask(self.home, "GET", "/v1/hosts")["items"]
            if not claims and not any(one["tasks"] or one["instances_held"] for one in hosts):
                return
            time.sleep(0.05)
        self.is_good = False
        self._screen.say("\nSomething is still held; that is wrong.")


def examples() -> Path:
    """The examples: beside the package in a checkout, inside it in a wheel."""
    package = Path(xce.__file__).parent
    packed = package / "ops" / "examples"
    return packed if packed.is_dir() else package.parent / "examples"


def play(home: Path | None, *, plain: bool) -> int:
    """Run the demo; 0 when every rank had the right sum."""
    screen = Screen(plain=plain)
    began_s = time.monotonic()
    where = home or Path(tempfile.mkdtemp(prefix="xce-demo-"))
    screen.say(f"XCE {xce.__version__}: 4 hosts with 8 GPUs each, played on this machine.")
    site = with_root(read_site(examples() / "clusters" / "dgx-4.toml"), allow_root=True)
    demo = Demo(where, screen)
    options = Options(home=where, database="sqlite", site=site)
    plan = structs.replace(plan_for(where, site), survive=False)
    run(run_up(options, plan, demo.act))
    took_s = time.monotonic() - began_s
    verdict = "it went WRONG" if demo.has_ended else "the demo was stopped before its end"
    if demo.is_good and demo.has_ended:
        verdict = "the gang is DONE, every rank has the right sum"
    screen.say(f"\nVerdict: {verdict}. All processes are stopped ({took_s:.1f} s).")
    screen.say(f"The log, the outputs and the manifest are in {where}")
    return 0 if demo.is_good and demo.has_ended else 1
