"""Hosts: registration, liveness by the clock, admin states by people, proofs of death.

Silence is not death. A launch is LOST only on proof: a new boot id, an operator's audited word,
a reconciliation that no longer lists what had run, or what `losses` has.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.admission import refuse
from xce.controller.core.deciders.limits import wrong_facts
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import end_launch, lose_claim
from xce.controller.core.life.starts import fail_start
from xce.model.actor import ADMIN, HOST, OPERATOR, SYSTEM, Actor
from xce.model.ids import host_ref, instance_key
from xce.model.records import AttachmentReported, HostChanged, HostRegistered, LaunchEnded
from xce.model.start import Launch
from xce.model.tables import LIVENESS

Answer = tuple[dict[str, Any], dict[str, bytes]]
_CLOCK_EVENTS = ("miss", "hear", "grace_end")
_ADMIN_EVENTS = ("drain", "close", "open")


def register_host(draft: Draft, command: c.RegisterHost) -> c.Rejection | Answer:
    """A host (re)joins: a new incarnation. A new boot id ends all that ran before, once the host
    has told the outcomes that its journal holds: with its list, see `decide_reports`."""
    state = draft.state
    refused = speaks_for(command.actor, command.host) or refuse(state, command)
    if refused is not None:
        return refused
    wrong = wrong_facts(command.host, command.facts)
    if wrong:
        return c.Rejection(code="invalid", message=f"host {command.host}: {wrong}", field="facts")
    incarnation = state.last("incarnation") + 1
    facts = HostRegistered(
        host=command.host,
        incarnation=incarnation,
        boot_id=command.boot_id,
        facts=command.facts,
        agent=command.agent,
        can=command.can,
    )
    lsn = draft.open(facts, [host_ref(command.host)])
    draft.fire("liveness", command.host, "register", question=lsn)
    _compare_instances(draft, command)
    return {"incarnation": incarnation, "log": command.own_log}, {}


def speaks_for(actor: Actor, host: str) -> c.Rejection | None:
    """Only a host speaks for itself; the controller and its operators may stand in."""
    if actor.kind in (OPERATOR, ADMIN, SYSTEM) or (actor.kind == HOST and actor.name == host):
        return None
    return c.Rejection(
        code="not_allowed", message=f"the token of {actor.text()} is not host {host}'s"
    )


def _compare_instances(draft: Draft, command: c.RegisterHost) -> None:
    """What a re-registering host no longer reports is LOST when held, else GONE."""
    state = draft.state
    reported = {
        instance_key(command.host, fact.type, fact.name) for fact in command.facts.instances
    }
    for key in sorted(state.index.host_instances.get(command.host, {})):
        if key in reported:
            draft.fire("instance", key, "report")
        elif key in state.index.holders:
            draft.fire("instance", key, "miss", why="not reported any more")
            kind, number = state.index.holders[key]
            if kind == "claim":
                lose_claim(draft, number)
        else:
            draft.fire("instance", key, "vanish", why="not reported any more")


def host_event(draft: Draft, command: c.HostEvent) -> c.Rejection | Answer:
    """Silence and hearing, drain, close, open, remove, and an operator's word that all is lost."""
    state = draft.state
    host = state.hosts.get(command.host)
    if host is None:
        return c.Rejection(code="not_found", message=f"{command.host}: No such host")
    if command.event in _CLOCK_EVENTS and command.actor.kind == SYSTEM:
        return _liveness(draft, command)
    if command.actor.kind not in (OPERATOR, ADMIN, SYSTEM):
        return c.Rejection(
            code="not_allowed", message=f"{command.event} of a host is for operators"
        )
    if command.event in _ADMIN_EVENTS:
        if host.liveness == "GONE":
            return c.Rejection(code="conflict", message=f"host {host.name} was removed")
        return _admin(draft, command)
    if command.event == "lost":
        return _lost(draft, command)
    if command.event != "remove":
        return c.Rejection(code="invalid", message=f"hosts know no {command.event}", field="event")
    if state.index.live_launches.get(host.name) or state.index.live_attachments.get(host.name):
        return c.Rejection(
            code="conflict",
            message=f"host {command.host} has work; it cannot be removed",
            hint="drain it and wait, or say `xce host lost` when it is proven dead",
        )
    if host.liveness in ("UP", "SUSPECT"):
        return c.Rejection(
            code="conflict",
            message=f"host {host.name} is {host.liveness}; only a silent host can be removed",
            hint="stop its agent and wait until it is DOWN",
        )
    return _liveness(draft, command)


