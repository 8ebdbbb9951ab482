"""An engine for tests: the real core on a log in memory, without sessions, agents or a disk."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from msgspec import Struct

from xce.api.serve import Service
from xce.controller.core.commands import (
    Command,
    LoadConfig,
    RegisterHost,
    Rejection,
    StartLeading,
    SubmitGroup,
)
from xce.controller.core.decide import decide
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.state import State
from xce.controller.core.time.estimate import Estimate
from xce.controller.core.whatif import Change, what_if
from xce.dispatch.protocol import PROTOCOL, Orders, Poll
from xce.model.actor import CONTROLLER, HOST, Actor
from xce.model.config import ApplicationConfig, Config, QueueConfig
from xce.model.host import HostFacts, InstanceFacts
from xce.model.records import Record
from xce.scheduler.reasons import Code, PendReason, reason

NOW_US = 1_700_000_000_000_000
CONFIG = Config(
    levels=("nvlink", "host", "block"),
    queues=(
        QueueConfig(name="normal", description="the default queue"),
        QueueConfig(name="night", priority=10, active=False),
        QueueConfig(name="shut", priority=5, open=False),
    ),
    applications=(
        ApplicationConfig(name="fluent", description="CFD", resreq="rusage[mem=4GB] span[hosts=1]"),
        ApplicationConfig(name="abaqus"),
    ),
    allow_root=True,
)


class Answer(Struct, frozen=True, kw_only=True):
    lsn: int
    entity: str
    body: dict[str, Any]


class MemoryEngine:
    """Implements `xce.api.ports.Engine`."""

    def __init__(self) -> None:
        self.state = State()
        self.state.epoch = 1
        self.log: list[Record] = []
        self.commands: list[Command] = []
        self.retired: dict[str, dict[str, Any]] = {}
        self.estimates: dict[str, Estimate] = {}
        self.answers: dict[tuple[int, str], tuple[str, dict[str, Any]]] = {}
        self.answer_now = True
        self.refused: dict[str, str] = {}
        self._grown = asyncio.Condition()
        self._take(
            StartLeading(
                actor=CONTROLLER,
                holder="t",
                version="0",
                database="memory",
                boot_id="b",
                resumed_lsn=0,
            )
        )
        self._take(LoadConfig(actor=CONTROLLER, config=CONFIG, digest="d"))

    @property
    def anchor(self) -> tuple[int, str]:
        return self.state.lsn, "hash"

    @property
    def about(self) -> Mapping[str, Any]:
        return {"name": "memory", "version": "", "durability": {"durable": "no"}}

    @property
    def refused_hosts(self) -> Mapping[str, str]:
        return self.refused

    def _take(self, command: Command) -> Answer | Rejection:
        self.commands.append(command)
        request = getattr(command, "request", None)
        if request is not None and request.key:
            seen = self.answers.get((command.actor.uid, request.key))
            if seen is not None:
                known = msgspec.structs.replace(request, seen_digest=seen[0], seen_answer=seen[1])
                command = msgspec.structs.replace(command, request=known)  # type: ignore[type-var]
        outcome = decide(self.state, command, NOW_US + len(self.log) * 1_000_000)
        if isinstance(outcome, Rejection):
            return outcome
        for name, blob in outcome.blobs.items():
            self.state.intern(name, blob)
        for record in outcome.records:
            apply(self.state, record)
            self.log.append(record)
        if request is not None and request.key:
            self.answers[(command.actor.uid, request.key)] = (request.digest, outcome.body)
        return Answer(lsn=self.state.lsn, entity="", body=outcome.body)

    async def ask(self, command: Command) -> Answer | Rejection:
        result = self._take(command)
        async with self._grown:
            self._grown.notify_all()
        return result

    async def settled(self) -> None:
        await asyncio.sleep(0)

    @property
    def now_us(self) -> int:
        return self.state.at_us

    async def confirmed(self) -> None:
        await self.settled()

    async def changed(self, after_lsn: int, timeout_s: float) -> int:
        with contextlib.suppress(TimeoutError):
            async with self._grown:
                await asyncio.wait_for(
                    self._grown.wait_for(lambda: self.state.lsn > after_lsn), timeout_s
                )
        return self.state.lsn

    @property
    def log_id(self) -> str:
        return "own"

    async def witness(self, host: str, lsn: int, digest: str) -> None:
        self.witnessed = (host, lsn, digest)

    async def poll(self, poll: Poll) -> Orders:
        return Orders(
            protocol=PROTOCOL,
            epoch=self.state.epoch,
            incarnation=poll.incarnation,
            stamp=poll.stamp,
            reconcile=True,
        )

    async def story(self, entity: str) -> Sequence[Record]:
        return [record for record in self.log if entity in record.entities]

    async def records(self, after_lsn: int, limit: int) -> Sequence[Record]:
        return [record for record in self.log if record.lsn > after_lsn][:limit]

    async def finished(self, entity: str) -> Mapping[str, Any] | None:
        return self.retired.get(entity)

    async def dry_run(self, command: SubmitGroup | Change) -> Mapping[str, Any] | Rejection:
        if not isinstance(command, SubmitGroup):
            return what_if(self.state, command, self.now_us)
        why = reason(Code.NO_HOSTS)
        return {"fits": False, "never": False, "members": [], "reason": why.text()}

    def expected(self, entity: str) -> Estimate | None:
        return self.estimates.get(entity)

    def reasons_for(self, entity: str) -> PendReason | None:
        if entity == "1":
            return reason(
                Code.SHORT_ON_HOST,
                what="gpu",
                needed=8,
                available=6,
                where="n1",
                hosts=(("short of gpu", 2),),
            )
        return None

    def add_host(self, name: str, *, gpus: int = 2, slots: int = 4) -> None:
        facts = HostFacts(
            counters=(("mem", 8 << 30), ("slots", slots)),
            domains=(("nvlink", f"{name}-nv"),),
            instances=tuple(
                InstanceFacts(type="gpu", name=str(n), attributes=(("model", "H100"),))
                for n in range(gpus)
            ),
        )
        actor = Actor(kind=HOST, name=name)
        self._take(RegisterHost(actor=actor, host=name, boot_id="b1", facts=facts))

    def put(self, what: str, key: int | str, **fields: Any) -> None:
        """Change an entity behind the log's back, for states that need a session or a host."""
        entity = self.state.tables[what][key]
        self.state.put(what, key, msgspec.structs.replace(entity, **fields))


@contextlib.asynccontextmanager
async def served(home: Path) -> AsyncIterator[tuple[MemoryEngine, Service]]:
    """An engine and its service on a real socket in `home`."""
    engine = MemoryEngine()
    service = Service(engine, home)
    await service.start()
    try:
        yield engine, service
    finally:
        await service.stop()


def run(coroutine: Any) -> Any:
    """Run one test's coroutine on the loop that the service uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def own_uid() -> int:
    return os.getuid()
