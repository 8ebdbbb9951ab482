"""Dependencies on arrays, on their elements and on counts of them; arrays that wait."""

import pytest

from tests.core.depending.test_dependencies import END, lasting, refused, started, why
from tests.core.lab import Life, lab, until_state
from tests.kit.words import OPS, array, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job
from xce.model.config import SECOND_US
from xce.model.ids import job_key
from xce.model.waiting.array import PENDING


def lives(world: World, number: int, **codes: int) -> None:
    """Element i ends after i seconds; `e2=3` says that element 2 ends with code 3."""
    for index in range(1, 9):
        code = codes.get(f"e{index}", 0)
        world.scripts.lives[f"{number}[{index}]"] = Life(run_us=index * SECOND_US, code=code)


def ends(world: World, key: int) -> int:
    """After how many whole seconds a job is met, -1 when it is not within 20."""
    begin = world.now_us
    world.run(20 * SECOND_US)
    met_us = world.state.jobs[key].after_met_us
    return max(0, met_us - begin) // SECOND_US if met_us else -1


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("done({0})", -1), ("ended({0})", 4), ("exit({0})", -1), ("started({0})", 0),
        ("done({0}[1])", 1), ("done({0}[1,3-4])", 4), ("exit({0}[2])", 2), ("exit({0}[2], 3)", 2),
        ("exit({0}[2], 4)", -1), ("numdone({0}, >= 2)", 3), ("numended({0}, *)", 4),
        ("numexit({0}, > 0)", 2), ("numdone({0}, *)", -1), ("numrun({0}, < 3)", 0),
        ("numpend({0}, == 0) && numstart({0}, <= 1)", 3), ("!done({0}[2]) && ended({0}[2])", 2),
    ],
)  # fmt: skip
def test_a_condition_on_an_array_holds_when_its_elements_say_so(condition: str, met: int) -> None:
    """Four elements that end after 1, 2, 3 and 4 s, the second with code 3."""
    world = lab()
    lives(world, 1, e2=3)
    number = world.submit(array((1, 4, 1), name="arr"))
    second = world.submit(job(after=condition.format(number)))
    assert ends(world, second) == met


def test_an_array_waits_whole_and_then_runs_as_far_as_its_limit_lets_it() -> None:
    world = lab()
    first = started(world, run_s=5)
    number = world.submit(array((1, 6, 1), limit=2, after=f"done({first})"))
    world.run(SECOND_US)
    state = world.state
    assert (state.arrays[number].count(PENDING), len(state.index.pending)) == (6, 0)
    assert why(world, job_key(number, 3)) == (
        "Job dependency condition not satisfied: 0 of 1 conditions hold; done(1): job 1 is RUNNING"
    )
    world.change_leader()
    world.cut()
    world.change_leader()
    world.run(5 * SECOND_US)
    assert world.state.arrays[number].after_met_us
    world.rest()


def test_one_element_that_is_singled_out_while_all_wait_waits_too() -> None:
    world = lab()
    first = started(world, run_s=5)
    number = world.submit(array((1, 3, 1), after=f"done({first})"))
    element = found_job(world.state, job_key(number, 2))
    assert element is not None
    assert element.after_ids == "done(1)"


def test_arrays_are_found_by_their_name_and_elements_are_not() -> None:
    world = lab()
    number = world.submit(array((1, 3, 1), name="arr"))
    world.run(2 * SECOND_US)
    plain = world.submit(job(name="arr"))
    both = world.submit(job(after='ended(arr) && done("arr[2]")', name="x"))
    assert world.state.jobs[both].after_ids.startswith(f"ended({number}) && ended({plain})")
    assert world.state.jobs[both].after_ids.endswith(f"&& done({number}[2])")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("done(1[9])", "unknown_job"), ("done(1[1-9])", "unknown_job"),
        ("exit(1, 3)", "unsupported"), ("done(1[*])", "unsupported"),
        ("numdone(2, > 1)", "unknown_job"),
    ],
)  # fmt: skip
def test_what_an_array_does_not_have_is_refused(text: str, code: str) -> None:
    world = lab()
    world.submit(array((1, 4, 1)))
    assert refused(world, job(after=text)).code == code
    assert refused(world, array((1, 2, 1), after=text)).code == code


def test_an_array_that_can_never_begin_is_ended_whole_where_the_site_says_so() -> None:
    world = lab(config=END)
    first = started(world, run_s=1, code=3)
    number = world.submit(array((1, 4, 1), after=f"done({first})"))
    last = world.submit(job(after=f"ended({number})"))
    until_state(world, "job", last, "DONE")
    assert world.state.arrays[number].killed_by == "dependency"


def test_an_array_and_its_elements_stay_while_they_are_waited_for() -> None:
    world = lab()
    lives(world, 1, e2=3)
    number = world.submit(array((1, 3, 1)))
    other = lasting(world, world.submit(job()), run_s=1, code=1)
    second = world.submit(job(after=f"exit({number}[2], 3) && done({other})"))
    world.run(3 * 3600 * SECOND_US)
    assert number in world.state.arrays
    assert world.state.jobs[second].after_latched == (0,)
    world.ask(c.Kill(actor=OPS, job=second))
    world.run(2 * SECOND_US)
    assert number not in world.state.arrays
    third = world.submit(job(after=f"ended({number}) && numdone({number}, == 2)"))
    assert world.state.jobs[third].after_met_us, "what has left is looked up"


def test_a_killed_array_that_waited_lets_those_go_that_wait_for_its_end() -> None:
    world = lab()
    first = started(world, run_s=50)
    number = world.submit(array((1, 3, 1), after=f"done({first})"))
    second = world.submit(job(after=f"ended({number})"))
    world.ask(c.Kill(actor=OPS, job=number))
    assert world.state.jobs[second].after_met_us
