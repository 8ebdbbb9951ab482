"""The toy world's hosts: what truly runs, and the messages between agents and controller.

Orders are levels made from the controller's state; they may be lost, repeated and crossed. Reports
stay in a host's outbox until one delivery of them is answered. A host may be silent (a partition),
crash (all its processes end), boot again, or only restart its agent. An agent refuses orders of an
older epoch or of another incarnation; for one launch or attachment the highest target holds.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.tables.world import Launch, Violation, World
from xce.model.tables import LIVE_ATTACHMENT

PREPARED, RUNNING, GONE = 1, 2, 3
REPEATED = 0.3
PATIENCE = 0.6  # the chance that what is parked or runs stays so when its host looks at it
Report = tuple[str, Any, str]


@dataclass(slots=True)
class Orders:
    """What one answer to a poll carried. `question` > 0: list your work."""

    epoch: int
    incarnation: int
    targets: dict[int, int]
    question: int = 0


@dataclass(slots=True)
class Work:
    """A launch or an attachment as its host has it: none up(armed, ready) running failed gone."""

    number: int
    target: int
    is_launch: bool
    state: str = "none"
    started: bool = False


@dataclass(slots=True)
class Agent:
    """One host. `mail`: orders under way to it; `outbox`: reports not yet answered."""

    name: str
    boot: int = 0
    incarnation: int = 1
    epoch: int = 1
    is_silent: bool = False
    is_crashed: bool = False
    is_registered: bool = True
    work: dict[int, Work] = field(default_factory=dict)
    mail: list[Orders] = field(default_factory=list)
    outbox: list[Report] = field(default_factory=list)
    unplugged: list[str] = field(default_factory=list)


# -- orders -----------------------------------------------------------------------------------
def send_orders(world: World, agent: Agent) -> None:
    """Answer a poll: orders for an UP host, a question for a JOINING one."""
    host = world.things["liveness"][agent.name]
    targets: dict[int, int] = {}
    if host.state == "UP":
        for launch in world.live_launches():
            if launch.host == agent.name:
                targets[launch.number] = launch_target(world, launch)
        for one in world.things["attachment"].values():
            if one.host == agent.name and one.state in LIVE_ATTACHMENT:
                targets[one.number] = GONE if one.state == "RELEASING" else PREPARED
    question = host.question if host.state == "JOINING" else 0
    if targets or question:
        agent.mail.append(Orders(world.epoch, host.incarnation, targets, question))
        del agent.mail[:-6]


def launch_target(world: World, launch: Launch) -> int:
    """PREPARED < RUNNING < GONE, from state alone."""
    if launch.state == "STOPPING":
        return GONE
    passed = world.things["start"][launch.start].state == "PASSED"
    if passed or (world.mutant == "go before the pass" and launch.state == "ARMED"):
        return RUNNING
    return PREPARED


def take_orders(world: World, agent: Agent, is_reordered: bool) -> None:
    """One set of orders arrives, perhaps an old one, perhaps not for the last time."""
    if not agent.mail or agent.is_silent or agent.is_crashed:
        return
    at = world.rng.randrange(len(agent.mail)) if is_reordered else 0
    orders = agent.mail[at]
    if world.rng.random() >= REPEATED:
        del agent.mail[at]
    if orders.epoch < agent.epoch or orders.incarnation != agent.incarnation:
        return
    agent.epoch = orders.epoch
    for number, target in orders.targets.items():
        is_launch = number in world.things["launch"]
        work = agent.work.setdefault(number, Work(number, target, is_launch))
        work.target = max(work.target, target)
    if orders.question:
        agent.outbox.append(("list", orders.question, ""))


# -- what happens on the host -----------------------------------------------------------------
def act(world: World, agent: Agent, luck: float) -> None:
    """One piece of work moves on. `luck` is the chance that things go well; processes that run
    have it twice."""
    if not agent.is_crashed:
        tell_resumed(world, agent)
    todo = [work for work in agent.work.values() if wants_to_move(work)]
    if not todo or agent.is_crashed:
        return
    work = world.rng.choice(todo)
    waits = work.is_launch and work.state in ("up", "running") and work.target == RUNNING
    if waits and world.rng.random() < PATIENCE:
        return
    good = world.rng.random() < (luck * luck if work.state == "running" else luck)
    (act_launch if work.is_launch else act_attachment)(world, agent, work, good)


def tell_resumed(world: World, agent: Agent) -> None:
    """Processes that were told to go on do so; the host of a job's first launch tells it."""
    for number, suspension in world.things["suspension"].items():
        launches = world.things["job"][number].launches
        if suspension.state == "RESUMING" and launches:
            report = ("resumed", number, "")
            is_here = world.things["launch"][launches[0]].host == agent.name
            if is_here and report not in agent.outbox and world.rng.random() < 0.15:
                agent.outbox.append(report)


