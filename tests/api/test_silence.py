"""What people read of work on a host that is not heard of: the four cures, and time."""

from tests.core.lab import Life, lab, until_state
from tests.kit.words import gang, job, role, settings
from tests.kit.world import World
from xce.api.show import Shown
from xce.model.config import SECOND_US, FencingConfig
from xcecli.long import job_lines

BEGINS = (
    "host n1 is DOWN (not heard for 61 s): nobody knows whether its work goes on; settled when "
)
CURES = (
    "the host is back, when it has a new boot, when a fencing hook says yes (none is configured: "
    "[fencing] in xce.toml), or by `xce host lost n1`"
)
TIME = (
    "; at the latest 82s after the host was last heard (or this controller began), because its "
    "supervisor stops what has a stop_after"
)


def down(world: World) -> World:
    """Everything of n1 runs, and n1 is DOWN."""
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    return world


def test_a_job_names_the_four_cures() -> None:
    world = lab(1)
    world.submit(job())
    told = Shown(down(world).state).job(world.state.jobs[1])
    assert (told["stat"], told["stop_after_us"]) == ("UNKWN", None)
    assert told["silence"] == {"hosts": ["n1"], "text": BEGINS + CURES}
    assert f"  {BEGINS}{CURES}" in job_lines(told)


def test_work_with_a_lease_is_settled_by_time_at_the_latest() -> None:
    world = lab(1)
    world.submit(job(stop_after_us=60 * SECOND_US))
    told = Shown(down(world).state).job(world.state.jobs[1])
    assert told["stop_after_us"] == 60 * SECOND_US
    assert "  Stopped by its host when that is cut off for 60 s" in job_lines(told)
    # Leases are looked at every second, so that silence is noticed a second sooner here.
    assert told["silence"]["text"] == BEGINS.replace("61", "60") + CURES + TIME


def test_a_hook_that_is_configured_is_no_wish() -> None:
    world = lab(1, config=settings(fencing=FencingConfig(command=("/opt/fence",))))
    world.submit(job())
    told = Shown(down(world).state).job(world.state.jobs[1])
    assert "when a fencing hook says yes, or by" in told["silence"]["text"]


def test_a_gang_names_its_silent_hosts_and_nothing_when_there_are_none() -> None:
    world = lab(1)
    world.submit_gang(gang(role("worker", 2)))
    until_state(world, "job", 1, "RUNNING")
    assert Shown(world.state).group(world.state.groups[1])["silence"] is None
    told = Shown(down(world).state).group(world.state.groups[1])
    assert told["silence"] == {"hosts": ["n1"], "text": BEGINS + CURES}
