"""What must hold after every step of the walk, and when all faults have stopped.

Written from design.md, over states and over what truly runs on the hosts; nothing here reads the
tables or the rules. Each message names the thing, so that a seed can be read like a story.
"""

from tests.tables.agents import Agent
from tests.tables.session import SLOTS
from tests.tables.world import HELD_CLAIM, Group, Launch, Violation, World

Watch = dict[int, tuple[int, int]]
GOES_ON = ("STARTING", "RUNNING")


def check(world: World, watch: Watch) -> None:
    """All invariants over states. `watch` keeps, between steps, what may only shrink."""
    live = world.live_launches()
    check_room(world, live)
    check_starts(world)
    check_jobs(world)
    for group in world.things["group"].values():
        check_group(world, group, watch)
    check_claims(world, live)


def need(holds: bool, text: str) -> None:
    """Raise what does not hold."""
    if not holds:
        raise Violation(text)


def check_room(world: World, live: list[Launch]) -> None:
    """No instance is held twice, no host holds more launches than it has slots."""
    held: dict[str, str] = {}
    for claim in world.things["claim"].values():
        for device in claim.devices if claim.state in HELD_CLAIM else ():
            other = held.setdefault(device, f"c{claim.number}")
            need(other == f"c{claim.number}", f"{device} is held by {other} and {claim.number}")
    for launch in live:
        for device in launch.devices:
            other = held.setdefault(device, f"l{launch.number}")
            need(other == f"l{launch.number}", f"{device} is held by {other} and {launch.number}")
    for name in world.things["liveness"]:
        need(sum(one.host == name for one in live) <= SLOTS, f"{name} is overfull")


def check_starts(world: World) -> None:
    """A failed or broken start stops what it has; a passed one has moved its gang."""
    for start in world.things["start"].values():
        if start.state == "PASSED" and not start.group:
            continue
        live = world.live_of(start.launches)
        states = {one.state for one in live}
        members = [world.things["job"][number] for number in start.members]
        group = world.things["group"].get(start.group)
        text = f"start {start.number} is {start.state}"
        if start.state == "FAILED":
            need(states <= {"STOPPING"}, f"{text} over launches {states}")
            if not start.passed:
                stuck = [job.number for job in members if job.start == start.number
                         and job.state in ("STARTING", "RUNNING", "FINISHED")]  # fmt: skip
                need(not stuck, f"{text} with members {stuck} that do not wait")
        elif start.state == "OPEN":
            need(states <= {"PREPARING", "ARMED"}, f"{text} over launches {states}")
        if group and group.start == start.number and group.state == "STARTING":
            need(start.state == "OPEN", f"{text} and its group {group.number} is STARTING")


def check_jobs(world: World) -> None:
    """What runs has a running job; what waits or is over runs nothing that could run."""
    for job in world.things["job"].values():
        live = world.live_of(job.launches)
        text = f"job {job.number} is {job.state}"
        passed = [one.number for one in live if world.things["start"][one.start].passed]
        if job.state in ("PENDING", "HELD", "FINISHED", "DONE", "EXITED"):
            need(not passed, f"{text} over launches {passed}")
        if job.state not in (*GOES_ON, "ENDING"):
            suspension = world.things["suspension"][job.number].state
            need(suspension == "ACTIVE", f"{text} and {suspension}")
        if job.state == "ENDING":
            need(all(one.state == "STOPPING" for one in live), f"{text}, launches go on")
        for one in live:
            need(one.state != "RUNNING" or job.state == "RUNNING", f"{text}, {one.number} runs")


