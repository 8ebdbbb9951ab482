"""What happens to the toy world: users, sessions, clocks, faults, and then a quiet end.

`step` does one random thing; `quiet_round` gives the acts of one round in which nothing goes wrong
any more: hosts come back, holds and suspensions end, sessions plan, messages arrive. What can
never run then is ended by its owner.
"""

from collections.abc import Callable

from tests.tables import agents as hosts
from tests.tables.agents import Agent
from tests.tables.rules import is_idle
from tests.tables.session import plan, preempt, submit_job, usable
from tests.tables.world import Claim, Group, Host, Job, Thing, World

HOSTS = ("h1", "h2", "h3")
POLICIES = ("fail_group", "restart_group", "restart_group", "restart_member", "tolerate")
WAITING = ("PENDING", "HELD", "RETRACTING", "RESUMING")
BUSY = ("FORMING", "STARTING", "RUNNING", "ENDING", "BOUND", "SUSPENDED")
Act = Callable[[World], None]


def make_hosts(world: World) -> list[Agent]:
    """Three hosts, one or two instances each."""
    for at, name in enumerate(HOSTS):
        world.add("liveness", Host(name))
        world.add("admin", Thing(name, "OPEN"))
        for index in range(1 + (at > 0)):
            world.add("instance", Thing(f"{name}/{index}", "PRESENT"))
    return [Agent(name) for name in HOSTS]


def step(world: World, agents: list[Agent], is_reordered: bool) -> None:
    """One random thing; most of the time a message or a piece of work moves."""
    agent = world.rng.choice(agents)
    luck = world.rng.random()
    if luck < 0.03:
        come_back(world, agent)
    elif luck < 0.42:
        talkers = [one for one in agents if one.outbox and not one.is_silent]
        hosts.deliver(world, world.rng.choice(talkers or agents), is_reordered)
    elif luck < 0.58:
        hosts.send_orders(world, agent)
        for _ in range(3):
            hosts.take_orders(world, agent, is_reordered)
    elif luck < 0.78:
        hosts.act(world, agent, 0.88)
        hosts.act(world, agent, 0.88)
    elif luck < 0.86:
        plan(world)
    elif luck < 0.91:
        submit(world)
    elif luck < 0.945:
        ask(world)
    elif luck < 0.955:
        preempt(world)
    elif luck < 0.963:
        ask_host(world, agent.name)
    elif luck < 0.97:
        tick(world, agent)
    else:
        fault(world, agent, agents)


# -- users ------------------------------------------------------------------------------------
def submit(world: World) -> None:
    """A group, a plain job or a standalone claim, up to a few of each at a time."""
    rng = world.rng
    kind = rng.choice(("group", "job", "claim"))
    open_jobs = [j for j in world.things["job"].values() if j.state not in ("DONE", "EXITED")]
    if kind == "group" and len({job.group for job in open_jobs} - {0}) < 3:
        number = world.number()
        members = [make_job(world, number) for _ in range(rng.choice((1, 2, 3, 4, 4, 4)))]
        for job in members[1:]:
            job.hosts = 1  # so that every group fits into the empty cluster
        for job in members:
            submit_job(world, job)
        policy = rng.choice(POLICIES)
        group = Group(
            number, [job.number for job in members], min(rng.randint(1, 3), len(members)), policy,
            rng.choice(("all", "all", "any")), rng.random() < 0.5,
        )  # fmt: skip
        world.add("group", group)
        if rng.random() < 0.8:
            world.fire("group", number, "seal")
    elif kind == "job" and sum(job.group == 0 for job in open_jobs) < 4:
        job = make_job(world, 0)
        claims = [c.number for c in world.things["claim"].values() if c.scope == "standalone"]
        job.uses = rng.choice(claims) if claims and rng.random() < 0.5 else 0
        submit_job(world, job)
    elif kind == "claim" and rng.random() < 0.4:
        claim = Claim(world.number(), "standalone", "PENDING", provider=rng.random() < 0.7)
        world.add("claim", claim)


def make_job(world: World, group: int) -> Job:
    """A job of one or two hosts, perhaps with an instance."""
    rng = world.rng
    device = rng.choice(("", "", "attached", "attached", "bare", "held"))
    return Job(world.number(), rng.choice((1, 1, 2)), device, group)


