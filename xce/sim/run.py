"""A workload played on a world: every job submitted at its moment, and what became of it."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.controller.step import Answer, Step
from xce.model.actor import USER, Actor
from xce.model.config import Config
from xce.model.group import GroupSpec, RoleSpec
from xce.model.host import HostFacts
from xce.model.ids import parse_job
from xce.model.job import Spec
from xce.model.records import LaunchStarted, Planned
from xce.model.tables import ENDED_JOB
from xce.sim.agents import Life
from xce.sim.instant import Rank
from xce.sim.readers import TraceJob
from xce.sim.results import Results, Row
from xce.sim.tape import Tape
from xce.sim.world import BEGAN_US, Rules, World

COMMAND = ("simulated",)
FIRST_UID = 1_000


class Play(Struct, frozen=True, kw_only=True):
    """How a workload is played. `exact`: its limits are its run times. `extend`: what runs longer
    than it asked for goes on, the limit is an estimate. `gpus`: its processors are GPUs."""

    exact: bool = False
    extend: bool = False
    gpus: bool = False


class Left(Struct, kw_only=True):
    """Jobs of the trace that were not played, and those that were and did not end."""

    never_ran: int = 0
    too_big: int = 0
    refused: int = 0
    unfinished: int = 0


class Running(Struct, gc=False):
    """A job of the trace that is in the world. `left` counts its members that have not ended."""

    job: TraceJob
    order: int
    left: int
    start_us: int = -1
    overtook: bool = False


class Run:
    """One workload on one cluster under one configuration."""

    def __init__(
        self, config: Config, hosts: dict[str, HostFacts], rules: Rules, play: Play, tape: Tape
    ) -> None:
        self.world = World(config, rules, tape)
        self.world.add_hosts(hosts)
        self.world.watch = self._watch
        self.play, self.left, self.results = play, Left(), Results()
        self._slots = sum(dict(one.counters)["slots"] for one in hosts.values())
        self._cards = sum(len(one.instances) for one in hosts.values())
        self._queues = {queue.name for queue in config.queues}
        self._span = "span[hosts=1]" if len(hosts) == 1 else ""
        self._running: dict[int, Running] = {}
        self._waiting: list[int] = []
        self._begun: set[int] = set()
        self._asked = 0

    def all(self, jobs: Sequence[TraceJob]) -> Results:
        """Play everything to the end."""
        coming = self._coming(jobs)
        following = next(coming, None)
        order = 0

        def more() -> bool:
            nonlocal following, order
            while following is not None:
                next_us = self.world.next_us()
                if next_us is not None and BEGAN_US + following.submit_us > next_us:
                    break
                order += 1
                self._submit(following, order)
                following = next(coming, None)
            return following is not None or bool(self._asked or self._running)

        self.world.run(more)
        self.left.unfinished = len(self._running)
        return self.results

    def _coming(self, jobs: Sequence[TraceJob]) -> Iterator[TraceJob]:
        """The jobs that can be played."""
        for job in sorted(jobs, key=lambda job: (job.submit_us, job.number)):
            need = job.tasks * job.members
            if job.run_us <= 0:
                self.left.never_ran += 1
            elif need > self._slots or (self._takes_gpus(job) and self._gpus(job) > self._cards):
                self.left.too_big += 1
            else:
                yield job

    def _takes_gpus(self, job: TraceJob) -> bool:
        return self.play.gpus or bool(job.gpus and self._cards)

    def _gpus(self, job: TraceJob) -> int:
        return job.tasks * job.members * max(1, job.gpus)

    # -- arrivals ------------------------------------------------------------------------------
    def _submit(self, job: TraceJob, order: int) -> None:
        limit_us = job.run_us if self.play.exact else job.limit_us or job.run_us
        needs = [f"ngpus_physical={max(1, job.gpus)}/task"] if self._takes_gpus(job) else []
        words = [f"rusage[{','.join(needs)}]"] if needs else []
        words += [self._span] if self._span and job.tasks > 1 else []
        spec = Spec(
            command=COMMAND,
            tasks=job.tasks,
            resreq=" ".join(words),
            run_limit_us=0 if self.play.extend else limit_us,
            run_estimate_us=limit_us if self.play.extend else 0,
        )
        actor = Actor(kind=USER, uid=FIRST_UID + max(0, job.user))
        queue = job.queue if job.queue in self._queues else ""
        command: c.SubmitJob | c.SubmitGroup = c.SubmitJob(actor=actor, spec=spec, queue=queue)
        if job.members > 1:
            role = RoleSpec(name="member", count=job.members, min=job.members)
            group = GroupSpec(name=job.name or f"gang-{job.number}", queue=queue, roles=(role,))
            command = c.SubmitGroup(actor=actor, spec=group, member_specs=(spec,))

        self._asked += 1

        def tell(answer: Answer) -> None:
            self._asked -= 1
            self._accepted(answer, job, order)

        self.world.at(BEGAN_US + job.submit_us, Rank.ARRIVAL, command, tell)

    def _accepted(self, answer: Answer, job: TraceJob, order: int) -> None:
        if not isinstance(answer, Outcome):
            self.left.refused += 1
            return
        named = answer.body.get("jobs") or [answer.body["job"]]
        running = Running(job, order, len(named))
        for name in named:
            key = parse_job(str(name))
            assert key is not None
            self._running[key] = running
            self.world.agents.lives[key] = Life(job.run_us)
        heappush(self._waiting, order)

    # -- what became of them -------------------------------------------------------------------
    def _watch(self, done: Step, now_us: int) -> None:
        for record in done.records:
            body = record.body
            if isinstance(body, Planned):
                for group in body.groups:
                    self._planned(group.members[0].job)
            elif isinstance(body, LaunchStarted):
                self._started(body)
            for change in body.then:
                if change.what == "job" and change.set and change.set.get("state") in ENDED_JOB:
                    self._ended(int(change.key), now_us)

    def _planned(self, key: int) -> None:
        running = self._running.get(key)
        if running is None:
            return
        waiting, begun = self._waiting, self._begun
        begun.add(running.order)
        while waiting and waiting[0] in begun:
            begun.discard(heappop(waiting))
        running.overtook = bool(waiting) and waiting[0] < running.order

    def _started(self, body: LaunchStarted) -> None:
        launch = self.world.state.launches.get(body.launch)
        running = self._running.get(launch.job) if launch is not None else None
        if running is not None and launch is not None and launch.processes:
            running.start_us = max(running.start_us, body.started_us)

    def _ended(self, key: int, now_us: int) -> None:
        running = self._running.pop(key, None)
        self.world.agents.lives.pop(key, None)
        if running is None:
            return
        running.left -= 1
        if running.left:
            return
        job = running.job
        start_us = running.start_us if running.start_us >= 0 else now_us
        self.results.add(
            Row(
                job.number, job.submit_us, start_us - BEGAN_US, now_us - BEGAN_US,
                job.tasks * job.members, int(running.overtook), job.user, job.queue,
            )
        )  # fmt: skip
