"""The toy world's session: places groups whole, members that a running group lacks, plain jobs.

All or nothing per group: a birth takes the lowest ranks that fit, at least `min`; a growth start
takes what a RUNNING group lacks. Placement is first fit over hosts that are UP and OPEN.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.tables.world import Attachment, Claim, Group, Job, Launch, Start, Thing, World

SLOTS = 3
BARRIER_STEPS = 250
MAX_FAILURES = 4


@dataclass
class Room:
    """What is free during one session."""

    slots: dict[str, int]
    devices: dict[str, list[str]]

    def take(self, job: Job) -> "Seat | None":
        """The hosts and devices of one member, or None with nothing taken."""
        by_room = sorted(self.slots, key=lambda host: (-self.slots[host], host))
        hosts = [host for host in by_room if self.slots[host] > 0]
        if job.device:
            hosts.sort(key=lambda host: not self.devices[host])
            if not hosts or not self.devices[hosts[0]]:
                return None
        if len(hosts) < job.hosts:
            return None
        hosts = hosts[: job.hosts]
        for host in hosts:
            self.slots[host] -= 1
        devices = (self.devices[hosts[0]].pop(0),) if job.device else ()
        return Seat(job, hosts, devices)


@dataclass
class Seat:
    """Where one member goes."""

    job: Job
    hosts: list[str]
    devices: tuple[str, ...] = field(default=())


def room(world: World) -> Room:
    """Free slots and instances of the hosts that may take work."""
    slots: dict[str, int] = {}
    devices: dict[str, list[str]] = {}
    for name, host in world.things["liveness"].items():
        if host.state == "UP" and world.things["admin"][name].state == "OPEN":
            slots[name] = SLOTS - sum(one.host == name for one in world.live_launches())
            devices[name] = [
                key
                for key, instance in world.things["instance"].items()
                if key.startswith(f"{name}/")
                and instance.state == "PRESENT"
                and not world.holders(key)
            ]
    return Room(slots, devices)


def plan(world: World) -> None:
    """One session: standalone claims, groups in id order, plain jobs, resumes."""
    free = room(world)
    for claim in world.things["claim"].values():
        if claim.state == "PENDING":
            bind(world, claim, free)
    for group in world.things["group"].values():
        if group.state == "PENDING":
            plan_birth(world, group, free)
        elif group.state == "RUNNING":
            plan_growth(world, group, free)
    for job in world.things["job"].values():
        if job.group == 0 and job.state == "PENDING" and usable(world, job.uses):
            plan_plain(world, seats(free, [job]))
    resume(world)


def resume(world: World) -> None:
    """Give back what was lent: to a gang whole, or to a plain job."""
    suspended = [n for n, one in world.things["suspension"].items() if one.state == "SUSPENDED"]
    jobs = world.things["job"]
    for gang in sorted({jobs[number].group or -number for number in suspended}):
        if world.rng.random() < 0.5:
            for number in suspended:
                if gang in (jobs[number].group, -number):
                    world.fire("suspension", number, "resume")


def preempt(world: World) -> None:
    """Take room from what runs: a whole group, or one that runs beyond a group's minimum."""
    group = pick(world, "group")
    if group is None:
        return
    running = [job for job in world.members(group) if job.state == "RUNNING"]
    if len(running) > group.min and world.rng.random() < 0.5:
        running[-1].is_preempted = True
        for launch in world.live_of(running[-1].launches):
            world.fire("launch", launch.number, "stop")
    else:
        world.fire("group", group.number, "retract")


def pick(world: World, machine: str) -> Any:
    """One of those that run, or None."""
    running = [one for one in world.things[machine].values() if one.state == "RUNNING"]
    return world.rng.choice(running) if running else None


def usable(world: World, claim: int) -> bool:
    """Whether a standalone claim takes a new consumer."""
    found = world.things["claim"].get(claim)
    return found is None or (found.state == "BOUND" and not found.asked)


def seats(free: Room, jobs: list[Job]) -> list[Seat]:
    """Seats for the first members that fit, in order, up to the first that does not."""
    taken: list[Seat] = []
    for job in jobs:
        seat = free.take(job)
        if seat is None:
            break
        taken.append(seat)
    return taken


