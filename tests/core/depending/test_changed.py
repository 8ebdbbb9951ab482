"""A dependency that is changed: what loops is refused, what helps lets the job go."""

import pytest

from tests.core.depending.test_dependencies import END, started
from tests.core.lab import lab
from tests.kit.words import ANNA, array, job
from tests.kit.world import World
from xce.controller.core import changing
from xce.controller.core import commands as c
from xce.model.config import SECOND_US


def change(world: World, key: int, after: str) -> c.Rejection | None:
    answer = world.ask(changing.ModifyJob(actor=ANNA, job=key, after=after))
    return answer if isinstance(answer, c.Rejection) else None


@pytest.mark.parametrize(
    ("key", "after", "told"),
    [
        (2, "done(2)", "2 waits for 2"),
        (2, "done(3)", "2 waits for 3 waits for 2"),
        (2, "ended(1) || done(4)", "2 waits for 4 waits for 3 waits for 2"),
        (2, "done(last)", "2 waits for 4 waits for 3 waits for 2"),
        (3, "!done(5)", "3 waits for 5 waits for 3"),
    ],
)
def test_a_job_that_would_come_to_wait_for_itself_is_refused(
    key: int, after: str, told: str
) -> None:
    """1 runs; 2 waits for 1, 3 for 2, 4 (called last) for 3, and 5, an array, for 3."""
    world = lab()
    started(world, run_s=50)
    for before in (1, 2, 3):
        world.submit(job(after=f"done({before})", name="last" if before == 3 else "x"))
    world.submit(array((1, 3, 1), after="ended(3)"))
    refused = change(world, key, after)
    assert refused is not None
    assert (refused.code, refused.message) == (
        "dependency_loop", f"Dependency condition error: {told}"
    )  # fmt: skip
    assert change(world, 4, "done(1)") is None


def test_what_could_never_begin_begins_when_it_waits_for_something_else() -> None:
    world = lab()
    first = started(world, run_s=1, code=3)
    second = world.submit(job(after=f"done({first})"))
    third = world.submit(array((1, 2, 1), after=f"done({first})"))
    world.run(2 * SECOND_US)
    assert not world.state.jobs[second].after_met_us
    assert change(world, second, f"exit({first}, 3)") is None
    assert change(world, third, f"ended({second})") is None
    assert world.state.jobs[second].after_met_us
    world.rest()
    assert world.state.arrays[third].after_met_us


def test_a_change_to_what_can_never_be_ends_the_job_where_the_site_says_so() -> None:
    world = lab(config=END)
    first, other = started(world, run_s=1, code=3), started(world, run_s=50)
    second = world.submit(job(after=f"done({other})"))
    world.run(2 * SECOND_US)
    assert change(world, second, f"done({first})") is None
    assert world.state.jobs[second].state == "EXITED"
