"""Two gangs that each need more than half of the cluster, submitted at the same instant."""

from typing import Any

from tests.core.lab import Life, Weather, lab
from tests.kit.words import gang, gpus, port, role
from tests.kit.world import World
from xce.model.config import SECOND_US


def holds(world: World, group: int) -> int:
    """How many members of a gang have a share or a bound claim."""
    state = world.state
    members = set(state.groups[group].members())
    shares = {one.job for one in state.allocations.values() if one.job in members}
    claims = [one.job for one in state.claims.values() if one.group == group]
    bound = {one.job for one in state.claims.values() if one.job in members and one.holdings}
    assert len(claims) in (0, 4, 8, 12), "a gang's claims are made all at once"
    return len(shares | bound)


def big(name: str) -> Any:
    return gang(role("worker", 3, claims=(gpus(4),)), claims=(port(),), name=name)


def play(seed: int) -> World:
    weather = Weather(lost=30, twice=100, torn=100, between=300, line_us=(100, 9_000))
    world = lab(4, seed=seed, weather=weather)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    first, second = ("red", "blue") if seed % 2 else ("blue", "red")
    for name in (first, second):
        world.inbox.append((big(name), None))
    world.turn()
    until_us = world.now_us + 600 * SECOND_US
    both: set[int] = set()
    while not world.ledger.at_rest():
        assert world.advance(until_us), "the gangs do not come to an end"
        held = {group: holds(world, group) for group in (1, 2)}
        # What a member gave up by ending is free; a gang that is whole leaves nothing to another.
        assert sum(held.values()) <= 4, "the gangs hold more hosts than there are"
        if 3 in held.values():
            assert min(held.values()) <= 1, f"one gang is whole, the other holds: {held}"
        both.update(group for group in held if held[group])
    assert both == {1, 2}
    return world


def test_one_runs_whole_while_the_other_holds_nothing_and_then_runs_200_times() -> None:
    for seed in range(200):
        world = play(seed)
        groups = world.state.groups
        assert [groups[1].state, groups[2].state] == ["DONE", "DONE"]
        assert [one.job for one in sorted(world.ledger.executed, key=lambda one: one.launch)] == [
            "1", "2", "3", "4", "5", "6",
        ]  # fmt: skip
        ends = {int(one.job): one.at_us for one in world.ledger.executed}
        assert max(ends[key] for key in (1, 2, 3)) < min(ends[key] for key in (4, 5, 6))
        world.ledger.assert_whole()
