"""A controller as an agent sees it: scripted orders, collected reports.

It speaks real HTTP from a thread, over loopback or a unix socket. Orders are levels, as the real
one's: the newest order of each launch and attachment is given to whoever polls with a lower stamp.
"""

import contextlib
import os
import socketserver
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from xce.dispatch.protocol import (
    GONE,
    PREPARED,
    PROTOCOL,
    RUNNING,
    AttachmentOrder,
    Ended,
    LaunchOrder,
    Order,
    Orders,
    Poll,
    Register,
    Registered,
    Report,
    Reports,
    ReportsTaken,
    Task,
)


class FakeController:
    """The state behind the handlers."""

    def __init__(self, url_socket: str = "") -> None:
        self.epoch = 1
        self.incarnation = 0
        self.registers: list[Register] = []
        self.reports: list[Report] = []
        self.tokens: list[str] = []
        self.polls: list[Poll] = []
        self.refuse: tuple[int, str] | None = None
        self.refuse_code = self.refuse_hint = ""
        self.log_id = ""
        self.can: tuple[str, ...] = ()
        self.heartbeat_us = 1_000_000
        self.swallow = 0
        self.wants_reconcile = 0
        self._base = 0
        self._orders: dict[tuple[str, int], tuple[int, Order]] = {}
        self._stamp = 0
        self._changed = threading.Condition()
        self._server = _server(self, url_socket)
        self._closing = False
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.url = f"unix:{url_socket}" if url_socket else f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    # --- scripted -----------------------------------------------------------------------------

    def order(self, *orders: Order) -> None:
        with self._changed:
            for order in orders:
                self._stamp += 1
                what = "launch" if isinstance(order, LaunchOrder) else "attachment"
                number = order.launch if isinstance(order, LaunchOrder) else order.attachment
                self._orders[what, number] = (self._stamp, order)
            self._changed.notify_all()

    def fresh(self) -> None:
        """A new test on the same host: numbers begin at 1 again, nothing was heard."""
        with self._changed:
            self._base += 1000
            self.reports, self.polls = [], []
            self._orders.clear()

    def launch(self, launch: int, target: str, task: Task | None = None, **more: object) -> None:
        launch += self._base
        self.order(
            LaunchOrder(
                launch=launch, job=launch, attempt=1, generation=7, target=target, task=task, **more
            )
        )

    def prepare(self, launch: int, task: Task) -> None:
        self.launch(launch, PREPARED, task)

    def go(self, launch: int, task: Task | None = None, **env: str) -> None:
        self.launch(launch, RUNNING, task, go_env=env)

    def gone(self, launch: int, reason: str = "") -> None:
        self.launch(launch, GONE, stop_reason=reason)

    def attach(self, attachment: int, target: str, provider: str = "", **parameters: str) -> None:
        self.order(
            AttachmentOrder(
                attachment=attachment,
                claim=attachment,
                generation=3,
                target=target,
                provider=provider,
                parameters=tuple(sorted(parameters.items())),
            )
        )

    def new_epoch(self) -> None:
        with self._changed:
            self.epoch += 1
            self.incarnation += 1
            self._changed.notify_all()

    def new_incarnation(self) -> None:
        """Another agent of the host's name registered."""
        with self._changed:
            self.incarnation += 1
            self._changed.notify_all()

    # --- seen -----------------------------------------------------------------------------------

    def wait(self, what: Callable[[], object], limit_s: float = 20.0) -> object:
        with self._changed:
            if not self._changed.wait_for(what, limit_s):
                raise AssertionError(f"not within {limit_s} s; reports: {self.reports}")
            return what()

    def of(self, kind: type, number: int | None = None) -> list:
        return [
            report
            for report in self.reports
            if isinstance(report, kind)
            and (number is None or self._base + number == _number(report))
        ]

    def await_report(
        self, kind: type, number: int | None = None, nth: int = 1, limit_s: float = 20.0
    ) -> object:
        self.wait(lambda: len(self.of(kind, number)) >= nth, limit_s)
        return self.of(kind, number)[nth - 1]

    def await_stamp(self) -> int:
        """Until the host has made all orders given so far durable."""
        stamp = self._stamp
        self.wait(lambda: any(poll.stamp >= stamp for poll in self.polls))
        return stamp

    def await_acknowledged(self, seq: int) -> None:
        """Until the host has the answer to a report: it then posts others on that connection."""
        self.launch(999, GONE)
        self.wait(lambda: any(report.seq > seq for report in self.of(Ended, 999)))

    def await_registered(self, count: int = 1) -> None:
        self.wait(lambda: len(self.registers) >= count)

    # --- answers --------------------------------------------------------------------------------

    def on_register(self, body: bytes) -> object:
        with self._changed:
            self.registers.append(msgspec.json.decode(body, type=Register))
            self.incarnation += 1
            self._changed.notify_all()
            return Registered(
                protocol=PROTOCOL,
                epoch=self.epoch,
                incarnation=self.incarnation,
                heartbeat_us=self.heartbeat_us,
                log_id=self.log_id,
                can=self.can,
            )

    def on_poll(self, body: bytes) -> object:
        poll = msgspec.json.decode(body, type=Poll)
        with self._changed:
            self.polls.append(poll)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closing or self._news(poll), poll.wait_ms / 1000)
            question, self.wants_reconcile = self.wants_reconcile, 0
            known = poll.incarnation == self.incarnation
            newer = [pair for pair in self._orders.values() if pair[0] > poll.stamp and known]
            self._changed.notify_all()
            return Orders(
                protocol=PROTOCOL,
                epoch=self.epoch,
                incarnation=self.incarnation,
                stamp=self._stamp,
                orders=tuple(order for _, order in sorted(newer, key=lambda pair: pair[0])),
                reconcile=question > 0,
                question=question,
                register=not known,
                anchor_lsn=self._stamp,
                anchor_hash=f"hash{self._stamp}",
            )

    def _news(self, poll: Poll) -> bool:
        return (
            self._stamp > poll.stamp or self.wants_reconcile or poll.incarnation != self.incarnation
        )

    def on_reports(self, body: bytes) -> object:
        reports = msgspec.json.decode(body, type=Reports)
        with self._changed:
            if reports.incarnation != self.incarnation:
                return ReportsTaken(
                    epoch=self.epoch, incarnation=self.incarnation, taken=(), register=True
                )
            self.reports += reports.reports
            self._changed.notify_all()
            if self.swallow:
                self.swallow -= 1
                return None
            taken = tuple(report.seq for report in reports.reports)
            return ReportsTaken(epoch=self.epoch, incarnation=self.incarnation, taken=taken)


