"""What happens on the host, turned into reports.

The supervisor's events and the keeper's results go into the outbox, where what is told twice counts
once. An answer to a reconciliation lists what is alive; outcomes go before it, and behind it what
the log may have missed of the living: that they are armed, or when they were started.
"""

import threading
from collections.abc import Callable

from xce.agent.attachments import FAILED, READY, Attachment, Keeper
from xce.agent.outbox import Outbox
from xce.agent.readiness import PortProbes
from xce.agent.supervisor.wire import Message
from xce.dispatch.protocol import (
    Armed,
    AttachmentResult,
    Ended,
    Frozen,
    LaunchFound,
    Probed,
    Reconciled,
    Started,
    Unkillable,
)


class Tidings:
    """The way from events to reports. `see` is told what the host journal holds."""

    def __init__(self, outbox: Outbox, address: str, see: Callable[[Message], None]) -> None:
        self.keeper: Keeper
        self.listed = threading.Event()
        self.tells_unkillable = False
        self._outbox = outbox
        self._see = see
        self._question: int | None = None
        self._probes = PortProbes((address, "127.0.0.1"), self._put_probed)

    def ask(self, question: int) -> None:
        """The supervisor's next list becomes the answer to the question."""
        self._question = question

    def heard(self, event: Message) -> None:
        """An event of the supervisor."""
        what = event["event"]
        if what == "listed":
            self._heard_list(event)
            return
        known = {"launch": event["launch"], "generation": event["generation"]}
        if what == "armed":
            self._outbox.put(Armed, event["launch"], **known)
        elif what == "started":
            self._put_started(event)
        elif what == "unkillable":
            if self.tells_unkillable:
                self._outbox.put(Unkillable, event["launch"], **known, message=event["message"])
        elif what == "frozen":
            self._put_frozen(event["launch"], event["generation"], event["freeze"])
        elif what == "ended":
            self._probes.forget(event["launch"])
            self._outbox.put(Ended, event["launch"], **known, **_end_fields(event))

    def _heard_list(self, event: Message) -> None:
        self._see(event)
        question, self._question = self._question, None
        if question is not None:
            self._put_reconciled(question, event["launches"])
        self.listed.set()

    def _put_started(self, told: Message) -> None:
        launch, generation = told["launch"], told["generation"]
        self._outbox.put(Started, launch, launch=launch, generation=generation, at_us=told["at_us"])
        if told["ready_port"] > 0:
            self._probes.watch(launch, generation, told["ready_port"])

    def _put_frozen(self, launch: int, generation: int, freeze: int) -> None:
        self._outbox.put(Frozen, launch, launch=launch, generation=generation, freeze=freeze)

    def _put_probed(self, launch: int, generation: int) -> None:
        self._outbox.put(Probed, launch, launch=launch, generation=generation)

    def _put_reconciled(self, question: int, launches: list[Message]) -> None:
        """Outcomes came before; then everything alive, then what the log may have missed of it."""
        for result in self.keeper.results():
            self.tell_attachment(result)
        found = tuple(
            LaunchFound(launch=one["launch"], generation=one["generation"], state=one["state"])
            for one in launches
        )
        attachments = self.keeper.found()
        self._outbox.put(Reconciled, 0, question=question, launches=found, attachments=attachments)
        for one in launches:
            if one["state"] == "armed":
                known = {"launch": one["launch"], "generation": one["generation"]}
                self._outbox.put(Armed, one["launch"], **known)
            elif one["at_us"]:
                self._put_started(one)
                if one["frozen"]:
                    self._put_frozen(one["launch"], one["generation"], one["frozen"])

    def tell_attachment(self, one: Attachment) -> None:
        """Report a provider's result."""
        facts = one.facts
        ready = one.state == READY
        self._outbox.put(
            AttachmentResult,
            one.number,
            attachment=one.number,
            generation=facts["generation"],
            outcome=str(one.state),
            value=facts["value"] if ready else "",
            message=facts["message"] if one.state == FAILED else "",
        )


def _end_fields(event: Message) -> Message:
    return {
        "how": event["how"],
        "code": event["code"],
        "cause_of_end": event["cause"],
        "message": event["message"],
        "ran": event["ran"],
        "started_us": event["started_us"],
        "ended_us": event["ended_us"],
        "cpu_us": event["cpu_us"],
        "max_rss_bytes": event["max_rss_bytes"],
    }
