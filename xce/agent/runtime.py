"""The agent at work: register, reconcile, take orders, post reports, until told to stop.

Three threads beside the main one: `orders` keeps the long poll open and hands orders to the
supervisor and the keeper; `reports` posts what waits in the outbox; the supervisor's reader fills
it by way of `tidings`. Nothing is done by an epoch below the highest seen, and a higher one is
durable before anything is done by it. A poll's stamp is raised only when the orders of the answer
are durable. The supervisor is told when a poll that was answered had been sent: leases count from
there. The journal is of one log: the first registration writes down which, and neither side
goes on with another. An agent whose incarnation is taken by another asks for it again ever later.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from xce import crashpoint
from xce.agent.attachments import Keeper
from xce.agent.link import CLONED, Addresses, Line, Place, Refused, Unreachable
from xce.agent.outbox import Outbox
from xce.agent.reporters.board import Board
from xce.agent.settings import AgentConfig
from xce.agent.supervised import Supervised, SupervisorLost
from xce.agent.supervisor.kernel import clock_us
from xce.agent.supervisor.wire import Message
from xce.agent.tidings import Tidings
from xce.dispatch.protocol import (
    FREEZING,
    GONE,
    LEASES,
    PROTOCOL,
    RUNNING,
    UNKILLABLE,
    AttachmentResult,
    Ended,
    LaunchOrder,
    Orders,
    Poll,
    Register,
    Registered,
    Report,
    Reports,
    ReportsTaken,
)
from xce.model.host import HostFacts

REPORTS_MAX = 500
ANSWER_S = 15.0
EXPIRY_S = 0.5
EXIT_WRONG, EXIT_REFUSED = 1, 7

Answer = TypeVar("Answer", Registered, Orders, ReportsTaken)


class StaleController(Exception):
    """An answer of an epoch below one that was seen: its sender was replaced."""


class Session:
    """What the agent knows of its standing with the controller; shared by its threads."""

    def __init__(self) -> None:
        self.epoch = 0
        self.incarnation = 0
        self.stamp = 0
        self.anchor = (0, "")
        self.log_id = ""
        self.host_key = ""
        self.heartbeat_ms = 0
        self.can: tuple[str, ...] = ()
        self._changed = threading.Condition()

    def see(self, told: Message) -> None:
        """What the host journal holds."""
        self.epoch = max(self.epoch, told["epoch"])
        if told["anchor_lsn"] > self.anchor[0]:
            self.anchor = (told["anchor_lsn"], told["anchor_hash"])
        self.host_key = told["host_key"]
        self.can = tuple(told.get("can", ()))
        self.log_id = told.get("log_id") or self.log_id

    def enter(self, incarnation: int) -> None:
        """The controller knows this agent as its host's present incarnation."""
        with self._changed:
            self.incarnation, self.stamp = incarnation, 0
            self._changed.notify_all()

    def leave(self, incarnation: int) -> None:
        """That incarnation is over; registering again is due."""
        with self._changed:
            if self.incarnation == incarnation:
                self.incarnation = 0

    def await_incarnation(self) -> int:
        """The incarnation, as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self.incarnation > 0)
            return self.incarnation


class Agent:
    """One host's agent."""

    def __init__(self, config: AgentConfig, facts: HostFacts, boot_id: str, token: str) -> None:
        self.config = config
        self.outbox = Outbox(time.time_ns() // 1000)
        self.session = Session()
        self.board = Board()
        self.tidings = Tidings(self.outbox, facts.address, self.session.see)
        self.supervised = Supervised(config, boot_id, self.tidings.heard, self.fail)
        self.keeper: Keeper
        self._verdict: tuple[str, int] | None = None
        self._facts = facts
        self._boot_id = boot_id
        self._token = token
        self._addresses = Addresses(config.controllers)
        self._ended = threading.Event()

    # --- life -----------------------------------------------------------------------------

    def begin(self, keeper: Keeper) -> None:
        """Bring up supervisor, keeper and threads."""
        self.keeper = self.tidings.keeper = keeper
        threading.excepthook = self._crashed
        self.supervised.open()
        while not self.tidings.listed.wait(EXPIRY_S):
            if self._verdict is not None:
                raise SupervisorLost(self._verdict[0])
        keeper.start()
        for name, work in (("orders", self._take_orders), ("reports", self._post_reports)):
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Refused as error:
            self.end(str(error), EXIT_REFUSED)

    def _crashed(self, what: threading.ExceptHookArgs) -> None:
        """A thread ended by an error of ours; going on without it would only look like working."""
        sys.__excepthook__(what.exc_type, what.exc_value or what.exc_type(), what.exc_traceback)
        self.fail(f"internal error: {what.exc_type.__name__}: {what.exc_value}")

    def fail(self, why: str) -> None:
        """Stop, because the agent cannot work here."""
        self.end(why, EXIT_WRONG)

    def end(self, why: str, code: int) -> None:
        """Stop; the first to say so gives the reason, "" when it was asked for."""
        if self._verdict is None:
            self._verdict = (why, code)
        self._ended.set()

    def wait(self) -> tuple[str, int]:
        """Until the end: why, and the exit code."""
        while not self._ended.wait(EXPIRY_S):
            self.keeper.expire()
        return self._verdict or ("", 0)

    # --- orders -----------------------------------------------------------------------------

    def _take_orders(self) -> None:
        line, place = self._line(), Place(self.config.clone_wait_s)
        pause_s = 0.0
        while True:
            try:
                if self.session.incarnation == 0:
                    time.sleep(place.pause_s(time.monotonic()))
                    self._take_place(line, place)
                self._poll(line)
                pause_s = 0.0
            except (Unreachable, StaleController, SupervisorLost):
                pause_s = min(self.config.retry_cap_s, 2 * pause_s or self.config.retry_first_s)
                time.sleep(pause_s)

    def _line(self) -> Line:
        return Line(self._addresses, self._token, self.config.poll_wait_ms / 1000 + ANSWER_S)

    def _ask(self, line: Line, what: str, question: object, kind: type[Answer]) -> Answer:
        path = f"/v1/agents/{self.config.host}/{what}"
        body = line.post(path, msgspec.json.encode(question))
        try:
            answer = msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise Refused(
                f"the controller's answer to {what} is not understood: {error}"
            ) from error
        if answer.epoch < self.session.epoch:
            self._addresses.leave(self._addresses.current())
            raise StaleController
        return answer

    def _take_place(self, line: Line, place: Place) -> None:
        """Register. Another agent of this name that is heard may be this host's before a reboot:
        then it is not heard any more in a while."""
        try:
            self._register(line)
        except Refused as error:
            if error.code != CLONED or place.is_taken(time.monotonic()):
                raise
            if place.tries == 1:
                print(f"xce agent {self.config.host}: {error}; asking again for "
                      f"{self.config.clone_wait_s:g} s", file=sys.stderr, flush=True)  # fmt: skip
            raise Unreachable(str(error)) from error
        place.took(time.monotonic())

    def _register(self, line: Line) -> None:
        session = self.session
        question = Register(
            protocol=PROTOCOL,
            host=self.config.host,
            boot_id=self._boot_id,
            facts=self._facts,
            agent=session.host_key,
            log_id=session.log_id,
            epoch=session.epoch,
            anchor_lsn=session.anchor[0],
            anchor_hash=session.anchor[1],
            can=session.can,
        )
        answer = self._ask(line, "register", question, Registered)
        if answer.protocol != PROTOCOL:
            raise Refused(f"the controller speaks protocol {answer.protocol}, not {PROTOCOL}")
        self._see_epoch(answer.epoch, answer.log_id)
        session.heartbeat_ms = answer.heartbeat_us // 1000
        self.tidings.tells_unkillable = UNKILLABLE in answer.can
        self._reconcile(0)
        session.enter(answer.incarnation)

    def _reconcile(self, question: int) -> None:
        """Have the supervisor list what is alive; the list becomes the answer to the question."""
        self.tidings.ask(question)
        self.supervised.ask({"do": "hello"})

    def _see_epoch(self, epoch: int, log_id: str = "") -> None:
        """Durable first, then in force."""
        session = self.session
        if log_id and session.log_id not in ("", log_id):
            raise Refused(
                f"the journal of this host is of log {session.log_id[:8]}, and the controller has "
                f"log {log_id[:8]}; once nothing of it runs here any more, move "
                f"{self.config.folder} away and start the agent again"
            )
        if epoch > session.epoch or (log_id and not session.log_id):
            self.supervised.ask({"do": "epoch", "epoch": epoch, "log": log_id})
            session.epoch, session.log_id = epoch, log_id or session.log_id

    def _poll(self, line: Line) -> None:
        session = self.session
        incarnation = session.incarnation
        question = Poll(
            protocol=PROTOCOL,
            host=self.config.host,
            incarnation=incarnation,
            epoch=session.epoch,
            stamp=session.stamp,
            wait_ms=self._wait_ms(),
            log_id=session.log_id,
            anchor_lsn=session.anchor[0],
            anchor_hash=session.anchor[1],
            observed=self.board.told(),
        )
        sent_us = clock_us()
        answer = self._ask(line, "poll", question, Orders)
        self._see_epoch(answer.epoch)
        if answer.register or answer.incarnation != incarnation:
            session.leave(incarnation)
            return
        if LEASES in session.can:
            # Before the orders: what they let go counts from here.
            self.supervised.send({"do": "renewed", "at_us": sent_us})
        if answer.orders:
            crashpoint.reach("order.received")
            self._obey(answer)
        session.stamp = answer.stamp
        if answer.reconcile:
            self._reconcile(answer.question)

    def _wait_ms(self) -> int:
        """How long a poll may wait: the controller is to hear this host at every heartbeat."""
        beat_ms = self.session.heartbeat_ms
        return min(self.config.poll_wait_ms, beat_ms) if beat_ms else self.config.poll_wait_ms

    def _obey(self, answer: Orders) -> None:
        """Hand orders on; returns when all of them are durable."""
        requests: list[Message] = self._anchor(answer)
        for order in answer.orders:
            if isinstance(order, LaunchOrder):
                requests += _requests(order)
                if order.freeze and order.target == RUNNING and FREEZING in self.session.can:
                    requests.append(_freezing(order))
            else:
                self.keeper.want(order)
        self.keeper.commit()
        if requests:
            self.supervised.ask(*requests)

    def _anchor(self, answer: Orders | ReportsTaken) -> list[Message]:
        if answer.anchor_lsn <= self.session.anchor[0]:
            return []
        self.session.anchor = (answer.anchor_lsn, answer.anchor_hash)
        return [{"do": "anchor", "lsn": answer.anchor_lsn, "hash": answer.anchor_hash}]

    # --- reports ----------------------------------------------------------------------------

    def _post_reports(self) -> None:
        line = self._line()
        pause_s = 0.0
        while True:
            incarnation = self.session.await_incarnation()
            reports = self.outbox.batch(REPORTS_MAX, 60.0)
            if not reports:
                continue
            try:
                good = self._post(line, incarnation, reports)
            except (Unreachable, StaleController):
                good = False
            pause_s = 0.0 if good else min(self.config.retry_cap_s, 2 * pause_s or 0.05)
            time.sleep(pause_s)

    def _post(self, line: Line, incarnation: int, reports: tuple[Report, ...]) -> bool:
        """Post a batch; whether the controller took any of it."""
        session = self.session
        question = Reports(
            protocol=PROTOCOL,
            host=self.config.host,
            boot_id=self._boot_id,
            incarnation=incarnation,
            epoch=session.epoch,
            reports=reports,
        )
        crashpoint.reach("report.before_post")
        answer = self._ask(line, "reports", question, ReportsTaken)
        crashpoint.reach("report.after_post")
        taken = self.outbox.took(answer.taken)
        acks = _acks([report for report in taken if isinstance(report, Ended)])
        self.supervised.send(*self._anchor(answer), *acks)
        for report in taken:
            if isinstance(report, AttachmentResult):
                self.keeper.took(report.attachment, report.outcome)
        if answer.register:
            session.leave(incarnation)
        return bool(taken)


def _acks(ended: list[Ended]) -> list[Message]:
    """What the supervisor is told of outcomes that the controller took."""
    if not ended:
        return []
    launches, generations = [one.launch for one in ended], [one.generation for one in ended]
    return [{"do": "ack", "launches": launches, "generations": generations}]


def _requests(order: LaunchOrder) -> list[Message]:
    """What the supervisor is asked for one order."""
    known: Message = {"launch": order.launch, "generation": order.generation}
    if order.target == GONE:
        return [{"do": "stop", **known, "reason": order.stop_reason, "freeze": order.freeze}]
    signals: list[Message] = [
        {"do": "signal", **known, "seq": seq, "name": name} for seq, name in order.signals
    ]
    if order.target == RUNNING:
        go: Message = {"do": "go", **known, "go_env": order.go_env, "task": order.task}
        return [go, *_limits(order), *signals]
    return [{"do": "prepare", **known, "task": order.task}] if order.task else []


def _freezing(order: LaunchOrder) -> Message:
    """How often it was to be frozen and to go on."""
    known: Message = {"launch": order.launch, "generation": order.generation}
    return {"do": "freeze", **known, "freeze": order.freeze}


def _limits(order: LaunchOrder) -> list[Message]:
    """The limits as they are now; an order of a controller of before says none."""
    if order.run_limit_us < 0 or order.terminate_us < 0:
        return []
    known: Message = {"launch": order.launch, "generation": order.generation}
    limits = {"run_limit_us": order.run_limit_us, "terminate_us": order.terminate_us}
    return [{"do": "limit", **known, **limits}]
