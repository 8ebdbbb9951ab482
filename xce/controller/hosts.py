"""Talking to hosts: polls, their orders, and silence.

Hearing is volatile: it is kept here and becomes a record only when it changes a host's liveness.
While a host is JOINING it is asked only to list its work. Orders are made from the state at the
moment they are sent. Who is refused at registration is kept for people, until it is let in.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from heapq import heappop, heappush

from msgspec import structs

from xce.controller.core.commands import (
    Command,
    HostEvent,
    LeasesOver,
    RegisterHost,
    Rejection,
)
from xce.controller.core.fold.state import State
from xce.controller.core.life.leases import overdue
from xce.controller.core.orders.wanted import (
    live_of_host,
    order_of_attachment,
    order_of_launch,
    touched,
)
from xce.controller.outbox import Entry, HostOutbox
from xce.dispatch.protocol import PROTOCOL, Order, Orders, Poll
from xce.model.actor import CONTROLLER
from xce.model.records import Record

log = logging.getLogger("xce")

ASK_AGAIN_US = 1_000_000


class Quiet:
    """Hosts that may have been silent for too long, found without a look at those that were heard:
    each that is UP or JOINING has a moment before which it cannot be, and whoever is neither is
    looked at each time. Being heard moves no moment; that is found out when it has come."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._moments: list[tuple[int, str]] = []
        self._moment_of: dict[str, int] = {}
        self._others: dict[str, None] = {}
        self._read = -1
        self._after_us = -1

    def worth_a_look(self, now_us: int, last_us: Callable[[str], int]) -> list[str]:
        """The hosts whose moment has come, and those that are neither UP nor JOINING."""
        self._follow(last_us)
        moments, of = self._moments, self._moment_of
        found: dict[str, None] = {}  # a host may stand there twice, once from before it was away
        while moments and moments[0][0] < now_us:
            moment, name = heappop(moments)
            if of.get(name) == moment:
                of[name] = last_us(name) + self._after_us
                found[name] = None
        for name in found:
            heappush(moments, (of[name], name))
        return [*(name for name in found if of[name] < now_us), *self._others]

    def _follow(self, last_us: Callable[[str], int]) -> None:
        """Reads which hosts changed since the last look; all anew where that is not known."""
        changes, after_us = self._state.index.changes, self._state.config.suspect_after_us
        names: Iterable[str] | None = changes.since(self._read) if self._read >= 0 else None
        if names is None or after_us != self._after_us:
            names, self._after_us = self._state.hosts, after_us
            self._moments, self._moment_of, self._others = [], {}, {}
        self._read = changes.count
        for name in names:
            host, known = self._state.hosts.get(name), self._moment_of.get(name)
            self._others.pop(name, None)
            if host is None or host.liveness not in ("UP", "JOINING"):
                self._moment_of.pop(name, None)
                if host is not None and host.liveness != "GONE":
                    self._others[name] = None
                continue
            moment = last_us(name) + after_us
            if known is None or moment < known:
                self._moment_of[name] = moment
                heappush(self._moments, (moment, name))


