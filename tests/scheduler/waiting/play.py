"""Who begins when, and why not, as text: a site's own `xce.toml`, what is asked, the answers.

A file is a list of cases; each begins with `== NAME`. Its lines:

    | [[queues]]                       lines of xce.toml; without queues there is one, `normal`
    host n1 slots=4 gpus=2             the hosts
    runs 60                            how long what runs takes, in seconds (60)
    look 1                             when the reasons are looked at (1)
    1 u1 tasks=2 queue=night priority=60 project=p name=x after=done(1) from=30 -> at 0
    2 u1 array=1-4 array_limit=2 -> at 0 0 60 60       an array: when each element begins
    g1 u1 2x4 -> at 0                  a gang of two members of four tasks
    at 10 top 3                        something that is done at that second (see `done`)

Jobs without `from=` are there before the first session. An answer is `at SECONDS`, `never`,
`refused MESSAGE`, `waits SENTENCE`, or `waits SENTENCE ; at SECONDS`. Users are u1, u2, ...: uids
from 1001 on, and so in the lines of the file.
"""

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.core.lab import Life
from tests.kit.words import OPS, array, gang, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.actor import CONTROLLER, USER, Actor
from xce.model.config import SECOND_US, Config
from xce.model.ids import job_key
from xce.ops.config.file import read_site

CASES = Path(__file__).parent / "cases"
SPAN_S = 900


class Line(Struct):
    """One thing that is asked: its second, its words, the answer that was worked out."""

    at_s: int
    words: list[str]
    answer: str = ""


class Case(Struct):
    """One case as written."""

    name: str
    site: list[str] = []
    hosts: list[list[str]] = []
    runs_s: int = 60
    look_s: int = 1
    lines: list[Line] = []


def cases() -> list[Case]:
    """Every case of every file."""
    return [case for path in sorted(CASES.glob("*.txt")) for case in read(path)]


def read(path: Path) -> list[Case]:
    """The cases of one file."""
    found: list[Case] = []
    for line in path.read_text().splitlines():
        text = line.strip()
        if text.startswith("== "):
            found.append(Case(f"{path.stem}: {text[3:]}"))
        elif text and not text.startswith("#"):
            _note(found[-1], text)
    return found


def _note(case: Case, text: str) -> None:
    ask, mark, answer = text.partition(" -> ")
    words = re.sub(r"\bu(\d)\b", lambda one: f"u{one[1]}", ask).split()
    if words[0] == "|":
        case.site.append(re.sub(r"\bu(\d)\b", lambda one: str(1000 + int(one[1])), text[2:]))
    elif words[0] == "host":
        case.hosts.append(words[1:])
    elif words[0] in ("runs", "look"):
        setattr(case, f"{words[0]}_s", int(words[1]))
    elif words[0] == "at":
        case.lines.append(Line(int(words[1]), words[2:]))
    else:
        assert mark, text
        at_s = next((int(word[5:]) for word in words if word.startswith("from=")), 0)
        case.lines.append(Line(at_s, [w for w in words if not w.startswith("from=")], answer))


def play(case: Case, path: Path) -> list[tuple[str, str]]:
    """What was said to each ask, beside what was worked out."""
    world = _world(case, path)
    told: dict[int, str] = {}
    began_us = world.now_us
    times = sorted({line.at_s for line in case.lines} | {case.look_s, SPAN_S})
    for at_s in times:
        world.run(max(0, began_us + at_s * SECOND_US - world.now_us))
        for number, line in enumerate(case.lines):
            if line.at_s == at_s:
                _ask(world, number, line, told)
        world.turn()
        if at_s == case.look_s:
            for number, line in enumerate(case.lines):
                if line.answer.startswith("waits") and number not in told:
                    why = world.sessions.reason_for(line.words[0])
                    told[number] = f"waits {why.text() if why else '?'}"
    asked = [(number, line) for number, line in enumerate(case.lines) if line.answer]
    return [
        (line.answer, _answer(world, line, told.get(number, ""), began_us))
        for number, line in asked
    ]


def _world(case: Case, path: Path) -> World:
    queues = "" if any("[[queues]]" in one for one in case.site) else '[[queues]]\nname="normal"\n'
    path.write_text("\n".join(case.site) + "\n" + queues)
    config: Config = read_site(path).config
    world = World(config=config)
    world.scripts.default = lambda name, attempt: Life(run_us=case.runs_s * SECOND_US)
    for name, *rest in case.hosts:
        said = {key: int(value) for key, value in (word.split("=") for word in rest)}
        world.add(name, machine(said.get("slots", 8), said.get("gpus", 0)))
    world.up()
    return world


