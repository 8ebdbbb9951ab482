"""How plans take elements of arrays: as far as the slot limit leaves room, and as jobs then."""

from collections.abc import Iterable, Iterator
from itertools import islice

from xce.controller.core.arrays.elements import room_of
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.queueing.waiting import Placed
from xce.model.ids import is_array_key, job_index, job_key, job_number
from xce.model.waiting.array import JOB, PENDING, indices_of, runs_of


def singly(state: State, waiters: Iterable[Placed], each: int, now_us: int) -> Iterator[Placed]:
    """An array's elements one by one, at most `each` and no more than its slot limit leaves."""
    if not state.arrays:
        yield from waiters
        return
    rooms: dict[int, int] = {}
    for place, (group, key, class_key) in waiters:
        array = state.arrays.get(job_number(key)) if job_index(key) else None
        if array is None:
            yield place, (group, key, class_key)
            continue
        if is_array_key(key) and array.not_before_us > now_us:
            continue
        number = array.number
        if number not in rooms:
            room = room_of(state, array)
            rooms[number] = each if room is None else min(room, each)
        if is_array_key(key):
            for index in islice(indices_of(array, PENDING), rooms[number]):
                yield place, (0, job_key(number, index), class_key)
        elif rooms[number] > 0:
            rooms[number] -= 1
            yield place, (0, key, class_key)


def has_room(state: State, key: int, taken: dict[int, int]) -> bool:
    """Whether one more element may run within its array's slot limit as it is now, behind those
    that the plan took already."""
    number = job_number(key)
    array = state.arrays.get(number) if job_index(key) else None
    room = room_of(state, array) if array is not None else None
    return room is None or taken.get(number, 0) < room


def single_out(draft: Draft, keys: Iterable[int]) -> None:
    """Elements that are placed become jobs of their own, all of an array by one change."""
    found: dict[int, list[int]] = {}
    for key in keys:
        if job_index(key) and key not in draft.state.jobs:
            found.setdefault(job_number(key), []).append(job_index(key))
    for number, indices in sorted(found.items()):
        draft.elements(number, "single_out", runs_of(sorted(indices)), JOB)
