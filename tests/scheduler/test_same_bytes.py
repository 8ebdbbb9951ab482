"""Plans do not depend on hash seeds, nor on the order of what has none: a slice of
`python -m tests.scheduler.same_bytes --hash-seeds 20`."""

import pytest

from tests.scheduler.same_bytes import said, worlds


@pytest.fixture(scope="module")
def here() -> str:
    digest, met = worlds(12)
    wanted = {"accounts", "bounds", "holds", "ends", "victims", "job_groups", "host_bounds"}
    assert wanted - set(met) == set(), "the walks have none of these"
    return digest


@pytest.mark.parametrize("hash_seed", [1, 424242])
def test_another_hash_seed_gives_the_same_plans(here: str, hash_seed: int) -> None:
    assert said(hash_seed, 12).split()[0] == here