def ask(world: World) -> None:
    """A user asks something of a job, a group or a claim."""
    rng = world.rng
    machine = rng.choice(
        ("job", "job", "group", "group", "claim", "claim", "suspension", "suspension")
    )
    every = list(world.things[machine].values())
    if machine == "suspension":
        every = [one for one in every if world.things["job"][one.number].state == "RUNNING"]
    if not every:
        return
    kind = rng.choice((WAITING, WAITING, BUSY, BUSY, ()))
    one = rng.choice([one for one in every if one.state in kind] or every)
    if machine == "job" and kind is WAITING and rng.random() < 0.5:
        lacking = [job for job in every if job.state in kind and lacks_in_group(world, job)]
        one = rng.choice(lacking or [one])
    if machine == "job" and one.state in ("PENDING", "HELD"):
        ask_pending(world, one)
    elif machine == "job" and one.state in ("DONE", "EXITED") and not one.group:
        if usable(world, one.uses):
            world.fire("job", one.number, "requeue")
    elif machine in ("job", "group") and (one.state == "RETRACTING" or rng.random() < 0.3):
        kill(world, machine, one)
    elif machine == "group" and one.state == "FORMING":
        world.fire("group", one.number, "seal")
    elif machine == "claim" and one.scope == "standalone":
        if rng.random() < 0.4 and one.state in ("PENDING", "BOUND", "EXPIRED"):
            world.fire("claim", one.number, "expire")
        else:
            one.asked = True
    elif machine == "suspension":
        suspend(world, world.things["job"][one.number])


def suspend(world: World, job: Job) -> None:
    """A plain job, or all of a gang that runs."""
    gang = [other for other in world.things["job"].values() if other.group == job.group]
    for one in gang if job.group else [job]:
        if one.state in ("STARTING", "RUNNING"):
            world.fire("suspension", one.number, "suspend")


def lacks_in_group(world: World, job: Job) -> bool:
    """Whether its group runs without it."""
    return bool(job.group) and world.things["group"][job.group].state == "RUNNING"


def ask_pending(world: World, job: Job) -> None:
    """Hold it, let it go, or end it. Members of an unsealed group are left alone."""
    if job.group and world.things["group"][job.group].state == "FORMING":
        return
    event = world.rng.choice(("hold", "hold", "release", "release", "kill"))
    if lacks_in_group(world, job) and world.rng.random() < 0.6:
        event = "hold"
    world.fire("job", job.number, event)


def kill(world: World, machine: str, one: Job | Group) -> None:
    """A kill; a group that waits or retracts is given up by the clock as often."""
    waits = machine == "group" and one.state in ("PENDING", "RETRACTING")
    event = "give_up" if waits and world.rng.random() < 0.5 else "kill"
    world.fire(machine, one.number, event)


def ask_host(world: World, name: str) -> None:
    """An operator asks something of a host or an instance."""
    rng = world.rng
    if rng.random() < 0.5:
        keys = [key for key in world.things["instance"] if key.startswith(f"{name}/")]
        world.fire("instance", rng.choice(keys), rng.choice(("taint", "untaint", "untaint")))
    else:
        world.fire("admin", name, rng.choice(("drain", "close", "open", "open", "open")))


# -- clocks and faults --------------------------------------------------------------------------
def tick(world: World, agent: Agent) -> None:
    """A timer of a host's silence runs out, now and then a false one."""
    if agent.is_silent or agent.is_crashed or world.rng.random() < 0.3:
        host = world.things["liveness"][agent.name]
        for _ in range(world.rng.randint(1, 2)):
            late = host.state in ("SUSPECT", "DOWN")
            event = "grace_end" if late or world.rng.random() < 0.1 else "miss"
            world.fire("liveness", agent.name, event)


def fault(world: World, agent: Agent, agents: list[Agent]) -> None:
    """One thing goes wrong, or is changed under way."""
    kind = world.rng.choice(
        (
            "silence",
            "crash",
            "agent",
            "lead",
            "plug",
            "plug",
            "remove",
            "clear",
            "mishap",
            "mishap",
            "mishap",
            "mishap",
            "mishap",
            "mishap",
        )
    )
    if kind == "silence":
        agent.is_silent = True
    elif kind == "crash":
        hosts.crash(agent)
    elif kind == "agent" and not agent.is_crashed:
        hosts.register(agent)
    elif kind == "lead":
        lead(world)
    elif kind == "plug":
        plug(world, agent)
    elif kind == "remove":
        remove(world, agent)
    elif kind == "mishap":
        hosts.mishap(world, agents)
    elif kind == "clear":
        clear(world, agent)


