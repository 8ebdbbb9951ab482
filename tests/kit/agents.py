"""Simulated hosts: an agent that follows orders as the real one does, on the virtual clock.

What it must do on the host is durable here: targets, phases and outcomes survive a restart of the
agent (`restart`), nothing but the log of what was executed survives a reboot. The world delays,
repeats and reorders what goes over the line. `Life` and `Provision` say what a launch or a claim
is going to do; the world asks `world.life(...)` and `world.provision(...)` for them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.kit.launches import ALIVE, LEVEL, RESEND_US, LaunchSide
from tests.kit.lives import AttachmentHere, LaunchHere, Life, Provision
from xce.dispatch import protocol as p
from xce.model.host import HostFacts

if TYPE_CHECKING:
    from tests.kit.world import World


class SimAgent(LaunchSide):
    """One host with its agent."""

    def __init__(self, world: "World", name: str, facts: HostFacts) -> None:
        self.world, self.name, self.facts = world, name, facts
        self.boot, self.life, self.epoch, self.incarnation, self.stamp = 1, 1, 0, 0, 0
        self.muted = self.registering = self.polling = False
        self.seq = 0
        self.outbox: dict[int, p.Report] = {}
        self.launches: dict[int, LaunchHere] = {}
        self.attachments: dict[int, AttachmentHere] = {}
        self._flushing = self._resending = False
        self.enforces = True
        self.can = (p.LEASES, p.FREEZING)
        self.renewed_us = world.now_us

    # -- the line ------------------------------------------------------------------------------
    def pump(self) -> None:
        """Keep a registration or a poll under way."""
        if self.muted:
            return
        if not self.incarnation:
            if not self.registering:
                self.registering = True
                self.world.line.deliver(
                    self.world.line.take_register, self.name, self.boot_id, self.life
                )
                self.world.after(2_000_000, self._register_again, self.life)
            return
        if not self.polling:
            self.world.line.take_poll(self)

    @property
    def boot_id(self) -> str:
        """The boot as the host names it."""
        return f"{self.name}-boot-{self.boot}"

    def _register_again(self, life: int) -> None:
        if life == self.life and not self.incarnation:
            self.registering = False
            self.pump()

    def registered(self, life: int, epoch: int, incarnation: int) -> None:
        """The controller's answer to a registration."""
        if life != self.life or self.muted or epoch < self.epoch:
            return
        self.registering = False
        self.epoch, self.incarnation, self.stamp = epoch, incarnation, 0
        self.reconcile(0)

    def answered(self, sent: tuple[int, int], incarnation: int, orders: p.Orders) -> None:
        """The controller's answer to a poll; may come twice or late."""
        life, sent_us = sent
        if life != self.life or self.muted:
            return
        self.polling = False
        if orders.epoch < self.epoch or incarnation != self.incarnation:
            return
        self.epoch = orders.epoch
        if orders.register:
            self.incarnation, self.registering = 0, False
            return
        self.renew(sent_us)
        for order in orders.orders:
            if isinstance(order, p.LaunchOrder):
                self.obey_launch(order)
            else:
                self.obey_attachment(order)
        self.stamp = max(self.stamp, orders.stamp) if orders.orders else orders.stamp
        if orders.reconcile:
            self.reconcile(orders.question)

    def put(self, kind: Any, **fields: Any) -> None:
        """One more report to be told until it is taken."""
        self.seq += 1
        self.outbox[self.seq] = kind(seq=self.seq, **fields)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            self.world.after(self.world.line.line_us(), self._flush, self.life)

    def _flush(self, life: int) -> None:
        if life != self.life:
            return
        self._flushing = False
        if not self.outbox:
            return
        if self.incarnation and not self.muted:
            reports = tuple(self.outbox[seq] for seq in sorted(self.outbox))
            self.world.line.send_reports(self, self.world.line.torn(reports))
        if not self._resending:
            self._resending = True
            self.world.after(RESEND_US, self._resend, self.life)

    def _resend(self, life: int) -> None:
        if life == self.life:
            self._resending = False
            self._flush(life)

    def taken(self, life: int, incarnation: int, seqs: tuple[int, ...], register: bool) -> None:
        """What the controller took, after its commit."""
        if life != self.life or self.muted:
            return
        for seq in seqs:
            report = self.outbox.pop(seq, None)
            if isinstance(report, p.Ended) and report.launch in self.launches:
                self.launches[report.launch].phase = "over"
        if register and incarnation == self.incarnation:
            self.incarnation, self.registering = 0, False
            self.pump()

    def reconcile(self, question: int) -> None:
        """List what is alive; outcomes before it, what the log may have missed behind it."""
        alive = [one for one in self.launches.values() if one.phase in ALIVE]
        there = [one for one in self.attachments.values() if one.phase not in ("new", "released")]
        found = tuple(
            p.LaunchFound(launch=one.number, generation=one.generation, state=one.phase)
            for one in sorted(alive, key=lambda one: one.number)
        )
        attached = tuple(
            p.AttachmentFound(
                attachment=one.order.attachment,
                generation=one.order.generation,
                state=one.phase,
                value=one.value,
            )
            for one in sorted(there, key=lambda one: one.order.attachment)
        )
        self.put(p.Reconciled, question=question, launches=found, attachments=attached)
        for one in alive:
            if one.phase == "armed":
                self.put(p.Armed, launch=one.number, generation=one.generation)
            elif one.started_us:
                self._put_started(one)
                if one.freeze:
                    self._tell_frozen(one)

    def renew(self, sent_us: int) -> None:
        """A poll that was sent then was answered."""
        self.renewed_us = max(self.renewed_us, sent_us)

    # -- attachments ---------------------------------------------------------------------------
    def obey_attachment(self, order: p.AttachmentOrder) -> None:
        """Bring an attachment up, or take it down for ever."""
        here = self.attachments.setdefault(order.attachment, AttachmentHere(order))
        here.level = max(here.level, LEVEL[order.target])
        does = self.world.provision(here.order.name)
        if here.level == LEVEL[p.GONE]:
            if here.phase == "released":
                self.tell_attachment(here, "released")
            elif here.phase != "releasing":
                here.phase = "releasing"
                if does.release == "ok":
                    self.world.after(does.after_us, self._released, here, self.boot)
        elif here.phase == "new":
            here.phase = "provisioning"
            if does.how != "hang":
                self.world.after(does.after_us, self._provided, here, does, self.boot)

    def _provided(self, here: AttachmentHere, does: Provision, boot: int) -> None:
        if boot != self.boot or here.phase != "provisioning":
            return
        if does.how == "fail":
            here.phase = "failed"
            self.tell_attachment(here, "failed", message=does.message)
            return
        here.phase = "ready"
        own = dict(here.order.parameters)
        here.value = f"{own.get('address', self.name)}:{own.get('port', '')}"
        self.tell_attachment(here, "ready", value=here.value)

    def _released(self, here: AttachmentHere, boot: int) -> None:
        if boot == self.boot and here.phase == "releasing":
            here.phase = "released"
            self.tell_attachment(here, "released")

    def tell_attachment(self, here: AttachmentHere, outcome: str, **rest: str) -> None:
        """Report what a provider did."""
        known = {"attachment": here.order.attachment, "generation": here.order.generation}
        self.put(p.AttachmentResult, outcome=outcome, **known, **rest)

    # -- mishaps -------------------------------------------------------------------------------
    def restart(self) -> None:
        """The agent process dies and comes back; what the host journalled is still there."""
        self.life += 1
        self.incarnation, self.stamp = 0, 0
        self.registering = self.polling = self._flushing = self._resending = False
        self.outbox.clear()
        for report in self._unacknowledged():
            self.put(report.pop("kind"), **report)
        self.pump()

    def _unacknowledged(self) -> Iterator[dict[str, Any]]:
        for one in self.launches.values():
            if one.phase == "ended" and one.outcome is not None:
                known = {"launch": one.number, "generation": one.generation}
                yield {"kind": p.Ended, **known, **one.outcome, "started_us": one.started_us}
        for here in self.attachments.values():
            if here.phase in ("ready", "failed", "released"):
                known = {
                    "attachment": here.order.attachment,
                    "generation": here.order.generation,
                }
                yield {
                    "kind": p.AttachmentResult,
                    **known,
                    "outcome": here.phase,
                    "value": here.value,
                }

    def reboot(self, *, keeps_journal: bool = True) -> None:
        """The machine starts again: nothing of the old boot runs. Its disk is new, so that nothing
        is remembered, or the journal tells how everything ended."""
        self.boot += 1
        if keeps_journal:
            self._end_by_reboot()
            self.attachments, self.outbox = {}, {}
            self.restart()
            return
        for here in self.launches.values():
            if here.phase in ALIVE:
                self.world.vacate(self, here)
        self.launches, self.attachments, self.outbox = {}, {}, {}
        self.restart()

    def _end_by_reboot(self) -> None:
        """What the next supervisor makes of the journal: started is lost, else it is aborted."""
        for here in self.launches.values():
            if here.phase in ALIVE:
                self.world.vacate(self, here)
                ran = "yes" if here.started_us else "no"
                how = "lost" if here.started_us else "aborted"
                here.phase, here.outcome = (
                    "ended",
                    {"how": how, "ran": ran, "cause_of_end": "reboot"},
                )


__all__ = ["AttachmentHere", "LaunchHere", "Life", "Provision", "SimAgent"]
