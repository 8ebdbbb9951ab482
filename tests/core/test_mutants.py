"""The tests of the core are tested: each planted mistake makes a named test, or the walk, fail."""

from collections.abc import Callable
from importlib import import_module

import pytest

from tests.core.mutants import COUPLING_HUNTERS, MUTANTS, name_of, without
from tests.core.walk import play
from xce.model.tables import COUPLINGS

WALKED = (
    "go before the pass",
    "a launch need not be ARMED",
    "an attachment need not be READY",
    "shares are free before the launch is gone",
    "ended launches are not counted",
    "launch numbers are used again",
    "claim numbers are used again",
)
SEEDS = range(12)


def hunter(name: str) -> Callable[[], None]:
    *rooms, module, test = name.split(".")
    home = import_module(".".join(["tests.core", *rooms, f"test_{module}"]))
    found: Callable[[], None] = getattr(home, f"test_{test}")
    return found


def fails(test: Callable[[], object]) -> bool:
    """Whether a test fails, by an assertion or by a bug that stops the controller."""
    try:
        test()
    except Exception:
        return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_mistake_is_found_by_its_test(name: str) -> None:
    mutant, by = MUTANTS[name]
    with mutant():
        assert fails(hunter(by))
    assert not fails(hunter(by))


@pytest.mark.parametrize("coupling", COUPLINGS, ids=name_of)
def test_a_coupling_that_is_not_there_is_found(coupling: object) -> None:
    (found,) = [one for one in COUPLINGS if one is coupling]
    with without(found):
        assert fails(hunter(COUPLING_HUNTERS[name_of(found)]))


@pytest.mark.parametrize("name", WALKED)
def test_the_walk_finds_it_too(name: str) -> None:
    with MUTANTS[name][0]():
        assert any(fails(lambda seed=seed: play(seed)) for seed in SEEDS)  # type: ignore[misc]