def _number(report: Report) -> int:
    return getattr(report, "launch", getattr(report, "attachment", 0))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    controller: FakeController

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        controller = self.controller
        controller.tokens.append(self.headers.get("Authorization", ""))
        what = self.path.rpartition("/")[2]
        if controller.refuse is not None:
            status, detail = controller.refuse
            said = {
                "detail": detail,
                "code": controller.refuse_code,
                "hint": controller.refuse_hint,
            }
            self._answer(status, msgspec.json.encode(said))
            return
        answer = getattr(controller, f"on_{what}")(body)
        if answer is None:
            self._answer(503, b"{}")
        else:
            self._answer(200, msgspec.json.encode(answer))

    def _answer(self, status: int, body: bytes) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def setup(self) -> None:
        if isinstance(self.client_address, str):
            self.disable_nagle_algorithm = False
            self.client_address = ("unix", 0)
        super().setup()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False


class _Tcp(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A killed agent's connection breaks; that is no news."""


def _server(controller: FakeController, path: str) -> socketserver.BaseServer:
    handler = type("Handler", (_Handler,), {"controller": controller})
    if path:
        if os.path.exists(path):
            os.unlink(path)
        return _Unix(path, handler)
    return _Tcp(("127.0.0.1", 0), handler)


def until(what: Callable[[], object], limit_s: float = 20.0) -> None:
    """Wait for what is no report."""
    deadline_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < deadline_s, "it did not come about"
        time.sleep(0.005)