def wants_to_move(work: Work) -> bool:
    """Whether the host has something to do for it."""
    if work.state == "gone":
        return False
    if work.target == GONE or work.state in ("none", "running"):
        return True
    return work.is_launch and work.state == "up" and work.target == RUNNING


def act_launch(world: World, agent: Agent, work: Work, good: bool) -> None:
    """Prepare, let go, end or kill a launch."""
    if work.target == GONE or work.state == "running":
        ok = good and work.target != GONE
        end_launch(agent, work, "exit-ok" if ok else "exit" if work.started else "abort")
    elif work.state == "none":
        if good:
            work.state = "up"
            agent.outbox.append(("arm", work.number, ""))
        else:
            end_launch(agent, work, "abort")
    else:
        assert_may_run(world, agent, work)
        work.state, work.started = "running", True
        agent.outbox.append(("start", work.number, ""))


def end_launch(agent: Agent, work: Work, how: str) -> None:
    """A launch is over; the journal keeps how."""
    work.state, work.target = "gone", GONE
    agent.outbox.append((how.partition("-")[0], work.number, "ok" if "-" in how else ""))


def act_attachment(world: World, agent: Agent, work: Work, good: bool) -> None:
    """Provision, fail or release an attachment."""
    if work.target == GONE:
        work.state = "gone"
        agent.outbox.append(("free", work.number, ""))
    elif work.state == "none":
        work.state = "up" if good else "failed"
        agent.outbox.append(("provide" if good else "fail", work.number, ""))


def mishap(world: World, agents: list[Agent]) -> None:
    """Something goes wrong by itself: a provider fails late or loses a thing; a process dies,
    best between the go and its exec, best when another of its start has already ended."""
    todo = [
        (agent, work)
        for agent in agents
        if not agent.is_crashed
        for work in agent.work.values()
        if work.state != "gone"
    ]
    if not todo:
        return
    let_go = [one for one in todo if one[1].state == "up" and one[1].target == RUNNING]
    late = [one for one in let_go if has_ended_sibling(world, one[1])]
    agent, work = world.rng.choice(late or let_go or todo)
    if work.is_launch:
        if work.state != "none":
            end_launch(agent, work, "lose" if work.started else "abort")
    elif work.state == "up" and world.rng.random() < 0.5:
        work.state = "failed"
        agent.outbox.append(("fail", work.number, ""))
    else:
        work.state, work.target = "gone", GONE
        agent.outbox.append(("free", work.number, ""))


def has_ended_sibling(world: World, work: Work) -> bool:
    """Whether a launch's start has another launch that has already ended."""
    start = world.things["start"][world.things["launch"][work.number].start]
    return len(world.live_of(start.launches)) < len(start.launches)


def assert_may_run(world: World, agent: Agent, work: Work) -> None:
    """The command of a launch executes: only after its start passed, alone on its instances."""
    launch = world.things["launch"][work.number]
    if not world.things["start"][launch.start].passed:
        raise Violation(f"launch {work.number} runs, its start {launch.start} never passed")
    if work.started:
        raise Violation(f"launch {work.number} runs twice")


