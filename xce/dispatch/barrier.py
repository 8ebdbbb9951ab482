"""The barrier: one rendezvous of all launches and attachments of a start, judged on plain values.

It passes only when, in one evaluation, every launch is ARMED, every attachment READY, and every
host of the start is UP, has reconciled in this epoch, and keeps the lease that the start asks for.
It knows neither deadlines nor retries: when to judge and what a verdict means is the caller's
policy. The missing are always named.
"""

from collections.abc import Iterable

from msgspec import Struct


class LaunchSeen(Struct, frozen=True, gc=False, array_like=True):
    """A launch as the barrier sees it: `name` for people, its state, its host."""

    name: str
    state: str
    host: str


class AttachmentSeen(Struct, frozen=True, gc=False, array_like=True):
    """An attachment as the barrier sees it."""

    name: str
    state: str
    host: str
    message: str = ""


class HostSeen(Struct, frozen=True, gc=False, array_like=True):
    """A host as the barrier sees it: liveness, whether it reconciled in this epoch, and whether
    the lease of the start lasts there."""

    name: str
    liveness: str
    reconciled: bool
    leased: bool = True


def complete(armed: int, launches: int, ready: int, attachments: int) -> bool:
    """Whether the tallies allow a full judgement; costs nothing in a gang of any size."""
    return armed == launches and ready == attachments


def missing(
    launches: Iterable[LaunchSeen],
    attachments: Iterable[AttachmentSeen],
    hosts: Iterable[HostSeen],
) -> tuple[str, ...]:
    """What keeps the barrier from passing, named one by one; empty means that it passes."""
    found = [
        f"{launch.name} on {launch.host} is {launch.state}, not ARMED"
        for launch in launches
        if launch.state != "ARMED"
    ]
    for seen in attachments:
        if seen.state != "READY":
            why = f": {seen.message}" if seen.message else ""
            found.append(f"{seen.name} on {seen.host} is {seen.state}, not READY{why}")
    for host in hosts:
        if host.liveness != "UP":
            found.append(f"host {host.name} is {host.liveness}, not UP")
        elif not host.reconciled:
            found.append(f"host {host.name} has not listed its work to this leader")
        elif not host.leased:
            found.append(f"host {host.name} does not keep the lease (stop_after) of this work")
    return tuple(found)
