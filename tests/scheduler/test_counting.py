"""Pure counting: tiles, blocks, even spreads, and choices of compute units."""

import pytest

from xce.model.need import BEST_FIT, UnitNeed
from xce.scheduler.place.parallel import blocks, evenly, tiles
from xce.scheduler.place.units import choices


def test_tiles_of_each_host_s_own_size_with_the_rest_on_one_more() -> None:
    assert next(tiles([4, 8], [4, 8], 10, [4, 8])) == ((0, 4), (1, 6))
    assert next(tiles([4, 6, 8], [4, 6, 8], 16, [4, 8, 8])) == ((0, 4), (2, 8), (1, 4))
    assert list(tiles([4, 4], [4, 4], 9, [4, 4])) == []
    assert list(tiles([4, 4], [4, 4], 4, [0, 4])) == [((1, 4),)]


def test_a_tile_begins_only_where_the_first_host_bears_it() -> None:
    assert list(tiles([4, 4], [0, 4], 4, [4, 4])) == [((1, 4),)]


def test_blocks_are_whole() -> None:
    assert next(blocks([5, 3], [5, 3], 6, 2)) == ((0, 4), (1, 2))
    assert list(blocks([5, 3], [5, 3], 5, 2)) == []
    assert list(blocks([3, 1], [3, 1], 4, 2)) == []


@pytest.mark.parametrize(
    ("caps", "units", "most", "expected"),
    [
        ([8, 8, 8], 4, 0, ((0, 2), (1, 1), (2, 1))),
        ([8, 1, 8], 7, 0, ((0, 3), (1, 1), (2, 3))),
        ([8, 8], 4, 2, ((0, 2), (1, 2))),
        ([8, 8], 5, 2, None),
        ([0, 3], 3, 0, ((1, 3),)),
    ],
)
def test_evenly(
    caps: list[int], units: int, most: int, expected: tuple[tuple[int, int], ...] | None
) -> None:
    assert next(evenly(caps, caps, units, most), None) == expected


def test_evenly_leaves_the_first_host_what_sits_there() -> None:
    assert next(evenly([4, 4], [1, 4], 5, 0)) == ((0, 1), (1, 4))


@pytest.mark.parametrize(
    ("room", "tasks", "need", "first_ways"),
    [
        ([4, 4, 4], 6, UnitNeed(), [((0, 4), (1, 2)), ((0, 4), (2, 2)), ((1, 4), (2, 2))]),
        ([2, 4, 4], 7, UnitNeed(most=2), [((1, 4), (2, 3))]),
        ([4, 4], 5, UnitNeed(least=2), [((0, 3), (1, 2))]),
        ([4, 1, 4], 6, UnitNeed(least=2), [((0, 4), (2, 2))]),
        ([4, 4], 9, UnitNeed(), []),
        ([4, 4, 4], 6, UnitNeed(balance=True), [((0, 3), (1, 3)), ((0, 2), (1, 2), (2, 2))]),
        ([3, 4], 7, UnitNeed(balance=True), [((0, 3), (1, 4))]),
        ([8, 3, 5], 5, UnitNeed(pref=BEST_FIT), [((2, 5),), ((0, 5),)]),
        ([8, 3, 5], 8, UnitNeed(pref=BEST_FIT, least=4), [((0, 8),), ((0, 4), (2, 4))]),
    ],
)
def test_choices_of_units(
    room: list[int], tasks: int, need: UnitNeed, first_ways: list[tuple[tuple[int, int], ...]]
) -> None:
    assert list(choices(room, tasks, need))[: max(1, len(first_ways))] == first_ways


def test_very_many_choices_are_bounded() -> None:
    room = [10] * 200
    assert next(choices(room, 995, UnitNeed(least=10)), None) is None
    found = next(choices(room, 1000, UnitNeed(pref=BEST_FIT)))
    assert sum(tasks for _, tasks in found) == 1000
