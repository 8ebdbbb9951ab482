"""The letters of an array and its runs, against sets of indices."""

import random

import pytest

from xce.model.waiting.array import (
    COUNTED,
    LETTERS,
    NONE,
    Array,
    Runs,
    among,
    filled,
    has_index,
    indices_of,
    moved,
    runs_of,
)


def blank(last: int) -> Array:
    return Array(
        number=1, spec="", owner=1, queue="q", priority=1, submit_us=0, name="a", text="",
        last=last, step=1,
    )  # fmt: skip


def some_runs(chance: random.Random, last: int) -> Runs:
    found = []
    for _ in range(chance.randint(1, 4)):
        first, step = chance.randint(1, last), chance.choice((1, 1, 2, 7, 900))
        found.append((first, first + step * chance.randint(0, 2500 // step), step))
    return tuple(found)


def covered(runs: Runs) -> set[int]:
    return {i for first, last, step in runs for i in range(first, last + 1, step)}


@pytest.mark.parametrize("seed", range(150))
def test_letters_are_moved_counted_and_found_as_in_a_dictionary(seed: int) -> None:
    chance = random.Random(seed)
    runs = some_runs(chance, 3000)
    model = dict.fromkeys(sorted(covered(runs)), "P")
    array = filled(blank(max(model)), runs)
    for _ in range(chance.randint(0, 6)):
        asked = some_runs(chance, 3000)
        letters = chance.choice(("P", "PH", "PHJDXK"))
        picked = among(array, asked, letters)
        indices = [i for first, last, step in picked for i in range(first, last + 1, step)]
        assert indices == sorted(i for i in covered(asked) if model.get(i, NONE) in letters)
        to = chance.choice(COUNTED)
        array = moved(array, picked, to)
        model.update(dict.fromkeys(indices, to))
    assert [array.letter(i) for i in range(array.last + 3)] == [
        model.get(i, NONE) for i in range(array.last + 3)
    ]
    assert array.tally == tuple(list(model.values()).count(letter) for letter in COUNTED)
    assert all(len(block) == 1 or len(set(block)) > 1 for block in array.blocks)
    after = chance.randint(0, 3000)
    for letter in COUNTED:
        mine = [i for i, one in model.items() if one == letter]
        assert list(indices_of(array, letter, after)) == [i for i in mine if i > after]
        again = runs_of(mine)
        assert covered(again) == set(mine)
        assert all(has_index(again, i) == (i in set(mine)) for i in range(1, 40))


def test_runs_far_beyond_the_array_cost_nothing() -> None:
    array = filled(blank(10), ((1, 10, 1),))
    far = 2**31 - 1
    assert among(array, ((3, far, 2), (1, far, 1)), LETTERS) == ((1, 10, 1),)
    assert among(array, ((4, far, 3),), "P") == ((4, 10, 3),)
    assert among(array, ((11, far, 1),), "P") == ()
