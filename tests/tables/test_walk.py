"""The random walk goes through, reaches every legal cell, and fails when a fault is planted."""

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest

from tests.tables.walk import LEGAL, Cell, attempt, main, unreached
from xce.model.machine import Coupling
from xce.model.tables import COUPLINGS

WALKS = 300
WALKS_MAX = 900  # rare cells may take some more once the chances in the world were changed
SEEDS_PER_FAULT = 120
MUTANTS = {
    "release early": "claim",  # claims go before the launches are gone
    "one not armed": "passes with launch",
    "not ready": "passes",
    "host not up": "is not UP",
    "go before the pass": "never passed",
}


@pytest.fixture(scope="module")
def walks() -> tuple[list[str], Counter[Cell]]:
    """Failures by seed, and how often each legal cell was reached, of the first walks."""
    failures: list[str] = []
    seen: Counter[Cell] = Counter()
    for seed in count(1):
        failure, world = attempt(seed)
        failures += [f"seed {seed}: {failure}"] if failure else []
        seen.update(world.seen)
        if seed >= WALKS and (not unreached(seen) or seed >= WALKS_MAX):
            break
    return failures, seen


def first_failure(**fault: object) -> str:
    """The failure of the first walk that a planted fault breaks, "" when none does."""
    failures: Iterator[str] = (
        attempt(seed, **fault)[0]  # type: ignore[arg-type]
        for seed in range(1, SEEDS_PER_FAULT)
    )
    return next((failure for failure in failures if failure), "")


@pytest.mark.slow
def test_no_walk_meets_an_illegal_cell_a_broken_invariant_or_no_end(
    walks: tuple[list[str], Counter[Cell]],
) -> None:
    assert walks[0] == []


@pytest.mark.slow
def test_the_walks_reach_every_legal_cell(walks: tuple[list[str], Counter[Cell]]) -> None:
    seen = walks[1]
    print("\n".join(f"{seen[cell]:8d} {' '.join(cell)}" for cell in sorted(LEGAL)))
    assert unreached(seen) == []


def test_a_walk_is_the_same_every_time() -> None:
    for seed in (7, 8):
        (_, first), (_, second) = attempt(seed), attempt(seed)
        assert len(first.story) > 100
        assert first.story == second.story


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_planted_mutant_breaks_a_walk(mutant: str) -> None:
    failure = first_failure(mutant=mutant)
    assert failure.startswith("Violation")
    assert MUTANTS[mutant] in failure


@pytest.mark.parametrize(
    "coupling", COUPLINGS, ids=lambda c: f"{c.machine}.{c.event}-{c.relation}.{c.target_event}"
)
def test_leaving_out_a_coupling_breaks_a_walk(coupling: Coupling) -> None:
    assert first_failure(without=coupling) != ""


def test_the_command_prints_the_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--walks", "2", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    assert f"of {len(LEGAL)} legal cells" in printed
    assert "job PENDING plan" in printed
