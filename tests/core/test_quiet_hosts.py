"""Who is silent is found without a look at those that were heard, and is the same as with one."""

import random
from typing import Any

import pytest
from msgspec import structs

from bench._core.clusters import cluster
from xce.controller.core.commands import Command, HostEvent, LeasesOver
from xce.controller.core.fold.state import State
from xce.controller.core.life.leases import overdue
from xce.controller.hosts import Hosts
from xce.model.actor import CONTROLLER

SECOND_US = 1_000_000


def plainly(state: State, hosts: Hosts, now_us: int, joining: set[str]) -> list[Command]:
    """The same by a look at every host."""
    found: list[Command] = []
    for name in sorted(set(state.hosts) - joining):
        host, quiet_us = state.hosts[name], now_us - hosts._last_us(name)
        text = f"not heard for {quiet_us // SECOND_US} s"
        if host.liveness in ("UP", "JOINING") and quiet_us > state.config.suspect_after_us:
            found.append(HostEvent(actor=CONTROLLER, host=name, event="miss", why=text))
        elif host.liveness == "SUSPECT" and quiet_us > state.config.host_grace_us:
            found.append(HostEvent(actor=CONTROLLER, host=name, event="grace_end", why=text))
        if host.liveness in ("SUSPECT", "DOWN") and overdue(state, name, quiet_us):
            found.append(LeasesOver(actor=CONTROLLER, host=name, quiet_us=quiet_us))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_those_that_are_silent_are_those_that_a_look_at_all_finds(seed: int) -> None:
    chance = random.Random(seed)
    state = cluster(12)
    hosts, now_us = Hosts(state), 100 * SECOND_US
    hosts.begin(now_us)
    seen = 0
    for _ in range(300):
        now_us += chance.choice((0, 1, 2, 9)) * SECOND_US
        for name in chance.sample(sorted(state.hosts), chance.choice((0, 1, 8))):
            hosts.hear(name, now_us)
        if chance.random() < 0.3:
            changed(state, chance)
        joining = set(chance.sample(sorted(state.hosts), chance.choice((0, 0, 2))))
        events = hosts.silent(now_us, joining)
        assert events == plainly(state, hosts, now_us, joining)
        seen += len(events)
    assert seen > 100


def changed(state: State, chance: random.Random) -> None:
    """A host is something else, leaves, or the site has other settings."""
    name = chance.choice(sorted(state.hosts))
    host: Any = state.hosts[name]
    match chance.randrange(8):
        case 0 if len(state.hosts) > 9:
            host = None
        case 1:
            setting = state.tables["setting"]["config"]
            after_us = chance.choice((3, 10, 30)) * SECOND_US
            config = structs.replace(setting.config, suspect_after_us=after_us)
            state.put("setting", "config", structs.replace(setting, config=config))
        case _:
            liveness = chance.choice(("UP", "UP", "JOINING", "SUSPECT", "DOWN", "GONE"))
            host = structs.replace(host, liveness=liveness)
    state.put("host", name, host)
    state.index.settle()


def test_hosts_that_are_heard_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of its moments no host is looked at."""
    state = cluster(200)
    hosts = Hosts(state)
    looked: list[str] = []
    hosts.begin(0)
    hosts.silent(0)
    own = Hosts._last_us
    monkeypatch.setattr(
        Hosts, "_last_us", lambda self, name: looked.append(name) or own(self, name)
    )
    for second in range(1, 601):
        for name in state.hosts:
            hosts.hear(name, second * SECOND_US)
        assert hosts.silent(second * SECOND_US) == []
    every_s = state.config.suspect_after_us // SECOND_US
    assert len(looked) <= 200 * (600 // every_s + 1)
