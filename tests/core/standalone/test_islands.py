"""Published islands: matched in order, claimed whole, lost when they go."""

import pytest

from tests.core.lab import lab
from tests.core.standalone.words import ask, claim, end, refused
from tests.kit.words import ANNA, BERT, OPS, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.config.claims import ClaimsConfig
from xce.model.waiting.claim import ClaimRequest
from xce.model.waiting.island import Criteria, IslandFacts
from xce.scheduler.islands.match import IslandTable
from xce.wal.memory import MemoryLog

FREELY = settings(claims=ClaimsConfig(unleased_percent=100))
FOUR = {
    "a": IslandFacts(tags=("fast", "new"), region="eu", units=8, load=500, p50_latency_us=40),
    "b": IslandFacts(tags=("fast",), region="us", units=4, load=100, p50_latency_us=90),
    "c": IslandFacts(tags=("slow",), region="eu", units=16, load=300, has=("rdma",)),
    "d": IslandFacts(tags=("slow", "new"), region="eu", units=2, load=300),
}


def names(**asked: object) -> str:
    table = IslandTable(FOUR)
    return "".join(table.names[row] for row in table.ranked(Criteria(**asked)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "bcda"),
        ({"selection": "pack"}, "acdb"),
        ({"selection": "lowest_id"}, "abcd"),
        ({"selection": "load_band:400"}, "acdb"),
        ({"tags_all": ("fast", "new")}, "a"),
        ({"tags_any": ("fast", "new")}, "bda"),
        ({"tag_groups_all": (("fast", "slow"), ("new",))}, "da"),
        ({"region": "eu"}, "cda"),
        ({"min_units": 8}, "ca"),
        ({"max_load": 300}, "bcd"),
        ({"max_p50_latency_us": 50}, "cda"),
        ({"require_all": ("rdma",)}, "c"),
        ({"require_any": ("rdma", "nvme")}, "c"),
        ({"prefer": ("new",)}, "dabc"),
        ({"prefer": ("rdma",), "selection": "lowest_id"}, "cabd"),
        ({"tags_all": ("unknown",)}, ""),
    ],
)
def test_a_match_is_in_the_order_that_was_asked_for(
    asked: dict[str, object], expected: str
) -> None:
    assert names(**asked) == expected


def test_why_not_names_the_first_constraint_that_an_island_fails() -> None:
    asked = Criteria(tags_all=("fast",), region="eu", max_load=200)
    assert IslandTable(FOUR).why_not(asked) == {
        "a": "has more load than 200",
        "b": "is not in eu",
        "c": "has no tag fast",
        "d": "has no tag fast",
    }


def published() -> World:
    world = lab(1, config=FREELY)
    for name, facts in FOUR.items():
        ask(world, c.PublishIsland(actor=OPS, island=name, facts=facts))
    return world


def take(name: str, count: int = 1, **asked: object) -> c.CreateClaim:
    criteria = Criteria(**asked)  # type: ignore[arg-type]
    request = ClaimRequest(type="island", count=count, match=criteria)
    return c.CreateClaim(actor=ANNA, name=name, requests=(request,))


def islands(world: World, number: int) -> str:
    return "".join(one.instance[-1] for one in claim(world, number).holdings)


def test_a_claim_takes_the_first_free_ones_all_or_nothing() -> None:
    world = published()
    told = ask(world, take("one"))
    assert (told["outcome"], told["generation"]) == ("won", world.state.lsn)
    assert islands(world, 1) == "b"
    lsn = world.state.lsn
    lost = ask(world, take("four", count=4))
    assert lost["outcome"] == "lost"
    assert lost["reason"] == "needs 4 islands, 3 are free of those that match"
    assert world.state.lsn == lsn
    assert ask(world, take("three", count=3))["outcome"] == "won"
    assert islands(world, 2) == "cda"
    ask(world, end(1))
    again = ask(world, take("again"))
    assert again["generation"] > told["generation"]
    assert islands(world, 3) == "b"


def test_what_is_published_anew_ranks_anew_and_what_goes_is_lost_for_its_holder() -> None:
    world = published()
    ask(world, take("one"))
    ask(world, c.PublishIsland(actor=OPS, island="a", facts=IslandFacts(load=1)))
    ask(world, take("two"))
    assert islands(world, 2) == "a"
    assert ask(world, c.PublishIsland(actor=OPS, island="b"))["state"] == "LOST"
    assert claim(world, 1).state == "FAILED"
    assert ask(world, c.PublishIsland(actor=OPS, island="c"))["state"] == "GONE"
    assert ask(world, take("three", count=2))["outcome"] == "lost"
    world.change_leader()
    again, _ = recover(MemoryLog(world.store))
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)
    ask(world, end(1, "delete"))
    assert not [key for key in world.state.index.holders if key.endswith("/b")]


def test_who_may_publish_and_what_may_be_asked() -> None:
    world = published()
    assert refused(world, c.PublishIsland(actor=BERT, island="x", facts=FOUR["a"])).code == (
        "not_allowed"
    )
    assert refused(world, c.PublishIsland(actor=OPS, island="x")).code == "not_found"
    assert refused(world, take("x", selection="best")).field == "match"
    assert refused(world, take("x", count=0)).field == "match"
