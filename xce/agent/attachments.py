"""The attachments of a host: what is wanted of each, and what its provider made of it.

An attachment is PROVISIONING, READY, FAILED, RELEASING or RELEASED here. Orders and results are on
the keeper's own journal before anybody acts on them or hears of them, so a restarted agent answers
a repeated order with the same result, provisions again what was under way, and never makes an
attachment that was wanted gone first. One call per attachment at a time, each in a thread with a
bound; a call that does not come back in time counts as failed and its thread is left behind.
"""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from xce.agent.supervisor.journal import Journal
from xce.dispatch.protocol import GONE, AttachmentFound, AttachmentOrder
from xce.providers.contract import Provider, ProviderFailed, Request

RELEASE_RETRY_S = 2.0
KEEP_S = 3600.0
REWRITE_BYTES = 1 << 20


class AttachmentState(StrEnum):
    """States of an attachment on its host; the first four are told in a reconciliation."""

    PROVISIONING = "provisioning"
    READY = "ready"
    FAILED = "failed"
    RELEASING = "releasing"
    RELEASED = "released"


PROVISIONING, READY, FAILED, RELEASING, RELEASED = (
    AttachmentState.PROVISIONING,
    AttachmentState.READY,
    AttachmentState.FAILED,
    AttachmentState.RELEASING,
    AttachmentState.RELEASED,
)


class Attachment:
    """One attachment as the keeper has it."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.state = AttachmentState(facts["state"])
        self.cancelled = threading.Event()
        self.busy_since_s = 0.0

    @property
    def number(self) -> int:
        """The attachment's number, for ever its own."""
        return int(self.facts["attachment"])

    def request(self) -> Request:
        """What the provider is asked with."""
        facts = self.facts
        return Request(
            attachment=facts["attachment"],
            claim=facts["claim"],
            generation=facts["generation"],
            name=facts["name"],
            parameters=dict(facts["parameters"]),
            uid=facts["uid"],
            cancelled=self.cancelled,
        )


Told = Callable[[Attachment], None]