# -- the host itself --------------------------------------------------------------------------
def crash(agent: Agent) -> None:
    """The machine goes down: every process ends, nobody hears of it."""
    agent.is_crashed = True


def boot(world: World, agent: Agent) -> None:
    """It comes up again: the journal tells what had run; nothing of the old boot is left."""
    agent.boot += 1
    outcomes: list[Report] = []
    for work in agent.work.values():
        if work.is_launch and work.state != "gone":
            outcomes.append(("lose" if work.started else "abort", work.number, ""))
        work.state, work.target = "gone", GONE
    agent.is_crashed = agent.is_silent = False
    register(agent)
    if world.rng.random() < 0.5:
        agent.outbox.extend(outcomes)
    else:
        agent.outbox[-1:] = [*outcomes, agent.outbox[-1]]


def register(agent: Agent) -> None:
    """The agent (re)starts: it takes no orders until it is registered."""
    agent.incarnation = 0
    agent.outbox = [one for one in agent.outbox if one[0] not in ("register", "list")]
    agent.outbox.append(("register", agent.boot, ""))


def deliver(world: World, agent: Agent, is_reordered: bool) -> None:
    """One report arrives; a list of work arrives only behind all older reports."""
    if not agent.outbox or agent.is_silent or agent.is_crashed:
        return
    at = world.rng.randrange(len(agent.outbox)) if is_reordered else 0
    if agent.outbox[at][0] in ("list", "register"):
        for report in agent.outbox[:at]:
            if report[0] not in ("list", "register"):
                receive(world, agent, report)
    report = agent.outbox[at]
    receive(world, agent, report)
    if world.rng.random() >= REPEATED and report in agent.outbox:
        agent.outbox.remove(report)


def receive(world: World, agent: Agent, report: Report) -> None:
    """The controller takes one report; being heard ends a silence."""
    kind, number, _ = report
    host = world.things["liveness"][agent.name]
    if kind == "register":
        take_registration(world, agent, number)
        return
    if kind == "list" and number == host.question:
        world.fire("liveness", agent.name, "reconcile")
        return
    if host.state in ("SUSPECT", "DOWN"):
        host.question += 1
    world.fire("liveness", agent.name, "hear")
    if kind == "list":
        return
    take_report(world, agent, report)


def take_report(world: World, agent: Agent, report: Report) -> None:
    """One report about an instance, an attachment, a suspension or a launch."""
    kind, number, detail = report
    if kind in ("report", "clear"):
        world.fire("instance", number, kind)
    elif kind == "miss":
        world.fire("instance", number, "miss" if world.holders(number) else "vanish")
    elif kind in ("provide", "fail", "free"):
        world.fire("attachment", number, kind)
    elif kind == "resumed":
        world.fire("suspension", number, "resumed")
    else:
        launch = world.things["launch"][number]
        if kind in ("exit", "abort", "lose") and world.things["launch"][number].ran == "":
            launch.ran = "no" if kind == "abort" else "yes"
            launch.ok = detail == "ok"
        world.fire("launch", number, kind)


def take_registration(world: World, agent: Agent, boot_number: int) -> None:
    """A host registers; another boot is the proof that nothing of the old one is left."""
    host = world.things["liveness"][agent.name]
    if boot_number != host.boot:
        give_up_host(world, agent.name)
    host.boot = boot_number
    host.incarnation += 1
    host.question += 1
    agent.incarnation, agent.epoch = host.incarnation, world.epoch
    world.fire("liveness", agent.name, "register")
    for key in world.things["instance"]:
        if key.startswith(f"{agent.name}/") and key not in agent.unplugged:
            world.fire("instance", key, "report")


def give_up_host(world: World, name: str) -> None:
    """Proof that nothing is left on a host: its launches and attachments are lost."""
    for launch in world.live_launches():
        if launch.host == name:
            launch.ran = launch.ran or "unknown"
            world.fire("launch", launch.number, "lose")
    for one in list(world.things["attachment"].values()):
        if one.host == name and one.state in LIVE_ATTACHMENT:
            world.fire("attachment", one.number, "lose")
