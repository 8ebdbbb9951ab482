"""The judgement over what claimants were told, and a slice of the run that asks for it."""

from contextlib import AbstractContextManager

import pytest

from tests.claims.history import Held, History
from tests.claims.run import Claimants
from tests.core.standalone.mutants import STANDALONE


def right(claim: str, generation: int, from_us: int, until_us: int, given_us: int = 0) -> Held:
    return Held(1, claim, generation, ("n1/gpu/G0",), from_us, until_us, given_us)


def test_one_after_the_other_is_good_and_at_once_is_not() -> None:
    first = right("c1", 5, 100, 200)
    assert History([first, right("c2", 9, 200, 300)]).judge() == []
    assert History([first, right("c2", 9, 199, 300)]).judge() == ["n1/gpu/G0: held by c1 and by c2"]
    given = right("c1", 5, 100, 200, given_us=150)
    assert History([given, right("c2", 9, 150, 300)]).judge() == []


def test_a_generation_only_grows() -> None:
    rights = [right("c1", 9, 100, 200), right("c2", 9, 300, 400)]
    assert History(rights).judge() == ["n1/gpu/G0: generation 9 after 9"]


def judged(seed: int, operations: int = 250) -> list[str]:
    run = Claimants(seed, claimants=12, islands=4, crash_per_1000=8)
    run.play(operations)
    assert run.history.rights
    return run.history.judge()


@pytest.mark.parametrize("seed", range(2))
def test_no_two_hold_at_once_and_generations_only_grow(seed: int) -> None:
    assert judged(seed) == []


@pytest.mark.parametrize("name", [name for name, (_, found) in STANDALONE.items() if found == ""])
def test_a_planted_mistake_is_found_by_the_history(name: str) -> None:
    mutant: AbstractContextManager[None] = STANDALONE[name][0]()
    with mutant:
        try:
            wrong = judged(0)
        except AssertionError as error:
            wrong = [str(error)]
    assert wrong
