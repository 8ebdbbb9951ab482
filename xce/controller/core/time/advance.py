"""Advance reservations: hosts, or room for tasks, kept for named users from one moment to another.

What is to be kept must be free for all of that time by what is known now: what runs there without
a known end, or for longer, is in the way, and the answer names the nearest miss. Whole hosts are
kept with all that they have. Jobs join by name; what they hold is taken from what is kept.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.time.joining import named
from xce.controller.core.time.reservations import REMOVED, end_reservation
from xce.controller.core.view import Viewer
from xce.model.actor import ADMIN, OPERATOR
from xce.model.host import Host
from xce.model.need import Need
from xce.model.placing import Share
from xce.model.records import ReservationSet
from xce.model.resources import site_types
from xce.resreq.errors import ResreqError
from xce.resreq.parse import COMPAT, parse
from xce.resreq.resolve import resolve
from xce.scheduler.candidates import Workspace
from xce.scheduler.ledger import Taking
from xce.scheduler.snapshot import Ask, RoleAsk, Snapshot
from xce.scheduler.time.attempt import attempt
from xce.scheduler.time.book import Book
from xce.scheduler.time.terms import ADVANCE

Answer = tuple[dict[str, Any], dict[str, bytes]]
NO_ROOM = "Not enough slots in the specified time window"


def add_reservation(draft: Draft, command: c.AddReservation) -> c.Rejection | Answer:
    """Keep hosts or room for somebody, or say what is in the way."""
    state, actor = draft.state, command.actor
    if actor.kind not in (OPERATOR, ADMIN):
        return c.Rejection(
            code="not_allowed", message="only operators and administrators reserve in advance"
        )
    number = state.last("reservation") + 1
    name = command.name or f"r{number}"
    wrong = _wrong(state, command, name, draft.now_us)
    if wrong is not None:
        return wrong
    shares = _room(state, command, draft.now_us)
    if isinstance(shares, c.Rejection):
        return shares
    facts = ReservationSet(
        reservation=number,
        kind=ADVANCE,
        name=name,
        owner=actor.uid,
        users=command.users,
        from_us=max(command.from_us, draft.now_us),
        until_us=command.until_us,
        end_us=command.until_us,
        shares=shares,
    )
    draft.open(facts, [f"reservation:{name}"])
    hosts = list(dict.fromkeys(share.host for share in shares))
    return {"reservation": name, "hosts": hosts}, {}


def remove_reservation(draft: Draft, command: c.RemoveReservation) -> c.Rejection | Answer:
    """What was kept is everybody's again; jobs that use it run on."""
    found = named(draft.state, command.name)
    if found is None:
        message = f"Reservation <{command.name}>: No such reservation"
        return c.Rejection(code="not_found", message=message)
    if not command.actor.may_change(found.owner):
        return not_yours(command.actor, f"Reservation <{command.name}>")
    end_reservation(draft, found.number, REMOVED)
    return {"reservation": command.name}, {}


def _wrong(state: State, command: c.AddReservation, name: str, now_us: int) -> c.Rejection | None:
    plain = name.replace("-", "").replace("_", "").replace(".", "").replace("#", "")
    if not plain.isalnum() or not plain.isascii() or len(name) > 60:
        message = f"Bad reservation name: {name}"
        return c.Rejection(code="invalid", message=message, field="name")
    if named(state, name) is not None:
        message = f"Reservation <{name}> exists already"
        return c.Rejection(code="conflict", message=message, field="name")
    if command.until_us <= max(command.from_us, now_us):
        message = "it must end later than it begins, and later than now"
        return c.Rejection(code="invalid", message=message, field="until_us")
    if not command.users:
        message = "say for whom: at least one user"
        return c.Rejection(code="invalid", message=message, field="users")
    there = {name for name, one in state.hosts.items() if one.liveness != "GONE"}
    unknown = [host for host in command.hosts if host not in there]
    if unknown:
        message = f"{unknown[0]}: No such host"
        return c.Rejection(code="invalid", message=message, field="hosts")
    if not command.hosts and command.tasks < 1:
        message = "say what to keep: hosts, or a number of tasks"
        return c.Rejection(code="invalid", message=message, field="tasks")
    return None


def _room(state: State, command: c.AddReservation, now_us: int) -> tuple[Share, ...] | c.Rejection:
    snapshot = Viewer(state).snapshot(now_us, {}, limit=0)
    book = Book(Workspace(snapshot))
    from_us = max(command.from_us, now_us)
    later = book.later(from_us, command.until_us)
    if command.tasks:
        return _of_tasks(state, command, later)
    shares = tuple(_whole(state, state.hosts[name]) for name in command.hosts)
    work = Workspace(later)
    for share, taking in zip(shares, book.takings_of(shares), strict=True):
        lacking = _lacking(work, taking)
        if lacking:
            return c.Rejection(
                code="conflict", message=NO_ROOM, field="hosts",
                hint=f"{share.host}: {lacking}; work with a later end, or none, is in the way",
            )  # fmt: skip
    return shares


def _lacking(work: Workspace, taking: Taking) -> str:
    """What of a whole host cannot be had; "" when all can."""
    if not work.usable[taking.host]:
        return "it cannot be used"
    for name, amount in taking.counters:
        free = int(work.ledger.column(name)[taking.host])
        if free < amount:
            return f"{free} of {amount} {name} can be kept"
    for type_, bits in taking.bits:
        free = (work.ledger.mask(type_, taking.host) & bits).bit_count()
        if free < bits.bit_count():
            return f"{free} of {bits.bit_count()} {type_} can be kept"
    return ""


def _whole(state: State, host: Host) -> Share:
    """All that a host has."""
    counters = tuple((name, amount) for name, amount in host.facts.counters if amount)
    keys = sorted(state.index.host_instances.get(host.name, {}))
    present = tuple(key for key in keys if state.instances[key].state == "PRESENT")
    slots = dict(counters).get("slots", 0)
    return Share(host=host.name, tasks=slots, counters=counters, instances=present)


def _of_tasks(
    state: State, command: c.AddReservation, later: Snapshot
) -> tuple[Share, ...] | c.Rejection:
    try:
        tree = parse(command.resreq, mode=COMPAT).tree if command.resreq else None
        need = resolve(tree, types=site_types(state.config.types)) if tree else Need()
    except ResreqError as error:
        return c.Rejection(
            code="invalid", message=error.message, field="resreq", column=error.column,
            hint=error.hint, text=command.resreq,
        )  # fmt: skip
    others = tuple(name for name in state.hosts if command.hosts and name not in command.hosts)
    role = RoleAsk(jobs=(0,), need=need, tasks=command.tasks)
    ask = Ask(
        order=(0,), class_key="reservation", roles=(role,), avoid=others,
        length_us=command.until_us - command.from_us,
    )  # fmt: skip
    found = attempt(Workspace(later), ask, later.now_us)
    if found is not None:
        return found.shares
    work = Workspace(later)
    most = int(work.ledger.column("slots")[work.usable].sum())
    hint = f"{min(most, command.tasks)} of {command.tasks} slots can be kept at most"
    return c.Rejection(code="conflict", message=NO_ROOM, field="tasks", hint=hint)
