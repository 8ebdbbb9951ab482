"""Golden stories: a script of a few lines, played in a world, told as its records.

A file has the script, a line `----`, and what the log then says: seconds since the start, kind,
entities, and every transition. `python -m tests.core.stories --bless` writes the second half anew;
it refuses to where `CI` is set, so that no build ever blesses its own output.

Words: `hosts COUNT slots=8 gpus=0` · `life JOB[/ATTEMPT] prepare= run= code= signal= ready=` ·
`provider NAME HOW release= after=` · `submit tasks= resreq=` ·
`gang ROLE*COUNT[:option/value,...] ... on=CODE>ACTION retries= barrier_timeout=` · `kill ID` ·
`hold JOB` · `free JOB` · `mute HOST` · `unmute HOST` · `restart HOST` · `reboot HOST` ·
`lost HOST` · `drain HOST` · `leader` · `away SECONDS` · `run SECONDS` · `rest`.
"""

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.kit.agents import Life, Provision
from tests.kit.words import ANNA, OPS, gang, gpus, job, machine, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US, RetryConfig
from xce.model.group import FailureRule, Readiness
from xce.model.records import Record

GOLDEN = Path(__file__).parents[1] / "golden"
RULE = "----"


def us(text: str) -> int:
    """Seconds as microseconds."""
    return int(float(text) * SECOND_US)


class Teller:
    """Plays a script."""

    def __init__(self) -> None:
        self.world = World()

    def play(self, script: str) -> str:
        """The story that a script makes."""
        for line in script.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
                plain = [word for word in words[1:] if "=" not in word]
                act: Callable[..., None] = getattr(self, f"do_{words[0]}")
                act(*plain, **options)
        return tell(self.world)

    def do_hosts(self, count: str, slots: str = "8", gpus: str = "0") -> None:
        """Hosts n1.. join and are UP."""
        for number in range(1, int(count) + 1):
            self.world.add(f"n{number}", machine(int(slots), int(gpus)))
        self.world.up()

    def do_life(self, who: str, **options: str) -> None:
        """What a job's launches are going to do."""
        name, _, attempt = who.partition("/")
        life = Life(run_us=us(options.get("run", "1")), prepare=options.get("prepare", "ok"))
        life = replace(
            life,
            code=int(options.get("code", "0")),
            signal=int(options.get("signal", "0")),
            ready_us=us(options.get("ready", "0.1")),
        )
        self.world.scripts.lives[(name, int(attempt)) if attempt else name] = life

    def do_provider(self, name: str, how: str, release: str = "ok", after: str = "0.003") -> None:
        """What the provider of a claim does from now on."""
        made = Provision(how=how, release=release, after_us=us(after))
        self.world.scripts.provisions[name] = made

    def do_submit(self, tasks: str = "1", resreq: str = "") -> None:
        """A plain job."""
        self.world.submit(job(int(tasks), resreq))

    def do_gang(self, *roles: str, **options: str) -> None:
        """A gang with a port for all; `on CODE>ACTION` is a rule."""
        rules = []
        for text in filter(None, options.get("on", "").split(";")):
            code, _, action = text.partition(">")
            what: dict[str, Any] = (
                {"codes": ((int(code), int(code)),)} if code.isdigit() else {"reasons": (code,)}
            )
            rules.append(FailureRule(action=action, max_times=1, **what))
        extra: dict[str, int] = {
            f"{name}_us": us(options[name])
            for name in ("barrier_timeout", "ready_timeout", "placement_timeout")
            if name in options
        }
        retries = RetryConfig(max=int(options.get("retries", "2")))
        self.world.submit_gang(
            gang(*map(_role, roles), claims=(port(),), rules=rules, retries=retries, **extra)
        )

    def do_kill(self, who: str) -> None:
        """The owner kills a job or a gang."""
        named = {"group": int(who[1:])} if who.startswith("g") else {"job": int(who)}
        self.world.ask_body(c.Kill(actor=ANNA, **named))

    def do_hold(self, key: str) -> None:
        """The owner holds a job."""
        self.world.ask_body(c.Suspend(actor=ANNA, job=int(key)))

    def do_free(self, key: str) -> None:
        """The owner lets a job go."""
        self.world.ask_body(c.Suspend(actor=ANNA, job=int(key), hold=False))

    def do_mute(self, name: str) -> None:
        """The line to a host is cut."""
        self.world.mute(name)

    def do_unmute(self, name: str) -> None:
        """The line is back."""
        self.world.unmute(name)

    def do_restart(self, name: str) -> None:
        """An agent restarts."""
        self.world.agents[name].restart()

    def do_reboot(self, name: str) -> None:
        """A machine restarts."""
        self.world.agents[name].reboot()

    def do_lost(self, name: str) -> None:
        """An operator's word."""
        self.world.lose(name)

    def do_drain(self, name: str) -> None:
        """An operator drains a host."""
        self.world.ask_body(c.HostEvent(actor=OPS, host=name, event="drain"))

    def do_leader(self) -> None:
        """Another controller takes over at once."""
        self.world.change_leader()

    def do_away(self, seconds: str) -> None:
        """Nobody leads for a while."""
        self.world.die()
        self.world.run(us(seconds))
        self.world.lead()

    def do_run(self, seconds: str) -> None:
        """Time passes."""
        self.world.run(us(seconds))

    def do_rest(self) -> None:
        """Until all has ended."""
        self.world.rest()
        self.world.ledger.assert_whole()