def _ask(world: World, number: int, line: Line, told: dict[int, str]) -> None:
    def hear(answer: Any) -> None:
        if isinstance(answer, c.Rejection):
            told[number] = f"refused {answer.message}"
            assert line.answer, answer
        elif line.answer:
            body = answer.body
            assert str(body.get("job") or body.get("group")) == line.words[0].partition("[")[0]

    for command in done(world, line.words):
        world.inbox.append((command, hear))


def done(world: World, words: list[str]) -> list[c.Command]:
    """The commands of a line."""
    if words[0] == "host":
        return [c.HostEvent(actor=OPS, host=words[1], event=words[2])]
    if words[0] == "queue":
        return [c.ChangeQueue(actor=OPS, queue=words[1], event=words[2], why=" ".join(words[3:]))]
    if words[0] == "window":
        opened = words[3] == "opens"
        return [c.TurnWindow(actor=CONTROLLER, queue=words[1], window=words[2], open=opened)]
    if words[0] == "jobgroup":
        limit = int(words[2])
        return [c.ChangeJobGroup(actor=OPS, path=words[1], event="add", limit=limit)]
    if words[0] in ("top", "bottom"):
        who = _actor(words[3]) if len(words) > 3 else OPS
        return [
            c.MoveJob(
                actor=who,
                job=int(words[1]),
                to=words[0],
                position=int(words[2:3][0] if words[2:3] else 1),
            )
        ]
    if words[0] in ("hold", "free", "kill", "switch", "priority", "limit"):
        return [_change(words)]
    return [_submission(words)]


def _change(words: list[str]) -> c.Command:
    key = int(words[1])
    if words[0] == "hold":
        return c.Suspend(actor=OPS, job=key)
    if words[0] == "free":
        return c.Resume(actor=OPS, job=key)
    if words[0] == "kill":
        return c.Kill(actor=OPS, job=key)
    if words[0] == "switch":
        return c.SwitchJob(actor=OPS, job=key, queue=words[2])
    if words[0] == "limit":
        return c.LimitArray(actor=OPS, job=key, limit=int(words[2]))
    return c.ModifyJob(actor=OPS, job=key, priority=int(words[2]))


def _actor(word: str) -> Actor:
    return Actor(kind=USER, uid=1000 + int(word[1:]))


_NUMBERS = ("tasks", "priority", "array_limit")
_NAMES = {"group": "job_group", "limit": "run_limit_us"}


def _submission(words: list[str]) -> c.Command:
    who = _actor(words[1])
    said: dict[str, Any] = {}
    for word in words[2:]:
        key, mark, value = word.partition("=")
        if mark:
            said[_NAMES.get(key, key)] = int(value) if key in _NUMBERS else value
        else:
            said[key] = True
    if words[0].startswith("g"):
        shape = next(key for key in said if re.fullmatch(r"\d+x\d+", key))
        members, _, tasks = shape.partition("x")
        more = {key: said[key] for key in ("queue", "priority") if key in said}
        least = {"min": int(said["min"])} if "min" in said else {}
        return gang(role("w", int(members), tasks=int(tasks), **least), actor=who, **more)
    if "begin" in said:
        said["begin_us"] = 1_000_000 * SECOND_US + int(said.pop("begin")) * SECOND_US
    if "run_limit_us" in said:
        said["run_limit_us"] = int(said["run_limit_us"]) * SECOND_US
    if "array" in said:
        first, _, last = said.pop("array").partition("-")
        limit = said.pop("array_limit", 0)
        return array((int(first), int(last), 1), limit=limit, actor=who, **said)
    return job(actor=who, **said)


def _answer(world: World, line: Line, told: str, began_us: int) -> str:
    if told.startswith("refused") or (told and ";" not in line.answer):
        return told
    began = _began(world, line.words, began_us)
    return " ; ".join(filter(None, (told, began)))


def _began(world: World, words: list[str], began_us: int) -> str:
    jobs = world.state.jobs
    if words[0].startswith("g"):
        keys = [key for key, one in jobs.items() if one.group == int(words[0][1:])][:1]
    elif any(word.startswith("array=") for word in words):
        span = next(word[6:] for word in words if word.startswith("array="))
        first, _, last = span.partition("-")
        number = int(words[0])
        keys = [job_key(number, index) for index in range(int(first), int(last) + 1)]
    else:
        keys = [int(words[0])]
    times = [jobs[key].started_us if key in jobs else 0 for key in keys]
    if not any(times):
        return "never"
    told = [str(round((at_us - began_us) / SECOND_US)) if at_us else "-" for at_us in times]
    return f"at {' '.join(told)}"
