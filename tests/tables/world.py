"""A toy world for the random walk: its entities, and the engine that runs tables and couplings.

It shares nothing with the controller but the tables: `fire` moves one entity by its machine and
runs the couplings depth first, in the order of the table. Relations and conditions are written
here a second time, as plainly as possible. Everything is kept for the whole walk: ended things
stay, so that late reports find them.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from xce.model.machine import Coupling
from xce.model.tables import COUPLINGS, LIVE_LAUNCH, MACHINES

Key = int | str
HELD_CLAIM = ("BOUND", "EXPIRED", "FAILED", "RELEASING")


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class Job:
    number: int
    hosts: int
    device: str  # "" | attached (a claim with a provider) | bare (one without) | held (no claim)
    group: int = 0
    uses: int = 0  # a standalone claim
    state: str = "PENDING"
    start: int = 0
    attempt: int = 0
    launches: list[int] = field(default_factory=list)
    ok: bool | None = None
    requeues: int = 0
    is_preempted: bool = False
    failures: int = 0


@dataclass(slots=True)
class Group:
    number: int
    members: list[int]
    min: int
    policy: str
    success: str
    shared: bool  # has a claim of scope group
    state: str = "FORMING"
    start: int = 0
    failures: int = 0
    restarts: int = 0
    verdict: str = ""


@dataclass(slots=True)
class Start:
    number: int
    group: int
    kind: str  # birth | growth | plain | short (planned and passed in one record)
    deadline: int
    state: str = "OPEN"
    passed: bool = False
    broken: bool = False
    members: list[int] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    claims: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Launch:
    number: int
    job: int
    host: str
    start: int
    claims: tuple[int, ...]
    devices: tuple[str, ...] = ()  # held by the allocation itself
    state: str = "PREPARING"
    asked: bool = False
    ran: str = ""
    ok: bool = False


@dataclass(slots=True)
class Claim:
    number: int
    scope: str  # member | group | standalone
    state: str
    start: int = 0
    group: int = 0
    devices: tuple[str, ...] = ()
    attachments: list[int] = field(default_factory=list)
    provider: bool = True
    asked: bool = False


@dataclass(slots=True)
class Attachment:
    number: int
    claim: int
    host: str
    state: str = "PROVISIONING"


@dataclass(slots=True)
class Thing:
    """What has nothing but a state: an instance, a suspension, a host's admin side."""

    number: Key
    state: str


@dataclass(slots=True)
class Host:
    """A host's liveness, as the controller sees it. `question` numbers what it was asked."""

    number: str
    state: str = "JOINING"
    boot: int = 0
    incarnation: int = 1
    question: int = 1


COUPLED: dict[tuple[str, str], list[Coupling]] = {}
for _coupling in COUPLINGS:
    COUPLED.setdefault((_coupling.machine, _coupling.event), []).append(_coupling)


