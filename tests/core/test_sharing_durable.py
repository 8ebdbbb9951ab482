"""Accounts, operators' words and windows are read back from SQLite and PostgreSQL as they were."""

from collections.abc import Callable

import pytest

from tests.core.test_resources_durable import Leading, opened
from tests.kit.words import OPS, SETTINGS
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.actor import CONTROLLER
from xce.model.waiting.queue import Queue
from xce.model.waiting.share import Share
from xce.wal.port import Log

__all__ = ["opened"]


@pytest.mark.parametrize("cut", [False, True])
def test_queues_are_read_back(opened: Callable[[], Log], cut: bool) -> None:
    leading = Leading(opened())
    leading.write(c.LoadConfig(actor=CONTROLLER, config=SETTINGS, digest="d"))
    leading.write(c.ChangeQueue(actor=OPS, queue="normal", event="close", why="moving"))
    leading.write(c.TurnWindow(actor=CONTROLLER, queue="night", window="runs", open=True))
    if cut:
        leading.cut()
    again, _ = recover(opened())
    found = again.tables["queue"]
    assert (found["normal"].open, found["normal"].why) == (0, "moving")
    assert isinstance(found["night"], Queue)
    assert found["night"].runs == 1
    again.epoch = leading.state.epoch
    assert digest(again) == digest(leading.state)


def test_accounts_are_read_back(opened: Callable[[], Log]) -> None:
    leading = Leading(opened())
    leading.write(c.LoadConfig(actor=CONTROLLER, config=SETTINGS, digest="d"))
    share = Share(path="main/eng/1000", at_us=7, run_us=1 << 55, cpu_us=2, gpu_us=3)
    leading.state.put("share", share.path, share)
    leading.cut()
    again, _ = recover(opened())
    assert again.shares == {share.path: share}
