"""Taking over and keeping the lead: how long it is kept, and which settings are in force."""

import asyncio
import threading
import time
from pathlib import Path

import pytest
from msgspec import structs

from tests.core.lab import lab
from xce.controller import leading
from xce.controller.clock import boot_us
from xce.controller.core.fold.state import State
from xce.controller.leading import Leadership, Settings
from xce.model.config import Config, QueueConfig
from xce.wal.port import Fenced, LogAway

LEASE_S = 0.8


class Hanging:
    """A log whose renewals hang, or fail at once."""

    def __init__(self, *, hangs: bool) -> None:
        self.given_up = threading.Event()
        self.calls = 0
        self._hangs = hangs

    def renew(self, epoch: int, now_us: int, ttl_us: int) -> None:
        self.calls += 1
        if self._hangs:
            self.given_up.wait(10)
        raise LogAway("the database is away")


@pytest.mark.parametrize("hangs", [True, False])
def test_a_leader_that_cannot_renew_ends_before_another_may_lead(
    monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    monkeypatch.setattr(leading, "TTL_US", 1_000_000)
    monkeypatch.setattr(leading, "RENEW_MARGIN_US", 200_000)
    monkeypatch.setattr(leading, "RENEW_EVERY_S", 0.3)
    lead, log = Leadership.__new__(Leadership), Hanging(hangs=hangs)
    lead.epoch, lead._log, lead._lapses = 1, log, True  # type: ignore[assignment]
    took: list[float] = []

    async def main() -> None:
        lead._renewed_us = boot_us()
        began_s = time.monotonic()
        with pytest.raises(Fenced, match="could not be renewed in time"):
            await lead._renew()
        took.append(time.monotonic() - began_s)
        log.given_up.set()

    asyncio.run(main())
    assert LEASE_S - 0.05 <= took[0] < LEASE_S + 0.2
    assert log.calls == (1 if hangs else 2)
    assert not lead.holds()


def test_a_renewal_that_comes_back_late_takes_nothing_back() -> None:
    lead = Leadership.__new__(Leadership)
    lead.epoch, lead._lapses, lead._renewed_us = 1, True, boot_us() + 5_000_000

    class Good:
        def renew(self, *_: object) -> None:
            """It worked."""

    before_us = lead._renewed_us
    lead._renew_once(Good())  # type: ignore[arg-type]
    assert lead._renewed_us == before_us


# -- settings -------------------------------------------------------------------------------------


def loaded(state: State, **fields: object) -> Config | None:
    settings = Settings(home=Path("/nowhere"), **fields)  # type: ignore[arg-type]
    command = leading._config_of(settings, state)
    return command.config if command is not None else None


def test_a_start_without_a_file_leaves_the_settings_of_the_log_in_force() -> None:
    state = lab(1).state
    other = Config(queues=(QueueConfig(name="other"),))
    assert loaded(state, config=other, keeps_config=True) is None
    assert loaded(state, config=other) == other


def test_a_log_without_settings_gets_those_of_the_start() -> None:
    config = Config()
    assert loaded(State(), config=config, keeps_config=True) == config


def test_without_a_file_the_command_line_still_allows_work_of_root() -> None:
    state = lab(1).state
    own = structs.replace(state.config, allow_root=False)
    setting = state.tables["setting"]["config"]
    state.put("setting", "config", structs.replace(setting, config=own))
    asked = Config(allow_root=True)
    assert loaded(state, config=asked, keeps_config=True) == structs.replace(own, allow_root=True)