class World:
    """The controller's side. `mutant` plants a fault, `without` skips one coupling."""

    def __init__(self, seed: int, mutant: str = "", without: Coupling | None = None) -> None:
        self.rng = random.Random(seed)
        self.mutant, self.without = mutant, without
        self.now = 0
        self.epoch = 1
        self.last = 0
        self.things: dict[str, dict[Any, Any]] = {name: {} for name in MACHINES}
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self.ignored: Counter[tuple[str, str, str]] = Counter()
        self.story: list[str] = []
        self.checked = 0
        self.doubtful: set[str] = set()

    def add(self, machine: str, entity: Any) -> Any:
        """Put an entity into the world."""
        self.things[machine][entity.number] = entity
        return entity

    def number(self) -> int:
        """The next number, never given out twice."""
        self.last += 1
        return self.last

    def fire(self, machine: str, key: Key, event: str) -> bool:
        """Let an event reach an entity; whether it moved. An illegal cell raises."""
        entity = self.things[machine][key]
        state = entity.state
        target = MACHINES[machine].next(state, event, str(key))
        if target is None:
            self.ignored[machine, state, event] += 1
            return False
        self.seen[machine, state, event] += 1
        self.story.append(f"{self.now}: {machine} {key} {state} -{event}-> {target}")
        if (machine, event) == ("start", "pass"):
            self.assert_may_pass(entity)
        entity.state = target
        self.note_doubt(machine, entity, event)
        if (machine, event) == ("launch", "stop"):
            entity.asked = True
        if target == "RELEASED" and machine == "claim":
            self.assert_may_be_freed(entity)
        for coupling in COUPLED.get((machine, event), ()):
            if coupling is not self.without:
                for follower in RELATIONS[machine, coupling.relation](self, entity):
                    if CONDITIONS[coupling.when](self, follower):
                        self.fire(coupling.target, follower, coupling.target_event)
        return True

    def note_doubt(self, machine: str, entity: Any, event: str) -> None:
        """Remember instances that a provider failed on, until they are cleared or come anew."""
        if (machine, event) == ("attachment", "fail"):
            self.doubtful.update(_instances(self, entity))
        elif machine == "instance" and event in ("clear", "report"):
            self.doubtful.discard(entity.number)

    # -- what must hold at the very moment --------------------------------------------------
    def assert_may_pass(self, start: Start) -> None:
        """Every launch ARMED, every attachment READY, every host UP, in this one evaluation."""
        if start.kind == "short" and (len(start.launches) != 1 or start.group):
            raise Violation(f"start {start.number} took the short way")
        for number in start.launches:
            launch = self.things["launch"][number]
            if launch.state != "ARMED" and start.kind != "short":
                raise Violation(f"start {start.number} passes with launch {number} {launch.state}")
            if self.things["liveness"][launch.host].state != "UP":
                raise Violation(f"start {start.number} passes while {launch.host} is not UP")
            for claim in launch.claims:
                for attachment in self.things["claim"][claim].attachments:
                    state = self.things["attachment"][attachment].state
                    if state != "READY":
                        raise Violation(f"start {start.number} passes: {attachment} is {state}")

    def assert_may_be_freed(self, claim: Claim) -> None:
        """Processes first, then attachments, then the claim."""
        for launch in self.live_launches():
            if claim.number in launch.claims:
                raise Violation(f"claim {claim.number} freed under launch {launch.number}")
        for attachment in claim.attachments:
            if self.things["attachment"][attachment].state != "RELEASED":
                raise Violation(f"claim {claim.number} freed before attachment {attachment}")

    # -- look-ups ---------------------------------------------------------------------------
    def live_launches(self) -> list[Launch]:
        """All launches that are not proven gone."""
        return [one for one in self.things["launch"].values() if one.state in LIVE_LAUNCH]

    def live_of(self, numbers: list[int]) -> list[Launch]:
        """Those of the given launches that are live."""
        every = self.things["launch"]
        return [every[number] for number in numbers if every[number].state in LIVE_LAUNCH]

    def members(self, group: Group) -> list[Job]:
        """The group's jobs in rank order."""
        return [self.things["job"][number] for number in group.members]

    def holders(self, device: str) -> list[str]:
        """Who holds an instance: claims, and launches whose allocation holds it itself."""
        held = [
            f"c{claim.number}"
            for claim in self.things["claim"].values()
            if device in claim.devices and claim.state in HELD_CLAIM
        ]
        return held + [f"l{one.number}" for one in self.live_launches() if device in one.devices]

    def unused(self, key: Key) -> bool:
        """The coupling condition: nobody uses the claim, and what it lives for is over."""
        if self.mutant == "release early":
            return True
        claim = self.things["claim"][key]
        if any(claim.number in launch.claims for launch in self.live_launches()):
            return False
        if claim.scope == "group":
            start, group = self.things["start"][claim.start], self.things["group"][claim.group]
            goes_on = group.state in ("STARTING", "RUNNING") and group.start == start.number
            return start.state == "FAILED" or not goes_on
        return claim.scope == "member" or claim.asked

    def bare(self, key: Key) -> bool:
        """The coupling condition: no attachment of the claim is left."""
        attachments = self.things["claim"][key].attachments
        return all(self.things["attachment"][one].state == "RELEASED" for one in attachments)


def _instances(world: World, attachment: Attachment) -> list[str]:
    return [
        device
        for device in world.things["claim"][attachment.claim].devices
        if device.startswith(f"{attachment.host}/")
    ]


def _group_launches(world: World, group: Group) -> list[int]:
    return [launch for job in world.members(group) for launch in job.launches]


def _group_claims(world: World, group: Group) -> list[int]:
    return [c.number for c in world.things["claim"].values() if c.group == group.number]


def _holding_claims(world: World, instance: Thing) -> list[int]:
    return [
        claim.number
        for claim in world.things["claim"].values()
        if instance.number in claim.devices and claim.state in HELD_CLAIM
    ]


CONDITIONS = {"": lambda world, key: True, "unused": World.unused, "bare": World.bare}
RELATIONS = {
    ("start", "group"): lambda world, start: [start.group] if start.group else [],
    ("start", "launches"): lambda world, start: start.launches,
    ("start", "claims"): lambda world, start: start.claims,
    ("start", "members"): lambda world, start: start.members,
    ("launch", "claims"): lambda world, launch: launch.claims,
    ("launch", "job"): lambda world, launch: [launch.job],
    ("claim", "attachments"): lambda world, claim: claim.attachments,
    ("claim", "self"): lambda world, claim: [claim.number],
    ("attachment", "claim"): lambda world, attachment: [attachment.claim],
    ("attachment", "instances"): _instances,
    ("instance", "claims"): _holding_claims,
    ("job", "launches"): lambda world, job: job.launches,
    ("job", "self"): lambda world, job: [job.number],
    ("group", "members"): lambda world, group: group.members,
    ("group", "launches"): _group_launches,
    ("group", "claims"): _group_claims,
}
