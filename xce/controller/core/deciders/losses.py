"""Proofs that work on a silent host is gone, beside a new boot: an operator's word, a fencing
hook's yes, and time, for work whose host stops it when it is cut off.

Silence alone is none. Each proof stands in the record of every loss, as its evidence.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.hosts import fail_starts, lost_facts, open_starts, prove_dead
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import end_launch
from xce.controller.core.life.leases import overdue
from xce.model.config import SECOND_US
from xce.model.ids import host_ref
from xce.model.records import HostChanged

Answer = tuple[dict[str, Any], dict[str, bytes]]
NOTHING: Answer = ({}, {})
_SILENT = ("SUSPECT", "DOWN")


def leases_over(draft: Draft, command: c.LeasesOver) -> c.Rejection | Answer:
    """A host was not heard for so long that its supervisor has stopped work with a lease. A new
    leader has heard nobody before it began, so that its own time counts at most."""
    state = draft.state
    host = state.hosts.get(command.host)
    if host is None or host.liveness not in _SILENT:
        return NOTHING
    quiet_us = min(command.quiet_us, draft.now_us - state.last("leader_us"))
    gone = overdue(state, host.name, quiet_us)
    if not gone:
        return NOTHING
    why = f"not heard for {quiet_us // SECOND_US} s: its supervisor has stopped work with a lease"
    facts = HostChanged(host=host.name, event="leases_over", why=why, quiet_us=command.quiet_us)
    draft.open(facts, [host_ref(host.name)])
    draft.patch("host", host.name, why=why)
    starts = {state.launches[number].start for number in gone}
    opened = [number for number in open_starts(state, host.name) if number in starts]
    for number in gone:
        end_launch(draft, lost_facts(state.launches[number], "host_lost", "time"), host.name)
    fail_starts(draft, opened, host.name, "host_lost")
    return {"host": host.name, "lost": gone}, {}


def host_fenced(draft: Draft, command: c.HostFenced) -> c.Rejection | Answer:
    """A fencing hook said yes: nothing runs on the host that it was asked about. It counts for
    the silence in which it was asked, not for what the host did after it was back."""
    state = draft.state
    host = state.hosts.get(command.host)
    if host is None or host.liveness != "DOWN":
        return NOTHING
    if (host.incarnation, host.changed_us) != (command.incarnation, command.down_us):
        return NOTHING
    facts = HostChanged(host=host.name, event="fenced", why=command.why)
    draft.open(facts, [host_ref(host.name)])
    draft.patch("host", host.name, why=facts.why)
    prove_dead(draft, host.name, "host_lost", "fenced")
    return {"host": host.name, "liveness": host.liveness}, {}