def _liveness(draft: Draft, command: c.HostEvent) -> Answer:
    host = draft.state.hosts[command.host]
    facts = HostChanged(host=host.name, event=command.event, why=command.why)
    lsn = draft.state.lsn + 1

    if LIVENESS.legal(host.liveness, command.event):
        draft.open(facts, [host_ref(host.name)])
        asked = {"question": lsn} if command.event == "hear" else {}
        draft.fire(
            "liveness", host.name, command.event, changed_us=draft.now_us, why=command.why, **asked
        )
        if command.event == "grace_end":
            fail_starts(draft, open_starts(draft.state, host.name), host.name, "host_down")
    return {"host": host.name, "liveness": draft.state.hosts[host.name].liveness}, {}


def _admin(draft: Draft, command: c.HostEvent) -> Answer:
    name = command.host
    draft.open(HostChanged(host=name, event=command.event, why=command.why), [host_ref(name)])
    draft.fire("admin", name, command.event, admin_why=_said(command))
    if command.event == "drain" and not draft.state.index.live_launches.get(name):
        draft.fire("admin", name, "empty")
    return {"host": name, "admin": draft.state.hosts[name].admin}, {}


def _said(command: c.HostEvent) -> str:
    """Why a host takes no work; nothing once it is open."""
    return "" if command.event == "open" else command.why


def _lost(draft: Draft, command: c.HostEvent) -> c.Rejection | Answer:
    host = draft.state.hosts[command.host]
    if host.liveness == "UP":
        return c.Rejection(
            code="conflict",
            message=f"host {host.name} is UP; only a silent host can be declared lost",
        )
    facts = HostChanged(host=host.name, event="lost", why=command.why or "operator's word")
    draft.open(facts, [host_ref(host.name)])
    draft.patch("host", host.name, why=facts.why, changed_us=draft.now_us)
    prove_dead(draft, host.name, "host_lost", f"operator {command.actor.text()}")
    return {"host": host.name, "liveness": host.liveness}, {}


def prove_dead(draft: Draft, host: str, cause: str, evidence: str) -> None:
    """Nothing that was on the host runs any more: its launches end, its attachments are gone."""
    state = draft.state
    opened = open_starts(state, host)
    for number in sorted(state.index.live_launches.get(host, {})):
        end_launch(draft, lost_facts(state.launches[number], cause, evidence), host)
    for number in sorted(state.index.live_attachments.get(host, {})):
        facts = AttachmentReported(attachment=number, outcome="released", message=cause)
        draft.open(facts, [host_ref(host)])
        draft.fire("attachment", number, "lose", message=cause)
        lose_claim(draft, state.attachments[number].claim)
    fail_starts(draft, opened, host, cause)


def clear_sound(draft: Draft, host: str) -> None:
    """Quarantined instances that no live attachment has: nothing is left on them, they are sound.
    Asked when an agent has begun (it cleans what its providers left) and listed its work."""
    state = draft.state
    held = {
        holding.instance
        for number in state.index.live_attachments.get(host, {})
        for holding in state.claims[state.attachments[number].claim].holdings
    }
    for key in sorted(state.index.host_instances.get(host, {})):
        if state.instances[key].state == "QUARANTINED" and key not in held:
            draft.fire("instance", key, "clear", why="")


def lost_facts(launch: Launch, cause: str, evidence: str) -> LaunchEnded:
    """The end of a launch by proof: lost once it may have run, aborted when it never could."""
    ran = "yes" if launch.state == "RUNNING" else "unknown" if launch.go else "no"
    if launch.state == "STOPPING" and launch.started_us:
        ran = "yes"
    return LaunchEnded(
        launch=launch.number,
        how="aborted" if ran == "no" else "lost",
        code=0,
        cause_of_end=cause,
        evidence=evidence,
        ran=ran,
    )


def fail_starts(draft: Draft, starts: list[int], host: str, reason: str) -> None:
    """An OPEN start with a part on a host that is gone cannot pass."""
    for number in starts:
        fail_start(draft, number, reason, (f"host {host}: {reason.replace('_', ' ')}",))


def open_starts(state: State, host: str) -> list[int]:
    """OPEN starts with a live launch or attachment on the host, in order."""
    index = state.index
    starts = {state.launches[one].start for one in index.live_launches.get(host, {})}
    starts |= {state.attachments[one].start for one in index.live_attachments.get(host, {})}
    # What stands alone has no start: its attachments name 0.
    return sorted(number for number in starts if number and state.starts[number].state == "OPEN")
