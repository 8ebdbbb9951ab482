"""What really happened on the hosts and in the log, and what must never have happened.

The journal of executed launches is kept outside of everything that can be lost. Violations are
raised where they happen: a process before a committed pass, a second run within one attempt, a
device or memory held by two launches at once, a second end of a job.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kit.agents import LaunchHere
from xce.model.ids import parse_group, parse_job
from xce.model.records import HostRegistered, Record, Tick
from xce.model.tables import ENDED_GROUP, ENDED_JOB, LIVE_LAUNCH

if TYPE_CHECKING:
    from tests.kit.world import World


MAY_RUN = ("running", "stopping")


@dataclass(frozen=True)
class Executed:
    """Processes of a launch were let go."""

    at_us: int
    host: str
    launch: int
    job: str
    attempt: int
    start: int


class Ledger:
    """The facts that tests assert."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.executed: list[Executed] = []
        self.kinds: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        self.ends: Counter[str] = Counter()
        self.lsn = 0
        self.jobs: list[int] = []
        self.groups: list[int] = []
        self.arrays: list[int] = []
        self._ran: set[tuple[str, int, str]] = set()
        self._on: dict[str, dict[int, LaunchHere]] = {}
        self._most: dict[str, dict[str, int]] = {}

    # -- the log -------------------------------------------------------------------------------
    def committed(self, records: Iterable[Record]) -> None:
        """Records became durable."""
        for record in records:
            self.lsn = record.lsn
            self.kinds[record.kind] += 1
            for change in record.body.then:
                self.moves[change.what, change.event] += 1
                state = (change.set or {}).get("state")
                if change.what == "job" and change.event == "requeue":
                    self.ends[f"job {change.key}"] = 0
                if change.what == "job" and state in ENDED_JOB:
                    self.ends[f"job {change.key}"] += 1
                if change.what == "array" and change.event in ("end", "go_on"):
                    self.ends[f"array {change.key}"] += 1 if change.event == "end" else -1
                if change.what == "group" and state in ENDED_GROUP:
                    self.ends[f"group {change.key}"] += 1
            if isinstance(record.body, HostRegistered):
                self._had(record.body.host, record.body.facts.counters)
            if isinstance(record.body, Tick):
                self._was_told(record.body)
        self._assert_room()
        twice = sorted(name for name, times in self.ends.items() if times > 1)
        assert not twice, f"ended more than once: {twice}"

    def _was_told(self, tick: Tick) -> None:
        for change in tick.changes:
            moves = ((tick.columns[place], value) for place, value in change.moves)
            told = [(name, value) for name, value in moves if isinstance(value, int)]
            self._had(change.of, told)

    def _had(self, host: str, amounts: Iterable[tuple[str, int]]) -> None:
        most = self._most.setdefault(host, {})
        for name, amount in amounts:
            most[name] = max(amount, most.get(name, 0))

    def _assert_room(self) -> None:
        """No counter of a host is granted beyond the most that the host, or a reporter on it, ever
        told; pools that hosts share (`type@label`) are not their own, and what falls with time is
        not counted."""
        falling = self._falling()
        for host, used in self._world.state.index.used.items():
            own = {name: amount for name, amount in used.items() if "@" not in name}
            for name, amount in own.items():
                if "@" in name:
                    continue
                most = self._most[host].get(name, 0)
                granted = amount - falling[host, name]
                assert granted <= most, f"{name} of {host}: {granted} granted of {most}"

    def _falling(self) -> Counter[tuple[str, str]]:
        """Amounts, by host and counter, of running jobs whose reservations fall with time."""
        state = self._world.state
        found: Counter[tuple[str, str]] = Counter()
        for job in (state.jobs[key] for key in state.index.watched):
            timed = {one.name for one in state.specs[job.spec].need.timed}
            allocation = state.allocations.get(job.allocation) if job.started_us else None
            for share in allocation.shares if allocation is not None else ():
                found.update({(share.host, n): a for n, a in share.counters if n in timed})
        return found

    def acknowledged(self, body: dict[str, Any]) -> None:
        """A submission was answered: it may never be lost."""
        if "group" in body and "jobs" in body:
            self.groups.append(parse_group(body["group"]) or 0)
            self.jobs += [parse_job(text) or 0 for text in body["jobs"]]
        elif "job" not in body or "queue" not in body:
            return
        elif parse_job(body["job"]) in self._world.state.arrays:
            self.arrays.append(parse_job(body["job"]) or 0)
        else:
            self.jobs.append(parse_job(body["job"]) or 0)

    def at_rest(self) -> bool:
        """All that was submitted has ended, and nothing of it is left anywhere."""
        state = self._world.state
        if any(job.state not in ENDED_JOB for job in state.jobs.values()):
            return False
        if any(not array.ended_us for array in state.arrays.values()):
            return False
        if any(launch.state in LIVE_LAUNCH for launch in state.launches.values()):
            return False
        attachments = state.attachments.values()
        return all(one.state == "RELEASED" for one in attachments) and not self.physical()

    def assert_whole(self) -> None:
        """At the end: every acknowledged job and gang has exactly one end; nothing is held."""
        state = self._world.state
        for key in self.jobs:
            assert self.ends[f"job {key}"] == 1, f"job {key} ended {self.ends[f'job {key}']} times"
        for number in self.arrays:
            assert self.ends[f"array {number}"] == 1, f"array {number} has not ended once"
        for number in self.groups:
            assert self.ends[f"group {number}"] == 1, f"group {number} has not ended once"
        assert state.allocations == {}, "shares are left"
        assert state.index.holders == {}, f"instances are still held: {state.index.holders}"
        assert not any(state.index.used.values()), f"counters are still used: {state.index.used}"

    # -- hosts ---------------------------------------------------------------------------------
    def physical(self) -> list[int]:
        """Launches that are on a host right now."""
        return sorted(number for there in self._on.values() for number in there)

    def occupy(self, host: str, here: LaunchHere) -> None:
        """A launch begins to be on a host; it may not share what is another's."""
        there = self._on.setdefault(host, {})
        facts = self._world.agents[host].facts
        assert here.task is not None
        mine = set(_devices(here))
        for number, other in there.items():
            both = mine & set(_devices(other)) - self._lent(number)
            both -= self._used_together(number, here.number)
            assert not both, f"{both} of {host}: launch {number} and {here.number} have it"
        there[here.number] = here
        used = sum(one.task.mem_bytes for one in there.values() if one.task)
        assert used <= dict(facts.counters)["mem"], f"{host} has not that much memory: {used}"

    def _lent(self, launch: int) -> set[str]:
        """Instances, by name, that a suspended launch lends."""
        state = self._world.state
        found = state.launches.get(launch)
        granted = state.allocations.get(found.allocation) if found is not None else None
        shares = granted.lent if granted is not None else ()
        return {key.rpartition("/")[2] for share in shares for key in share.instances}

    def _used_together(self, first: int, second: int) -> set[str]:
        """Instances, by name, that a standalone claim holds which both launches use."""
        state = self._world.state
        launches = (state.launches.get(one) for one in (first, second))
        granted = [state.allocations.get(one.allocation) for one in launches if one is not None]
        uses = [set(one.uses) for one in granted if one is not None]
        both = uses[0] & uses[1] if len(uses) == 2 else set()
        held = (state.claims[number].holdings for number in both)
        return {one.instance.rpartition("/")[2] for some in held for one in some if one.instance}

    def vacate(self, host: str, here: LaunchHere) -> None:
        """Nothing of it is left on the host."""
        self._on.get(host, {}).pop(here.number, None)

    def execute(self, host: str, here: LaunchHere) -> None:
        """Processes are let go: only after a committed pass, and once."""
        state = self._world.state
        launch = state.launches.get(here.number)
        assert launch is not None, f"launch {here.number} ran and the log knows nothing of it"
        start = state.starts[launch.start]
        text = f"launch {here.number} of start {start.number} on {host}"
        assert launch.go, f"{text} ran before it was let go"
        assert start.passed_us, f"{text} ran before its start passed"
        key = (str(launch.job), launch.attempt, host)
        assert key not in self._ran, f"{text} ran twice within attempt {launch.attempt}"
        self._ran.add(key)
        for there in self._on.values():
            for other in there.values():
                found = state.launches.get(other.number)
                if found is not None and found.job == launch.job and other.phase in MAY_RUN:
                    same = found.attempt == launch.attempt
                    assert same, f"{text} runs while attempt {found.attempt} still does"
        self.assert_running(host, here)
        self.executed.append(
            Executed(
                self._world.now_us, host, here.number, str(launch.job), launch.attempt, start.number
            )
        )

    def assert_running(self, host: str, here: LaunchHere) -> None:
        """Whatever was lent: what really runs on a host never exceeds its slots."""
        known, there = self._world.state.launches, self._on.get(host, {})
        runs = [one for one in there.values() if one.phase in ("running", "stopping")]
        tasks = sum(known[one.number].tasks for one in runs if not one.is_frozen)
        most = self._most[host].get("slots", 0)
        text = f"launch {here.number} goes on: {tasks} tasks run on {host}, which has {most} slots"
        assert tasks <= most, text

    def ran(self, job: int) -> int:
        """How many launches of a job were let go."""
        return sum(one.job == str(job) for one in self.executed)


def _devices(here: LaunchHere) -> list[str]:
    named = here.task.env.get("CUDA_VISIBLE_DEVICES", "") if here.task else ""
    return [name for name in named.split(",") if name]