def plan_birth(world: World, group: Group, free: Room) -> None:
    """Place a group whole, or leave it as it is."""
    jobs = [job for job in world.members(group) if job.state == "PENDING"]
    if any(job.state == "HELD" for job in world.members(group)) or not jobs:
        return
    need = min(group.min, len(jobs))
    trial = Room(dict(free.slots), {host: list(keys) for host, keys in free.devices.items()})
    taken = seats(trial, jobs[: world.rng.choice((need, need, len(jobs)))])
    if len(taken) >= need:
        free.slots, free.devices = trial.slots, trial.devices
        world.fire("group", group.number, "plan")
        group.start = open_start(world, group, "birth", taken).number


def plan_plain(world: World, taken: list[Seat]) -> None:
    """A plain job; with one launch and nothing to provision it passes in the same record."""
    if not taken:
        return
    job = taken[0].job
    is_short = job.hosts == 1 and job.device != "attached" and not job.uses
    start = open_start(world, None, "short" if is_short else "plain", taken)
    if start and is_short:
        start.passed = True
        world.fire("start", start.number, "pass")


def plan_growth(world: World, group: Group, free: Room) -> None:
    """Start members that a running group lacks; the others do not move."""
    claims = [world.things["claim"][number] for number in shared_claims(world, group)]
    if all(claim.state == "BOUND" for claim in claims):
        lacking = [job for job in world.members(group) if job.state == "PENDING"]
        open_start(world, group, "growth", seats(free, lacking))


def shared_claims(world: World, group: Group) -> list[int]:
    """The group claims made by the group's present birth."""
    return [
        claim.number
        for claim in world.things["claim"].values()
        if claim.group == group.number and claim.start == group.start
    ]


def open_start(world: World, group: Group | None, kind: str, taken: list[Seat]) -> Start | None:
    """Commit one start: allocations, claims, attachments, launches, all in one record."""
    if not taken:
        return None
    owner = group.number if group else 0
    start = world.add("start", Start(world.number(), owner, kind, world.now + BARRIER_STEPS))
    shared: tuple[int, ...] = ()
    if group and kind == "birth" and group.shared:
        claim = make_claim(world, start, "group", (), taken[0].hosts[0])
        claim.group = group.number
        shared = (claim.number,)
    elif group:
        shared = tuple(shared_claims(world, group))
    for seat in taken:
        seat_member(world, start, seat, shared)
    return start


def seat_member(world: World, start: Start, seat: Seat, shared: tuple[int, ...]) -> None:
    """One member's part of a start."""
    job = seat.job
    claims = shared + ((job.uses,) if job.uses else ())
    if job.device in ("attached", "bare"):
        host = seat.hosts[0] if job.device == "attached" else ""
        claims += (make_claim(world, start, "member", seat.devices, host).number,)
    job.launches, job.start, job.ok, job.is_preempted = [], start.number, None, False
    job.attempt += 1
    for at, host in enumerate(seat.hosts):
        held = seat.devices if job.device == "held" and at == 0 else ()
        launch = Launch(world.number(), job.number, host, start.number, claims, held)
        world.add("launch", launch)
        job.launches.append(launch.number)
        start.launches.append(launch.number)
    start.members.append(job.number)
    world.fire("job", job.number, "plan")


def make_claim(
    world: World, start: Start, scope: str, devices: tuple[str, ...], host: str
) -> Claim:
    """A template becomes a claim, born BOUND, with an attachment if a provider works for it."""
    claim = world.add("claim", Claim(world.number(), scope, "BOUND", start.number))
    claim.devices = devices
    start.claims.append(claim.number)
    if host:
        attach(world, claim, host)
    return claim


def attach(world: World, claim: Claim, host: str) -> None:
    """Make one attachment of a claim."""
    attachment = world.add("attachment", Attachment(world.number(), claim.number, host))
    claim.attachments.append(attachment.number)


def bind(world: World, claim: Claim, free: Room) -> None:
    """Bind a standalone claim that waits, if an instance is free."""
    for host in sorted(free.devices):
        if free.devices[host]:
            claim.devices = (free.devices[host].pop(0),)
            world.fire("claim", claim.number, "bind")
            if claim.provider:
                attach(world, claim, host)
            return


def submit_job(world: World, job: Job) -> None:
    """A plain job or a member; its suspension is there from the first moment on."""
    world.add("job", job)
    world.add("suspension", Thing(job.number, "ACTIVE"))