class Hosts:
    """The hosts of one controller, as it hears and orders them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._boxes: dict[str, HostOutbox] = {}
        self._heard_us: dict[str, int] = {}
        self._quiet = Quiet(state)
        self._began_us = 0
        self._own_boot = ""
        self.refused: dict[str, str] = {}

    def begin(self, now_us: int) -> None:
        """A leader began: silence counts from here."""
        self._began_us = now_us

    def _last_us(self, host: str) -> int:
        """When it was heard last, or silence began to count."""
        return max(self._heard_us.get(host, 0), self._began_us)

    def box(self, host: str) -> HostOutbox:
        """The outbox of a host."""
        found = self._boxes.get(host)
        if found is None:
            found = self._boxes[host] = HostOutbox()
        return found

    def wake(self) -> None:
        """Let every waiting poll look again: the controller stops."""
        for box in self._boxes.values():
            box.nudge()

    def hear(self, host: str, now_us: int, incarnation: int = 0) -> HostEvent | None:
        """A host was heard; the event to record when that changes what it is. An incarnation that
        is not the present one says nothing of it: two agents may go by one name."""
        known = self._state.hosts.get(host)
        if known is not None and incarnation not in (0, known.incarnation):
            return None
        self._heard_us[host] = now_us
        if known is not None and known.liveness in ("SUSPECT", "DOWN"):
            return HostEvent(actor=CONTROLLER, host=host, event="hear", why="heard again")
        return None

    def with_facts(self, command: Command, now_us: int) -> Command:
        """A registration with how long the host's present incarnation was not heard.

        A new leader has heard nobody yet: for another boot than its own the leadership's beginning
        counts, so that a clone does not get in before the one that has the name.
        """
        if not isinstance(command, RegisterHost):
            return command
        heard_us = self._heard_us.get(command.host)
        if command.boot_id != self._own_boot and self._began_us:
            heard_us = max(heard_us or 0, self._began_us)
        quiet_us = -1 if heard_us is None else now_us - heard_us
        return structs.replace(command, quiet_us=quiet_us)

    def answered(self, host: str, rejection: Rejection | None) -> None:
        """A registration was let in, or refused: that is for people to see to."""
        self.refused.pop(host, None)
        if rejection is not None:
            self.refused[host] = f"{rejection.message}; {rejection.hint}"
            log.warning("host %s is refused: %s", host, self.refused[host])

    def silent(self, now_us: int, joining: Collection[str] = ()) -> list[Command]:
        """Events of hosts that were not heard for too long; `joining` are asking to be let in."""
        config = self._state.config
        events: list[Command] = []
        for name in sorted(self._quiet.worth_a_look(now_us, self._last_us)):
            if name in joining:
                continue
            host = self._state.hosts[name]
            quiet_us = now_us - self._last_us(name)
            text = f"not heard for {quiet_us // 1_000_000} s"
            if host.liveness in ("UP", "JOINING") and quiet_us > config.suspect_after_us:
                events.append(HostEvent(actor=CONTROLLER, host=name, event="miss", why=text))
            elif host.liveness == "SUSPECT" and quiet_us > config.host_grace_us:
                events.append(HostEvent(actor=CONTROLLER, host=name, event="grace_end", why=text))
            if host.liveness in ("SUSPECT", "DOWN") and overdue(self._state, name, quiet_us):
                events.append(LeasesOver(actor=CONTROLLER, host=name, quiet_us=quiet_us))
        return events

    def note(self, records: Iterable[Record]) -> None:
        """Committed records: put what they touched into the outboxes of its hosts."""
        for record in records:
            if record.kind == "HostReconciled":
                self._joined(record)
                continue
            if record.kind == "HostRegistered":
                self._heard_us[record.body.host] = record.at_us  # type: ignore[attr-defined]
            elif record.kind == "LeaderStarted":
                self._own_boot = record.body.boot_id  # type: ignore[attr-defined]
            if record.kind in ("HostRegistered", "LeaderStarted", "HostChanged"):
                self._asked_to_join(record)
            launches, attachments = touched(record)
            self._put("attachment", attachments)
            self._put("launch", launches)

    def _put(self, what: str, numbers: list[int]) -> None:
        table = self._state.tables[what]
        by_host: dict[str, list[Entry]] = {}
        for number in numbers:
            entity = table.get(number)
            if entity is not None:
                by_host.setdefault(entity.host, []).append((what, number))
        for host, entries in by_host.items():
            self.box(host).put(entries)

    def _joined(self, record: Record) -> None:
        """The host listed its work: from now on it is told everything that lives on it, and that
        what it lists beyond that is to go."""
        body = record.body
        host = body.host  # type: ignore[attr-defined]
        launches, attachments = live_of_host(self._state, host)
        listed = [*attachments, *body.attachments]  # type: ignore[attr-defined]
        box = self.box(host)
        box.clear()
        box.put(("attachment", number) for number in dict.fromkeys(listed))
        ours = [*launches, *body.launches]  # type: ignore[attr-defined]
        box.put(("launch", number) for number in dict.fromkeys(ours))

    def _asked_to_join(self, record: Record) -> None:
        for entity in record.entities:
            name = entity.removeprefix("host:")
            host = self._state.hosts.get(name)
            if host is not None and host.liveness == "JOINING":
                self.box(name).asked = (0, 0)
                self.box(name).nudge()

    def is_known_to_this_leader(self, name: str) -> bool:
        """Whether the host has listed its work in this epoch."""
        host = self._state.hosts.get(name)
        return host is not None and host.reconciled_epoch == self._state.epoch

    # -- orders ------------------------------------------------------------------------------------
    def orders(self, poll: Poll, now_us: int, anchor: tuple[int, str]) -> Orders | None:
        """The answer to a poll, None when there is nothing to say yet. Call while settled."""
        state = self._state
        host = state.hosts.get(poll.host)
        if host is None or host.liveness == "GONE" or host.incarnation != poll.incarnation:
            return self._answer(poll, anchor, register=True)
        box = self.box(poll.host)
        if poll.epoch == state.epoch:
            box.told(poll.stamp)
        if host.reconciled_epoch != state.epoch or host.liveness == "JOINING":
            question, asked_us = box.asked
            if question == host.question and now_us - asked_us < ASK_AGAIN_US:
                return None
            box.asked = (host.question, now_us)
            return self._answer(poll, anchor, reconcile=True, question=host.question)
        if not len(box):
            return None
        entries, stamp = box.take()
        return self._answer(poll, anchor, orders=self._made(entries), stamp=stamp)

    def stranger(self, poll: Poll, anchor: tuple[int, str]) -> Orders:
        """The answer to a host of another log: to register, where it is refused."""
        return self._answer(poll, anchor, register=True)

    def nothing(self, poll: Poll, anchor: tuple[int, str]) -> Orders:
        """The answer to a poll whose time is over."""
        return self._answer(poll, anchor)

    def _made(self, entries: list[Entry]) -> tuple[Order, ...]:
        return tuple(
            order_of_launch(self._state, number)
            if what == "launch"
            else order_of_attachment(self._state, number)
            for what, number in entries
        )

    def _answer(self, poll: Poll, anchor: tuple[int, str], **fields: object) -> Orders:
        stamp = poll.stamp if poll.epoch == self._state.epoch else 0
        lsn, digest = anchor
        host = self._state.hosts.get(poll.host)
        values = {
            "protocol": PROTOCOL,
            "epoch": self._state.epoch,
            "incarnation": host.incarnation if host else 0,
            "stamp": stamp,
            "anchor_lsn": lsn,
            "anchor_hash": digest,
        }
        return Orders(**{**values, **fields})  # type: ignore[arg-type]
