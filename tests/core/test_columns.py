"""The columns that a viewer keeps in step are those that a new viewer folds from nothing."""

import random

import pytest

from tests.core.lab import lab
from tests.kit.words import job
from xce.controller.core.fold.holdings import Changes
from xce.controller.core.view import Viewer


@pytest.mark.parametrize("seed", range(6))
def test_a_viewer_that_follows_sees_what_a_new_one_sees(seed: int) -> None:
    turn = random.Random(seed)
    world = lab(4, slots=4, gpu_count=2)
    follower = Viewer(world.state)
    for _ in range(25):
        if turn.random() < 0.6:
            more = turn.choice(["", " rusage[gpu=1]"])
            world.submit(job(turn.randint(1, 3), f"span[hosts=1]{more}"))
        world.run(turn.randint(1, 4_000_000))
        seen = follower.snapshot(world.now_us)
        fresh = Viewer(world.state).snapshot(world.now_us)
        assert seen.standing == fresh.standing
        assert seen.versions == fresh.versions
        assert seen.free_masks == fresh.free_masks
        assert seen.free_ports == fresh.free_ports
        for column in seen.free:
            assert (seen.free[column] == fresh.free[column]).all()
        for type_, counts in seen.free_counts.items():
            assert counts.tolist() == [mask.bit_count() for mask in seen.free_masks[type_]]


def test_who_read_long_ago_is_told_to_look_at_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Changes, "KEPT", 2)
    changes = Changes()
    changes.add(["n1", "n2", "n1"])
    assert changes.since(1) == {"n2": None, "n1": None}
    changes.add(["n3", "n4"])
    assert changes.since(1) is None
    assert changes.since(2) == {"n1": None, "n3": None, "n4": None}
    assert changes.since(changes.count) == {}