def come_back(world: World, agent: Agent) -> None:
    """A host takes part again: it boots, is heard, joins, takes work, has its instances."""
    if agent.is_crashed:
        hosts.boot(world, agent)
    agent.is_silent = False
    joins = any(report[0] == "register" for report in agent.outbox)
    if world.things["liveness"][agent.name].state == "GONE" and not joins:
        hosts.register(agent)
    if world.things["admin"][agent.name].state != "OPEN":
        world.fire("admin", agent.name, "open")
    for key in list(agent.unplugged):
        agent.unplugged.remove(key)
        agent.outbox.append(("report", key, ""))
    clear(world, agent)


def lead(world: World) -> None:
    """A new leader begins, in the middle of whatever goes on: only the state is left to it."""
    world.epoch += 1
    for name, host in world.things["liveness"].items():
        host.question += 1
        world.fire("liveness", name, "lead")


def plug(world: World, agent: Agent) -> None:
    """An instance is pulled out or put back; the host reports it."""
    keys = [key for key in world.things["instance"] if key.startswith(f"{agent.name}/")]
    key = world.rng.choice(keys)
    if key in agent.unplugged:
        agent.unplugged.remove(key)
        agent.outbox.append(("report", key, ""))
    elif not agent.is_crashed:
        agent.unplugged.append(key)
        agent.outbox.append(("miss", key, ""))


def clear(world: World, agent: Agent) -> None:
    """A provider says that an instance is sound, once nothing of it stands there."""
    for key, instance in world.things["instance"].items():
        is_here = key.startswith(f"{agent.name}/") and key not in agent.unplugged
        if is_here and instance.state == "QUARANTINED" and not world.holders(key):
            agent.outbox.append(("clear", key, ""))


def remove(world: World, agent: Agent) -> None:
    """`host lost` of a host that is really dead, or removal of one that is idle."""
    if agent.is_crashed and not is_idle(world, agent.name):
        hosts.give_up_host(world, agent.name)
    elif is_idle(world, agent.name):
        world.fire("liveness", agent.name, "remove")
        for key in world.things["instance"]:
            if key.startswith(f"{agent.name}/"):
                world.fire("instance", key, "miss" if world.holders(key) else "vanish")


# -- quiet --------------------------------------------------------------------------------------
def quiet_round(agents: list[Agent]) -> list[Act]:
    """One round without faults."""
    acts: list[Act] = [release_all, plan]
    for agent in agents:
        acts.append(lambda world, agent=agent: work_on(world, agent))
        acts += [lambda world, agent=agent: hosts.deliver(world, agent, False)] * 4
    return acts


def work_on(world: World, agent: Agent) -> None:
    """A host comes back if it must, takes its orders, and all goes well on it."""
    restore(world, agent)
    hosts.send_orders(world, agent)
    for _ in range(3):
        hosts.take_orders(world, agent, False)
    for _ in range(4):
        hosts.act(world, agent, 1.0)


def release_all(world: World) -> None:
    """Owners let go of what they hold back, and end what can never run."""
    for job in world.things["job"].values():
        if job.state == "HELD":
            world.fire("job", job.number, "release")
        claim = world.things["claim"].get(job.uses)
        if job.state == "PENDING" and claim and (claim.asked or claim.state != "BOUND"):
            world.fire("job", job.number, "kill")
    for group in world.things["group"].values():
        if group.state == "FORMING":
            world.fire("group", group.number, "seal")
    for claim in world.things["claim"].values():
        if claim.scope == "standalone":
            claim.asked = True


def restore(world: World, agent: Agent) -> None:
    """A host is heard again, takes work, and its instances are sound."""
    host = world.things["liveness"][agent.name]
    come_back(world, agent)
    if host.state in ("SUSPECT", "DOWN") and not agent.outbox:
        world.fire("liveness", agent.name, "hear")
        host.question += 1
    for key, instance in world.things["instance"].items():
        if instance.state == "TAINTED":
            world.fire("instance", key, "untaint")


def is_over(world: World, agents: list[Agent]) -> bool:
    """Whether nothing is left to happen."""
    ended = ("DONE", "EXITED", "RELEASED")
    return (
        all(
            one.state in ended
            for machine in ("job", "group", "claim", "attachment")
            for one in world.things[machine].values()
        )
        and not world.live_launches()
        and all(work.state == "gone" for agent in agents for work in agent.work.values())
    )
