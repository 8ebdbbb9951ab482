"""The loop: the only writer. It gathers commands, steps, commits, and then tells the world.

One task decides; commits run on one writer thread while the event loop goes on reading requests.
Nothing is decided while a commit is under way, and readers wait for it (`settled`), so that no
reader, answer or order ever carries what is not durable. Sessions run between steps on a snapshot
and yield after a fixed count of search steps. A failed commit ends everything: the composition
(`xce/ops/serving.py`) takes over anew or ends the process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from xce.controller.asking import WAITING_MAX, Answered, Asker, Overloaded, Stopped, Turns
from xce.controller.clock import Clock
from xce.controller.core.commands import (
    Command,
    RegisterHost,
    Rejection,
    SubmitGroup,
    SubmitJob,
    TakeReport,
)
from xce.controller.core.fold.state import State
from xce.controller.core.whatif import Change
from xce.controller.cuts import Cutter, noted
from xce.controller.hosts import Hosts
from xce.controller.observing import Observing, turned
from xce.controller.recover import missing
from xce.controller.sessions import Sessions
from xce.controller.step import Answer as Decided
from xce.controller.step import Step, decide_all
from xce.controller.writer import Writer
from xce.dispatch.protocol import Orders, Poll
from xce.model.records import Record
from xce.scheduler.reasons import PendReason
from xce.wal.port import RecordsMissing

Read = TypeVar("Read")
BATCH_MAX = 256
IDLE_S = 0.5
SILENCE_CHECK_US = 500_000
INBOX_MAX = 20_000


class Controller:
    """One leading controller over one log."""

    def __init__(
        self,
        state: State,
        cutter: Cutter,
        writer: Writer,
        clock: Clock,
        holds: Callable[[], bool] = lambda: True,
        *,
        confirm: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.state = state
        self._holds = holds
        self._confirm = confirm
        self.clock = clock
        self.hosts = Hosts(state)
        self.sessions = Sessions(state)
        self._observing = Observing(state)
        self._cutter = cutter
        self._writer = writer
        self._inbox: list[tuple[Command, Asker]] = []
        self._taken: list[Asker] = []
        self._wake = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._moved = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._silence_us = 0
        self._turns: Turns | None = None

    # -- asking ------------------------------------------------------------------------------------
    async def ask(self, command: Command) -> Answered | Rejection:
        """Decide, commit, answer. Raises Overloaded before anything was done, Stopped when the
        outcome is unknown."""
        if self._failure is not None or self._stopping:
            raise Stopped("the controller is stopping")
        busy = self._turns is not None and isinstance(command, SubmitJob | SubmitGroup)
        if len(self._inbox) >= (WAITING_MAX if busy else INBOX_MAX):
            raise Overloaded("too many requests are waiting")
        if isinstance(command, TakeReport):
            self._hear(command.host, command.incarnation)
        future: asyncio.Future[Answered | Rejection] = asyncio.get_running_loop().create_future()
        self._inbox.append((command, future))
        self._wake.set()
        answered = await future
        if isinstance(command, RegisterHost):
            refused = answered if isinstance(answered, Rejection) else None
            self.hosts.answered(command.host, refused)
        return answered

    def post(self, command: Command) -> None:
        """Decide it with the next step; nobody waits for the answer."""
        self._inbox.append((command, None))
        self._wake.set()

    async def settled(self) -> None:
        """Until no commit is under way; then the state may be read up to the next await."""
        while not self._settled.is_set():
            await self._settled.wait()
        if self._failure is not None:
            raise Stopped("the controller has stopped")
        if not self._holds():
            raise Stopped("somebody else may lead by now")

    async def confirmed(self) -> None:
        """As `settled`, once a look that began after this call has shown who leads."""
        if self._confirm is not None:
            await self._confirm()
        await self.settled()

    async def changed(self, after_lsn: int, timeout_s: float) -> int:
        """Until the state is beyond `after_lsn`, or the time is over; its lsn."""
        await self.settled()
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while self.state.lsn <= after_lsn and not self._stopping:
            left = end - loop.time()
            if left <= 0:
                break
            try:
                await asyncio.wait_for(self._moved.wait(), left)
            except TimeoutError:
                break
            await self.settled()
        return self.state.lsn

    @property
    def anchor(self) -> tuple[int, str]:
        """Lsn and hash of the last committed record."""
        head = self._writer.head
        return head.lsn, head.hash.hex()

    @property
    def about(self) -> Mapping[str, Any]:
        """What log this is and which durability it read back."""
        told = self._writer.log.about()
        return {"name": told.name, "version": told.version, "durability": told.durability}

    # -- hosts -------------------------------------------------------------------------------------
    @property
    def log_id(self) -> str:
        """The log's identity; "" once its first record was deleted."""
        return self._writer.log_id

    @property
    def refused_hosts(self) -> Mapping[str, str]:
        """Hosts that asked to be let in and were refused last, and why."""
        return self.hosts.refused

    def _hear(self, host: str, incarnation: int) -> None:
        event = self.hosts.hear(host, self.clock.now_us(), incarnation)
        if event is not None:
            self.post(event)

    async def poll(self, poll: Poll) -> Orders:
        """Orders of a host newer than its stamp; waits up to `poll.wait_ms` for some."""
        loop = asyncio.get_running_loop()
        end = loop.time() + min(poll.wait_ms, 30_000) / 1000
        self._hear(poll.host, poll.incarnation)
        self._observing.hear(poll, self.clock.now_us())
        await self.settled()
        if self.log_id and poll.log_id not in ("", self.log_id):
            return self.hosts.stranger(poll, self.anchor)
        if poll.log_id and not self.hosts.is_known_to_this_leader(poll.host):
            await self.witness(poll.host, poll.anchor_lsn, poll.anchor_hash)
        while True:
            await self.settled()
            answer = self.hosts.orders(poll, self.clock.now_us(), self.anchor)
            if answer is not None:
                self._writer.reach("before_order")
                # The caller writes the answer out before the event loop turns again.
                loop.call_soon(self._writer.reach, "after_order")
                return answer
            left = end - loop.time()
            if left <= 0 or self._stopping:
                return self.hosts.nothing(poll, self.anchor)
            await self.hosts.box(poll.host).wait(min(left, 1.0))

    async def witness(self, host: str, lsn: int, digest: str) -> None:
        """Compare the last record that a host knows of this log with it; a log that lacks it ends
        the controller. A host of another log is refused when it registers."""
        why = await self._read(missing, self._writer.log, self._writer.head, host, (lsn, digest))
        if why:
            self._failure = RecordsMissing(why)
            self._wake.set()
            raise Stopped(why)

    # -- looking -----------------------------------------------------------------------------------
    def reasons_for(self, entity: str) -> PendReason | None:
        """Why a job or a group waits, as the last session saw it."""
        return self.sessions.reason_for(entity)

    async def dry_run(self, command: SubmitGroup | Change) -> Mapping[str, Any] | Rejection:
        """What would happen with this; nothing is kept."""
        await self.settled()
        return self.sessions.dry_run(command, self.clock.now_us())

    async def story(self, entity: str) -> Sequence[Record]:
        """The records that name an entity, oldest first."""

        def read() -> list[Record]:
            found: list[Record] = []
            while page := self._writer.log.story(entity, found[-1].lsn if found else 0):
                found += page
            return found

        return await self._read(read)

    async def records(self, after_lsn: int, limit: int) -> Sequence[Record]:
        """The next committed records of the log."""

        def read() -> list[Record]:
            first = max(after_lsn, self._writer.log.floor()) + 1
            return list(self._writer.log.read(first, min(after_lsn + limit, self._writer.head.lsn)))

        return await self._read(read)

    async def finished(self, entity: str) -> Mapping[str, Any] | None:
        """Work that left the state, None when there was none of that name."""
        return await self._read(self._writer.finished, entity)

    async def _read(self, function: Callable[..., Read], *args: Any) -> Read:
        return await asyncio.get_running_loop().run_in_executor(None, function, *args)

    # -- running -----------------------------------------------------------------------------------
    async def run(self) -> None:
        """Until `stop`; raises what ended it otherwise."""
        self.hosts.begin(self.clock.now_us())
        try:
            while not self._stopping and self._failure is None:
                await self._turn()
            if self._failure is not None:
                raise self._failure
            await self._last_cut()
        except BaseException as error:
            self._failure = error
            raise
        finally:
            self._end()

    def stop(self) -> None:
        """End after the step under way, with a cut."""
        self._stopping = True
        self._wake.set()
        self._moved.set()
        self.hosts.wake()

    def _end(self) -> None:
        self._leave(self._taken)
        self._leave([future for _, future in self._inbox])
        self._inbox.clear()
        self._settled.set()
        self._moved.set()
        self._thread.shutdown(wait=True)

    def _leave(self, futures: list[Asker]) -> None:
        """Leave askers without an answer: what became of what they asked is unknown."""
        for future in futures:
            if future is not None and not future.done():
                future.set_exception(Stopped("the controller stopped before it answered"))

    async def _turn(self) -> None:
        await self._step()
        if self.sessions.wanted() and not self._stopping:
            await self._session()
        if not self._inbox and not self.sessions.wanted():
            await self._idle()

    async def _idle(self) -> None:
        self._wake.clear()
        if self._inbox or self._stopping or self._cutter.under_way:
            return
        due_us = self.state.index.timers.next_due_us()
        left_s = IDLE_S if due_us is None else (due_us - self.clock.now_us()) / 1_000_000
        wait_s = min(IDLE_S, max(0.0, left_s))
        try:
            await asyncio.wait_for(self._wake.wait(), wait_s)
        except TimeoutError:
            return

    async def _step(self) -> None:
        """One step over what is there; never waits for more."""
        now_us = self.clock.now_us()
        taken, self._inbox = self._inbox[:BATCH_MAX], self._inbox[BATCH_MAX:]
        self._taken = [future for _, future in taken]
        commands = [self._with_facts(command, now_us) for command, _ in taken]
        if now_us - self._silence_us > SILENCE_CHECK_US:
            self._silence_us = now_us
            joining = {one.host for one in commands if isinstance(one, RegisterHost)}
            commands += self.hosts.silent(now_us, joining)
            commands += [*self._observing.due(now_us), *turned(self.state, now_us)]
        due_us = self.state.index.timers.next_due_us()
        if not commands and not (due_us is not None and due_us <= now_us):
            if self._cutter.under_way:
                await self._write(Step(records=(), blobs={}, answers=()), [])
            return
        done = decide_all(self.state, commands, now_us)
        self.sessions.note(done)
        await self._write(done, commands)
        self._publish(done, self._taken)
        self._taken = []

    def _with_facts(self, command: Command, now_us: int) -> Command:
        """The command with what decide cannot see: looked up in the log, or heard."""
        if isinstance(command, SubmitJob | SubmitGroup):
            command = self.sessions.never.with_answer(command, now_us)
        return self.hosts.with_facts(self._writer.with_facts(command), now_us)

    async def _write(self, done: Step, commands: list[Command]) -> None:
        if self._cutter.due():
            self._cutter.begin()
        if not done.records and not self._cutter.under_way:
            return
        self._settled.clear()
        batch = self._writer.batch(done, commands)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.commit, batch)
        if batch.cut_close is not None:
            self._cutter.closed()
            self.post(noted(batch.cut_close))
        self._settled.set()

    def _publish(self, done: Step, futures: list[Asker]) -> None:
        if done.records:
            self._writer.reach("before_publish")
            self.hosts.note(done.records)
            self._moved.set()
            self._moved = asyncio.Event()
            self._writer.reach("after_publish")
        # A commit has shown who leads; what needed none is only worth telling while it is known.
        if not done.records and not self._holds():
            self._leave(futures)
        for answer, future in zip(done.answers, futures, strict=False):
            if future is not None and not future.done():
                self._writer.reach("before_answer")
                future.set_result(self._answer(answer))
                asyncio.get_running_loop().call_soon(self._writer.reach, "after_answer")

    def _answer(self, answer: Decided) -> Answered | Rejection:
        if isinstance(answer, Rejection):
            return answer
        last = answer.records[-1] if answer.records else None
        lsn = last.lsn if last else answer.lsn or self.state.lsn
        first = answer.records[0].entities if answer.records else ()
        return Answered(lsn=lsn, entity=first[0] if first else "", body=answer.body)

    async def _session(self) -> None:
        """One session: on a snapshot, with steps in between, committed slice by slice."""
        turns = self._turns = Turns()
        with turns.session():
            work = self.sessions.begin(self.clock.now_us())
        while True:
            with turns.session():
                over = self.sessions.advance(work)
            await asyncio.sleep(0)
            if over:
                break
            await self._between(turns)
        for slice_ in self.sessions.slices(work):
            with turns.session():
                done = decide_all(self.state, [slice_], self.clock.now_us())
                self.sessions.note(done)
                self.sessions.committed(work, done)
                await self._write(done, [slice_])
                self._publish(done, [])
            await self._between(turns)
        self._turns = None
        closing = self.sessions.end(work)
        if closing is not None:
            self.post(closing)

    async def _between(self, turns: Turns) -> None:
        """What was asked meanwhile, unless the session is owed time."""
        if self._inbox and turns.step_is_next:
            with turns.step():
                await self._step()

    async def _last_cut(self) -> None:
        """At a clean stop: close the cut under way, then one of what changed since."""
        await self._finish_cut()
        if self.state.changed and self.state.lsn > self._cutter.last_lsn:
            self._cutter.begin()
            await self._finish_cut()

    async def _finish_cut(self) -> None:
        while self._cutter.under_way:
            await self._write(Step(records=(), blobs={}, answers=()), [])
