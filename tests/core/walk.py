"""Random worlds around the core: `python -m tests.core.walk --worlds 2000 [--seed N] [--crash 50]`.

A walk draws a cluster, submissions, what launches and providers do, mishaps and weather from one
seed, plays it to the end and then asks for the whole truth: every acknowledged job reached one
end, nothing is held, the log folds to the live state. What is broken on the way raises at once.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable

from msgspec import structs

from tests.core.arrays.chance import of_all_arrays, of_array, some_array
from tests.core.depending.chance import some_bound, some_dependency, some_job_group
from tests.core.fates import WEATHERS, some_fate
from tests.core.gangs import LEASES_US, some_gang
from tests.core.living.chance import change, requeue, some_life, some_size
from tests.core.sharing_chance import let_queues_go, some_sharing, turn_queue
from tests.core.standalone.chance import delete_all, some_claim, some_use
from tests.core.suspended import any_suspension, resume_of
from tests.core.ticked import LIC, some_tick
from tests.core.timing.chances import reserve, some_queue, some_time
from tests.kit.agents import Life, Provision
from tests.kit.words import (
    ANNA,
    BERT,
    BOSS,
    GB,
    OPS,
    SETTINGS,
    job,
    machine,
    settings,
)
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.core.view import Viewer
from xce.controller.recover import recover
from xce.dispatch import protocol as p
from xce.model.config import SECOND_US, RetryConfig
from xce.model.tables import ENDED_JOB
from xce.scheduler.session import run_session
from xce.wal.memory import MemoryLog

MINUTE_US = 60 * SECOND_US
GONE_IN_THE_END = (
    "reservation", "array", "job", "group", "start", "launch", "allocation", "claim", "attachment",
)  # fmt: skip


class Walk:
    """One world and the chance that plays with it."""

    def __init__(self, seed: int, crash_per_1000: int = 0) -> None:
        self.chance = random.Random(seed * 7919 + 1)
        count = self.chance.choice((1, 2, 3, 4))
        gpu_count = self.chance.choice((0, 2, 4))
        hosts = {f"n{i + 1}": machine(4, gpu_count, mem=16 * GB) for i in range(count)}
        config = settings(
            **some_time(self.chance),
            **some_sharing(self.chance),
            types=(LIC,),
            host_grace_us=40 * SECOND_US,
            start_retries=RetryConfig(max=3, first_us=SECOND_US, factor=2, cap_us=5 * SECOND_US),
        )
        self.world = World(hosts, seed, config, self.chance.choice(WEATHERS))
        self.world.scripts.default = self._life
        self.gpu_count = gpu_count
        self.crash_per_1000 = crash_per_1000
        self.calm = False
        self.world.crash = self._crash

    def _crash(self, name: str) -> bool:
        if self.calm or not self.crash_per_1000:
            return False
        return self.chance.randrange(1000) < self.crash_per_1000

    def _life(self, name: str, attempt: int) -> Life:
        return Life(run_us=SECOND_US) if self.calm else some_fate(self.chance)

    # -- what is submitted ---------------------------------------------------------------------
    def submit(self) -> None:
        """Something new."""
        actor = self.chance.choice((ANNA, BERT))
        if self.chance.random() < 0.5:
            life = some_life(self.chance, self.world.now_us)
            after = some_dependency(self.chance, self.world.state)
            lease = {"stop_after_us": self.chance.choice(LEASES_US), **some_queue(self.chance)}
            more = {**some_size(self.chance), **life, **lease}
            more["job_group"] = some_job_group(self.chance)
            more["claims"] = some_use(self.chance, self.world.state, actor.uid)
            if self.chance.random() < 0.3:
                self._ask(some_array(self.chance, actor, after=after, **more))
            else:
                self._ask(job(actor=actor, after=after, **more))
        else:
            self._ask(some_gang(self.chance, self.gpu_count, actor))

    def _ask(self, command: c.Command) -> None:
        world = self.world

        def tell(answer: object) -> None:
            body = getattr(answer, "body", None)
            if body:
                world.ledger.acknowledged(body)

        world.inbox.append((command, tell))
        world.turn()

    # -- mishaps -------------------------------------------------------------------------------
    def mishap(self) -> None:
        """One thing that somebody does or that goes wrong."""
        acts: tuple[tuple[int, Callable[[], None]], ...] = (
            (30, self.submit),
            (14, self.kill),
            (5, lambda: requeue(self)),
            (3, lambda: reserve(self)),
            (16, self.suspend),
            (12, lambda: of_array(self)),
            (5, lambda: self._ask(some_bound(self.chance))),
            (9, lambda: change(self)),
            (14, lambda: self._ask(some_claim(self))),
            (10, self.mute),
            (14, self.unmute),
            (6, self.restart),
            (5, self.reboot),
            (3, self.lost),
            (6, self.world.change_leader),
            (4, self.leaderless),
            (4, self.drain),
            (6, self.world.cut),
            (4, self.provider),
            (3, self.other_gpus),
            (2, self.remove),
            (3, self.reload),
            (4, lambda: self._ask(turn_queue(self.chance))),
            (3, self.claim_fails),
            (8, self.tick),
            (1, self.lie),
        )
        weights = [weight for weight, _ in acts]
        self.chance.choices([act for _, act in acts], weights)[0]()

    def _host(self) -> str:
        return self.chance.choice(sorted(self.world.agents))

    def kill(self) -> None:
        """Somebody kills a job or a gang."""
        state = self.world.state
        if state.groups and self.chance.random() < 0.5:
            self._ask(c.Kill(actor=OPS, group=self.chance.choice(sorted(state.groups))))
        elif state.jobs:
            self._ask(c.Kill(actor=OPS, job=self.chance.choice(sorted(state.jobs))))

    def suspend(self) -> None:
        """Somebody stops or holds a job or a gang, or lets it go on."""
        if command := any_suspension(self.world.state, self.chance):
            self._ask(command)

    def mute(self) -> None:
        """A line is cut, now and then for longer than leases last."""
        self.world.mute(self._host())
        if self.chance.random() < 0.2:
            self.world.run(100 * SECOND_US)

    def unmute(self) -> None:
        """A line is back."""
        self.world.unmute(self._host())

    def restart(self) -> None:
        """An agent restarts."""
        self.world.agents[self._host()].restart()

    def reboot(self) -> None:
        """A machine restarts."""
        self.world.agents[self._host()].reboot(keeps_journal=self.chance.random() < 0.7)

    def lost(self) -> None:
        """An operator, or a hook, says that a silent host is dead, and it is."""
        name = self._host()
        if self.world.state.hosts.get(name) and self.world.state.hosts[name].liveness != "UP":
            self.chance.choice((self.world.lose, self.world.leases.fence))(name)

    def leaderless(self) -> None:
        """Nobody leads for a while."""
        self.world.die()
        self.world.run(self.chance.choice((SECOND_US, 20 * SECOND_US, 90 * SECOND_US)))
        self.world.lead()

    def drain(self) -> None:
        """An operator closes or opens a host."""
        event = self.chance.choice(("drain", "open", "open", "close"))
        self._ask(c.HostEvent(actor=OPS, host=self._host(), event=event))

    def provider(self) -> None:
        """Providers begin to do otherwise."""
        how = self.chance.choice(("ok", "fail", "hang"))
        release = self.chance.choice(("ok", "ok", "hang"))
        self.world.scripts.provisions["rendezvous"] = Provision(how=how, release=release)

    def other_gpus(self) -> None:
        """A machine comes back with more or fewer GPUs."""
        agent = self.world.agents[self._host()]
        agent.facts = machine(4, self.chance.randint(0, 4), mem=16 * GB)
        agent.restart()

    def remove(self) -> None:
        """An operator takes a host out; it may come back by itself."""
        self._ask(c.HostEvent(actor=OPS, host=self._host(), event="remove"))

    def reload(self) -> None:
        """The settings change: a queue stops or goes on, another order."""
        world = self.world
        queues = tuple(
            structs.replace(
                queue, active=self.chance.random() < 0.7, priority=self.chance.randint(1, 50)
            )
            for queue in world.config.queues
        )
        world.config = structs.replace(world.config, queues=queues)
        self._load()

    def _load(self) -> None:
        config = self.world.config
        self._ask(c.LoadConfig(actor=BOSS, config=config, digest=repr(config)))

    def tick(self) -> None:
        """Reporters tell something else."""
        self._ask(some_tick(self.chance, sorted(self.world.agents)))

    def claim_fails(self) -> None:
        """What a provider made usable breaks."""
        agent = self.world.agents[self._host()]
        for here in agent.attachments.values():
            if here.phase == "ready" and here.level == 1:
                here.phase = "failed"
                agent.tell_attachment(here, "failed", message="it broke")
                return

    def lie(self) -> None:
        """An agent reports what cannot be, or that a process cannot be killed."""
        agent = self.world.agents[self._host()]
        here = next((one for one in agent.launches.values() if one.phase == "stopping"), None)
        if here is not None:
            agent.put(p.Unkillable, launch=here.number, generation=here.generation)
        elif agent.incarnation:
            agent.put(p.Armed, launch=1_000_000, generation=1)

    # -- the whole -----------------------------------------------------------------------------
    def play(self, mishaps: int) -> None:
        """Begin, go through mishaps, settle, and ask for the whole truth."""
        world = self.world
        world.run(SECOND_US)
        for _ in range(mishaps):
            self.mishap()
            world.run(self.chance.choice((0, 500, 2_000, 30_000, SECOND_US, 10 * SECOND_US)))
        self.settle()
        again, _ = recover(MemoryLog(world.store))
        again.epoch = world.state.epoch
        assert digest(again) == digest(world.state), "the log folds to another state"

    def settle(self) -> None:
        """Everything is mended, what is held is let go; all must come to an end."""
        world = self.world
        self.calm = True
        world.scripts.provisions.clear()
        queues = tuple(structs.replace(queue, active=True) for queue in world.config.queues)
        world.config = structs.replace(world.config, queues=queues, limits=(), users=())
        for command in let_queues_go():
            self._ask(command)
        self._load()
        for name in sorted(world.agents):
            world.unmute(name)
            world.agents[name].facts = machine(4, self.gpu_count, mem=16 * GB)
            self._ask(c.HostEvent(actor=OPS, host=name, event="open"))
            world.agents[name].restart()
        for name in sorted(world.agents):
            for here in world.agents[name].attachments.values():
                if here.phase == "releasing":
                    here.phase = "released"
                    world.agents[name].tell_attachment(here, "released")
        for key in sorted(world.state.jobs):
            if world.state.jobs[key].requeue == "HELD":
                self._ask(c.RequeueJob(actor=OPS, job=key))
            if command := resume_of(world.state, key):
                self._ask(command)
        of_all_arrays(self, c.Resume)
        world.run(10 * MINUTE_US)
        self.assert_nothing_is_stuck()
        for key in sorted(world.state.jobs):
            if world.state.jobs[key].state in ("PENDING", "STARTING", "RUNNING"):
                self._ask(c.Kill(actor=OPS, job=key))
        of_all_arrays(self, c.Kill)
        delete_all(self)
        world.rest(40 * MINUTE_US)
        world.ledger.assert_whole()
        world.run(world.config.clean_period_us + MINUTE_US)
        left = [name for name in GONE_IN_THE_END if world.state.tables[name]]
        assert not left, f"after the clean period there still are: {left}"

    def assert_nothing_is_stuck(self) -> None:
        """On a sound cluster only that is left which cannot fit, or whose preparation hangs."""
        world, state = self.world, self.world.state
        hangs = {
            str(here.number)
            for agent in world.agents.values()
            for here in agent.launches.values()
            if here.phase == "preparing" and here.life.prepare == "hang"
        }
        for key, found in sorted(state.jobs.items()):
            if found.state in ENDED_JOB or hangs & {str(one) for one in found.launches}:
                continue
            if hangs and found.suspension == "SUSPENDED" and found.resume_us:
                continue  # What it lent is with work whose preparation hangs.
            if found.state == "FINISHED" and state.index.gangs.waiting.get(found.group):
                continue
            assert found.state == "PENDING", f"job {key} is {found.state} on a sound cluster"
        plan = run_session(Viewer(state).snapshot(world.now_us))
        assert not plan.placements, f"work waits that fits: {plan.placements}"


def play(seed: int, crash_per_1000: int = 0, mishaps: int = 25) -> Walk:
    """One world from its seed to its end."""
    walk = Walk(seed, crash_per_1000)
    walk.play(mishaps)
    return walk


def main() -> int:
    """Many worlds; prints what went wrong by seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.walk")
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crash", type=int, default=0, help="of 1000 named points passed")
    parser.add_argument("--mishaps", type=int, default=25)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    began, failures, kinds = time.monotonic(), Counter[str](), Counter[str]()
    moves: Counter[tuple[str, str]] = Counter()
    crashes = 0
    for seed in range(asked.seed, asked.seed + asked.worlds):
        try:
            walk = play(seed, asked.crash, asked.mishaps)
            kinds += walk.world.ledger.kinds
            moves += walk.world.ledger.moves
            crashes += walk.world.crashes
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            key = "".join("#" if one.isdigit() else one for one in text)[:110]
            if not failures[key] or asked.verbose:
                print(f"seed {seed}: {text[:300]}")
                if asked.verbose:
                    traceback.print_exc()
            failures[key] += 1
    for key, times in failures.most_common():
        print(f"{times:5}  {key}")
    print(dict(sorted(kinds.items())))
    print({f"{what} {event}": n for (what, event), n in sorted(moves.items()) if event})
    print(f"{asked.worlds} worlds, {sum(failures.values())} failed, {crashes} crashes, "
          f"{time.monotonic() - began:.1f} s")  # fmt: skip
    return 1 if failures else 0


__all__ = ["SETTINGS", "Walk", "play"]

if __name__ == "__main__":
    sys.exit(main())
