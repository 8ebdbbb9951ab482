"""A host that was taken out while it was silent, and is heard again."""

from tests.core.lab import SECOND_US, Life, lab
from tests.kit.words import OPS, job
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check


def test_a_removed_host_that_was_only_cut_off_joins_again_by_itself() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    world.ask_body(c.HostEvent(actor=OPS, host="n1", event="remove"))
    assert world.state.hosts["n1"].liveness == "GONE"
    incarnation = world.state.hosts["n1"].incarnation
    world.unmute("n1")
    world.run(30 * SECOND_US)
    host = world.state.hosts["n1"]
    assert (host.liveness, host.incarnation > incarnation) == ("UP", True)
    world.submit(job())
    world.rest()
    check(world.state)