class Keeper:
    """All attachments of a host. `tell` is called, by any thread, when one has a result."""

    def __init__(self, path: str, providers: dict[str, Provider], tell: Told) -> None:
        self._providers = providers
        self._tell = tell
        self._guard = threading.RLock()
        self._journal = Journal(path)
        self._due: list[Attachment] = []
        self._known: dict[int, Attachment] = {}
        for facts in self._journal.entries:
            self._known[facts["attachment"]] = Attachment(facts)
        self._journal.entries = []

    def start(self) -> None:
        """Go on where an earlier agent stopped; wipe what belongs to no known claim."""
        with self._guard:
            self._rewrite()
            standing = [one for one in self._known.values() if one.state != RELEASED]
        known = [(one.facts["claim"], one.facts["generation"]) for one in standing]
        for provider in self._providers.values():
            provider.clean(known)
        for one in standing:
            if one.state in (PROVISIONING, RELEASING):
                self._call(one)

    def _rewrite(self) -> None:
        """Forget what was released long ago."""
        cut_s = time.time() - KEEP_S
        self._known = {
            number: one
            for number, one in self._known.items()
            if one.state != RELEASED or not one.facts["acked"] or one.facts["at_s"] > cut_s
        }
        self._journal.rewrite([one.facts for one in self._known.values()])
        self._rewritten_bytes = self._journal.size_bytes

    def want(self, order: AttachmentOrder) -> None:
        """Take an order; it is acted upon after `commit`."""
        with self._guard:
            one = self._known.get(order.attachment)
            if one is not None and order.generation not in (0, one.facts["generation"]):
                self._answer_stranger(order, one.facts["generation"])
            elif one is None:
                state = RELEASING if order.target == GONE else PROVISIONING
                one = self._known[order.attachment] = Attachment(_facts(order, state))
                self._note(one)
                self._due.append(one)
            elif order.target == GONE and one.state not in (RELEASING, RELEASED):
                one.cancelled.set()
                self._move(one, RELEASING)
                self._due.append(one)
            elif one.state in (READY, FAILED, RELEASED):
                self._tell(one)

    def _answer_stranger(self, order: AttachmentOrder, here: int) -> None:
        """An order of another history: never done here; what has its number goes on untouched."""
        why = f"this host has attachment {order.attachment} of generation {here}"
        facts = _facts(order, RELEASED if order.target == GONE else FAILED)
        self._tell(Attachment({**facts, "message": why}))

    def commit(self) -> None:
        """Make the orders taken durable and act on them."""
        with self._guard:
            self._journal.commit()
            if self._journal.size_bytes > REWRITE_BYTES + 2 * self._rewritten_bytes:
                self._rewrite()
            due, self._due = self._due, []
        for one in due:
            self._call(one)

    def found(self) -> tuple[AttachmentFound, ...]:
        """What a reconciliation lists."""
        with self._guard:
            return tuple(
                AttachmentFound(
                    attachment=one.number,
                    generation=one.facts["generation"],
                    state=str(one.state),
                    value=one.facts["value"],
                )
                for one in self._known.values()
                if one.state != RELEASED
            )

    def results(self) -> list[Attachment]:
        """Attachments whose result the controller may not have."""
        with self._guard:
            return [
                one
                for one in self._known.values()
                if one.state in (READY, FAILED)
                or (one.state == RELEASED and not one.facts["acked"])
            ]

    def took(self, number: int, outcome: str) -> None:
        """The controller has a result."""
        with self._guard:
            one = self._known.get(number)
            if one is not None and one.state == RELEASED and outcome == RELEASED:
                one.facts = {**one.facts, "acked": True}
                self._note(one)

    # --- calls ----------------------------------------------------------------------------

    def _call(self, one: Attachment) -> None:
        """See that a worker brings the attachment to rest; one that is at it notices by itself."""
        with self._guard:
            if one.busy_since_s:
                return
            one.busy_since_s = time.monotonic()
        work = threading.Thread(target=self._work, args=(one,), name="attachment", daemon=True)
        work.start()

    def _work(self, one: Attachment) -> None:
        while True:
            with self._guard:
                state = one.state
                if state not in (PROVISIONING, RELEASING):
                    one.busy_since_s = 0.0
                    return
                one.busy_since_s = time.monotonic()
            reached, told = self._once(one, state)
            self._reached(one, state, reached, **told)
            if reached == RELEASING:
                time.sleep(RELEASE_RETRY_S)

    def _once(
        self, one: Attachment, state: AttachmentState
    ) -> tuple[AttachmentState, dict[str, str]]:
        """One call of the provider: the state it leads to."""
        provider = self._providers.get(one.facts["provider"])
        try:
            if state == RELEASING:
                if provider is not None:
                    provider.release(one.request())
                return RELEASED, {}
            if provider is None:
                why = f"this host has no provider '{one.facts['provider']}'"
                return FAILED, {"message": why}
            return READY, {"value": provider.provision(one.request())}
        except (ProviderFailed, OSError, ValueError) as error:
            reached = RELEASING if state == RELEASING else FAILED
            return reached, {"message": str(error)}

    def _reached(
        self, one: Attachment, was: AttachmentState, state: AttachmentState, **told: str
    ) -> None:
        """A result counts only where nothing else was wanted meanwhile."""
        with self._guard:
            if one.state != was or state == was:
                return
            self._move(one, state, **told)
            self._journal.commit()
        self._tell(one)

    def expire(self) -> None:
        """Fail what takes longer than its provider may; to be called now and then."""
        now_s = time.monotonic()
        with self._guard:
            busy = [one for one in self._known.values() if one.busy_since_s]
        for one in busy:
            provider = self._providers.get(one.facts["provider"])
            limit_s = provider.limit_s if provider is not None else 0.0
            if one.state == PROVISIONING and now_s > one.busy_since_s + limit_s:
                why = f"provider {one.facts['provider']} gave no result within {limit_s:g} s"
                self._reached(one, PROVISIONING, FAILED, message=why)

    def _move(self, one: Attachment, state: AttachmentState, **told: str) -> None:
        one.state = state
        one.facts = {**one.facts, "state": str(state), **told, "at_s": int(time.time())}
        self._note(one)

    def _note(self, one: Attachment) -> None:
        self._journal.add(one.facts)


def _facts(order: AttachmentOrder, state: AttachmentState) -> dict[str, Any]:
    return {
        "attachment": order.attachment,
        "claim": order.claim,
        "generation": order.generation,
        "provider": order.provider,
        "name": order.name,
        "parameters": [list(pair) for pair in order.parameters],
        "uid": order.uid,
        "state": str(state),
        "value": "",
        "message": "",
        "acked": False,
        "at_s": int(time.time()),
    }