def _role(text: str) -> Any:
    """`worker*2:gpus=4,tasks=2,after=launcher,ready=done`."""
    head, _, tail = text.partition(":")
    name, _, count = head.partition("*")
    given = dict(word.split("/", 1) for word in tail.split(",") if word)
    more: dict[str, Any] = {}
    if "gpus" in given:
        more["claims"] = (gpus(int(given["gpus"])),)
    if "min" in given:
        more["min"] = int(given["min"])
    if "after" in given:
        more["depends_on"] = (given["after"],)
    if "ready" in given:
        kind = given["ready"]
        more["ready"] = Readiness(kind=kind, port="rendezvous" if kind == "port" else "")
    return role(name, int(count or 1), tasks=int(given.get("tasks", 1)), **more)


def tell(world: World) -> str:
    """The log as lines for people."""
    records = world.records
    began_us = records[0].at_us
    lines = [
        _line(record, began_us)
        for record in records
        if record.kind not in ("ConfigLoaded", "SessionEnded")
    ]
    return "\n".join(lines) + "\n"


def _line(record: Record, began_us: int) -> str:
    moves = [
        f"{change.what} {change.key} {change.event}" for change in record.body.then if change.event
    ]
    at = f"{(record.at_us - began_us) / SECOND_US:9.3f}"
    head = f"{at}  {record.kind} {' '.join(record.entities)}".rstrip()
    said = [
        f"{name}: {value}"
        for name in ("reason", "missing", "action")
        if (value := _plain(getattr(record.body, name, None)))
    ]
    return "\n".join([head, *(f"{'':13}{text}" for text in (*said, *moves))])


def _plain(value: object) -> str:
    return "; ".join(value) if isinstance(value, tuple) else str(value or "")


def halves(path: Path) -> tuple[str, str]:
    """Script and story of a file."""
    script, _, story = path.read_text(encoding="utf-8").partition(f"{RULE}\n")
    return script, story


def bless() -> int:
    """Write what the scripts make now into their files."""
    if os.environ.get("CI"):
        sys.stderr.write("a build never blesses its own output\n")
        return 1
    for path in sorted(GOLDEN.glob("*.txt")):
        script, story = halves(path)
        told = Teller().play(script)
        if told != story:
            path.write_text(f"{script}{RULE}\n{told}", encoding="utf-8")
            sys.stdout.write(f"blessed {path.name}\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] != ["--bless"]:
        sys.exit("usage: python -m tests.core.stories --bless")
    sys.exit(bless())
