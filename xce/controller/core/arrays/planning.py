"""How plans take elements of arrays: as far as the slot limit leaves room, and as jobs then."""

from collections.abc import Iterable, Iterator
from itertools import islice

from xce.controller.core.arrays.elements import room_of
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.queueing.waiting import Each, Placed
from xce.model.ids import is_array_key, job_index, job_key, job_number
from xce.model.waiting.array import JOB, PENDING, Runs, indices_of, runs_of


def singly(state: State, waiters: Iterable[Placed], each: Each, now_us: int) -> Iterator[Placed]:
    """An array's elements one by one: as many as `each` says of their class, and no more than its
    slot limit leaves."""
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
            room, most = room_of(state, array), each((group, key, class_key))
            rooms[number] = most if room is None else min(room, most)
        if is_array_key(key):
            for index in islice(indices_of(array, PENDING), rooms[number]):
                yield place, (0, job_key(number, index), class_key)
        elif rooms[number] > 0:
            rooms[number] -= 1
            yield place, (0, key, class_key)


def full_of(state: State) -> int:
    """How many waiters are passed over because their array's slot limit leaves no room: they may
    not stand in the way of others of their class."""
    found = 0
    for number in state.index.elements.limited:
        states = state.index.elements.states.get(number, {})
        found += 1 + states.get("PENDING", 0)
    return found


def has_room(state: State, key: int, taken: dict[int, int]) -> bool:
    """Whether one more element may run within its array's slot limit as it is now, behind those
    that the plan took already."""
    number = job_number(key)
    array = state.arrays.get(number) if job_index(key) else None
    room = room_of(state, array) if array is not None else None
    return room is None or taken.get(number, 0) < room


def strike_out(draft: Draft, keys: Iterable[int]) -> None:
    """Elements that were placed have become jobs: they wait no more in their arrays."""
    for number, runs in placed_of(draft.state, keys):
        draft.elements(number, "plan", runs, JOB)


def placed_of(state: State, keys: Iterable[int]) -> list[tuple[int, Runs]]:
    """The elements among these that are letters yet, as runs of their arrays."""
    found: dict[int, list[int]] = {}
    for key in keys:
        array = state.arrays.get(job_number(key)) if job_index(key) else None
        if array is not None and array.letter(job_index(key)) != JOB:
            found.setdefault(array.number, []).append(job_index(key))
    return [(number, runs_of(sorted(indices))) for number, indices in sorted(found.items())]