def check_group(world: World, group: Group, watch: Watch) -> None:
    """PENDING holds nothing; RETRACTING and ENDING only shrink; an end takes all with it."""
    members = world.members(group)
    live = world.live_of([number for job in members for number in job.launches])
    claims = [
        claim
        for claim in world.things["claim"].values()
        if claim.group == group.number and claim.state in HELD_CLAIM
    ]
    text = f"group {group.number} is {group.state}"
    states = {job.state for job in members}
    if group.state in ("RETRACTING", "ENDING"):
        need(all(one.state == "STOPPING" for one in live), f"{text}, launches go on")
        before = watch.get(group.number, (len(live), len(claims)))
        need(len(live) <= before[0] and len(claims) <= before[1], f"{text} and grew")
        watch[group.number] = (len(live), len(claims))
        return
    watch.pop(group.number, None)
    passed = [one for one in live if world.things["start"][one.start].passed]
    if group.state in ("FORMING", "PENDING"):
        need(states <= {"PENDING", "HELD", "EXITED", "DONE"}, f"{text}: {states}")
        need(not passed, f"{text} over launches")
    elif group.state in ("DONE", "EXITED"):
        need(states <= {"DONE", "EXITED"}, f"{text}: {states}")
    elif group.state == "STARTING":
        need("RUNNING" not in states, f"{text}, a member runs")


def check_claims(world: World, live: list[Launch]) -> None:
    """A claim lives for something, and BOUND it stands on sound attachments."""
    used = {claim for launch in live for claim in launch.claims}
    for claim in world.things["claim"].values():
        if claim.state == "RELEASED" and claim.number not in used:
            continue
        text = f"claim {claim.number} is {claim.state}"
        attachments = [world.things["attachment"][one] for one in claim.attachments]
        states = {one.state for one in attachments}
        if claim.state == "BOUND":
            need(states <= {"PROVISIONING", "READY"}, f"{text} over {states}")
            for device in claim.devices:
                state = world.things["instance"][device].state
                need(state in ("PRESENT", "TAINTED"), f"{text}, {device} is {state}")
                need(device not in world.doubtful, f"{text}, {device} was not cleared")
        if claim.state in ("RELEASING", "RELEASED"):
            need(states <= {"RELEASING", "RELEASED"}, f"{text} over {states}")
            need(claim.number not in used, f"{text} and used")
        if claim.state == "RELEASING":
            need("RELEASING" in states, f"{text} with nothing left")
        if claim.state in ("BOUND", "FAILED") and claim.scope == "member":
            need(claim.number in used, f"{text}, nobody uses it")
        if claim.state in ("BOUND", "FAILED") and claim.scope == "group":
            group = world.things["group"][claim.group]
            goes_on = group.state in GOES_ON and group.start == claim.start
            need(goes_on or claim.number in used, f"{text}, {group.number} {group.state}")


def check_hosts(world: World, agents: list[Agent]) -> None:
    """What truly runs or stands on a host is live in the log, and alone on its instances."""
    for agent in agents:
        if agent.is_crashed:
            continue
        users: dict[str, int] = {}
        for work in agent.work.values():
            if work.state not in ("up", "running"):
                continue
            if not work.is_launch:
                one = world.things["attachment"][work.number]
                need(one.state != "RELEASED", f"attachment {work.number} stands, RELEASED")
                owner, devices = one.claim, world.things["claim"][one.claim].devices
            else:
                launch = world.things["launch"][work.number]
                need(launch in world.live_of([work.number]), f"{work.number} runs, {launch.state}")
                owner, devices = work.number, launch.devices
            for device in devices:
                need(users.setdefault(device, owner) == owner, f"{device} is used twice")


def check_end(world: World, agents: list[Agent]) -> None:
    """Faults have stopped: all work ended, nothing is held, nothing is left on any host."""
    for machine, ends in (
        ("job", {"DONE", "EXITED"}), ("group", {"DONE", "EXITED"}),
        ("launch", {"EXITED", "ABORTED", "LOST"}), ("attachment", {"RELEASED"}),
        ("claim", {"RELEASED"}), ("start", {"PASSED", "FAILED"}),
    ):  # fmt: skip
        open_ends = [
            f"{machine} {one.number} {one.state}"
            for one in world.things[machine].values()
            if one.state not in ends
        ]
        need(not open_ends, f"not ended: {open_ends[:5]}")
    left = [work.number for agent in agents for work in agent.work.values() if work.state != "gone"]
    need(not left, f"left on hosts: {left[:5]}")
