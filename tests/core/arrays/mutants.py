"""Planted mistakes of arrays, each with the test that must find it; see `tests.core.mutants`."""

from collections.abc import Callable
from typing import Any

from tests.core.swapped import swapped
from xce.controller.core import room
from xce.controller.core.arrays import planning
from xce.controller.core.deciders.asked import arrays
from xce.controller.core.deciders.placing import recheck
from xce.controller.core.life import draft

ARRAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "the slot limit of arrays is not looked at by sessions": (
        lambda: swapped(planning, "room_of", lambda state, array: None),
        "arrays.the_slot_limit_bounds_what_runs_at_once_and_all_of_it_runs_in_the_end",
    ),
    "a plan is not cut to the slot limit": (
        lambda: swapped(recheck, "has_room", lambda state, key, taken: True),
        "arrays.a_plan_made_before_the_limit_fell_is_cut_to_it",
    ),
    "full arrays stand in the way": (
        lambda: swapped(room, "full_of", lambda state: 0),
        "arrays.arrays_at_their_limit_do_not_stand_in_the_way_of_their_class",
    ),
    "placed elements wait on": (
        lambda: swapped(planning, "JOB", "P"),
        "arrays.elements_are_placed_in_the_order_of_their_indices",
    ),
    "a kill of some is a kill of all": (
        lambda: swapped(arrays, "among", lambda array, runs, letters: _all(array, letters)),
        "arrays.a_kill_of_a_range_takes_what_waits_and_what_runs_of_it",
    ),
    "the end of an array is not noticed": (
        lambda: swapped(draft, "is_over", lambda state, number: False),
        "arrays.ended_elements_become_letters_and_the_array_leaves_with_the_last",
    ),
}


def _all(array: Any, letters: str) -> Any:
    from xce.model.waiting.array import among

    return among(array, (), letters)
