"""Leases: over at their moment, once, whoever is dead or restarts; renewed before the answer."""

from tests.core.lab import Life, Provision, kinds, lab
from tests.core.standalone.words import ask, claim, end, make, refused, renew
from tests.kit.words import BERT, GB, OPS, job
from tests.kit.world import World
from xce.model.config import SECOND_US
from xce.model.job import ClaimTemplate
from xce.model.records import ClaimExpired, ClaimRenewed

MINUTE_US = 60 * SECOND_US


def expiries(world: World) -> list[ClaimExpired]:
    """The records that ended leases."""
    return [r.body for r in world.records if isinstance(r.body, ClaimExpired)]


def user(name: str = "data", use: str = "c1", **rest: object) -> object:
    """A job that uses a claim."""
    return job(1, claims=(ClaimTemplate(name=name, use=use),), **rest)  # type: ignore[arg-type]


def test_a_lease_ends_at_its_moment_and_what_nobody_uses_is_free_at_once() -> None:
    world = lab(1)
    began_us = world.now_us
    ask(world, make("a", count=2, lease_us=MINUTE_US))
    world.run_until(lambda: claim(world, 1).state != "BOUND")
    assert claim(world, 1).until_us == began_us + MINUTE_US + 1
    assert 0 <= world.now_us - claim(world, 1).until_us <= 2_000_000
    assert claim(world, 1).state == "RELEASED"
    assert not world.state.index.holders
    assert kinds(world, "c1") == ["ClaimCreated", "ClaimExpired"]


def test_a_lease_that_was_renewed_ends_at_the_new_moment_and_only_then() -> None:
    world = lab(1)
    began_us = world.now_us
    first = ask(world, make("a", lease_us=MINUTE_US))
    world.run(30 * SECOND_US)
    told = ask(world, renew(1, lease_us=MINUTE_US, generation=first["generation"]))
    assert told == {
        "claim": "c1", "outcome": "won", "generation": first["generation"],
        "until_us": world.now_us + MINUTE_US,
    }  # fmt: skip
    assert isinstance(world.records[-1].body, ClaimRenewed)
    world.run_until(lambda: claim(world, 1).state != "BOUND")
    assert world.now_us >= told["until_us"] > began_us + MINUTE_US
    assert len(expiries(world)) == 1


def test_after_the_end_the_holder_hears_lost_and_nothing_is_written() -> None:
    world = lab(1)
    ask(world, make("a", lease_us=MINUTE_US))
    world.run(2 * MINUTE_US)
    lsn = world.state.lsn
    for command in (renew(1, lease_us=MINUTE_US), end(1), renew(1, until_us=1)):
        assert ask(world, command)["outcome"] == "lost"
    assert world.state.lsn == lsn


def test_another_generation_is_lost_too() -> None:
    world = lab(1)
    told = ask(world, make("a", lease_us=MINUTE_US))
    stale = told["generation"] + 1
    for command in (renew(1, lease_us=MINUTE_US, generation=stale), end(1, generation=stale)):
        answer = ask(world, command)
        assert answer["outcome"] == "lost"
        assert answer["reason"] == f"c1 has generation {told['generation']}, not {stale}"
    assert claim(world, 1).state == "BOUND"


def test_a_lease_ends_once_across_a_change_of_leader_and_while_nobody_led() -> None:
    world = lab(1)
    ask(world, make("a", lease_us=MINUTE_US))
    ask(world, make("b", lease_us=MINUTE_US))
    world.change_leader()
    world.run(59 * SECOND_US)
    assert claim(world, 1).state == "BOUND"
    world.die()
    world.run(MINUTE_US)
    world.lead()
    world.run(SECOND_US)
    world.change_leader()
    world.run(SECOND_US)
    assert [one.claim for one in expiries(world)] == [1, 2]


def test_a_claim_that_waits_past_its_lease_is_over_without_having_held_anything() -> None:
    world = lab(1, gpu_count=4)
    ask(world, make("a", count=4, lease_us=3 * MINUTE_US))
    ask(world, make("b", count=4, lease_us=MINUTE_US, waits=True))
    world.run(2 * MINUTE_US)
    assert (claim(world, 2).state, claim(world, 2).generation) == ("RELEASED", 0)
    world.run(2 * MINUTE_US)
    assert claim(world, 2).state == "RELEASED"


def test_consumers_may_end_by_themselves_and_only_then_it_is_free() -> None:
    world = lab(1, gpu_count=4)
    world.scripts.default = lambda name, attempt: Life(run_us=2 * MINUTE_US)
    ask(world, make("a", count=4, lease_us=MINUTE_US))
    key = world.submit(user())  # type: ignore[arg-type]
    world.run(90 * SECOND_US)
    assert claim(world, 1).state == "EXPIRED"
    assert expiries(world)[0].consumers == (key,)
    assert len(world.state.index.holders) == 4
    late = world.submit(user())  # type: ignore[arg-type]
    world.run_until(lambda: world.state.jobs[key].state == "DONE")
    assert claim(world, 1).state == "RELEASED"
    assert not world.state.index.holders
    world.run(SECOND_US)
    assert world.state.jobs[late].state == "PENDING"


def test_consumers_are_stopped_with_claim_lost_where_that_was_asked_for() -> None:
    world = lab(1, gpu_count=4)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * MINUTE_US)
    ask(world, make("a", count=4, lease_us=MINUTE_US, on_expiry="stop"))
    key = world.submit(user())  # type: ignore[arg-type]
    world.run_until(lambda: world.state.jobs[key].state == "EXITED")
    assert world.exit_of(key).reason == "claim_lost"
    assert claim(world, 1).state == "RELEASED"
    world.rest()
    assert not world.state.index.holders


def test_what_a_provider_made_is_free_only_when_it_was_taken_down() -> None:
    world = lab(1)
    world.scripts.provisions["vol"] = Provision(release="hang")
    ask(world, make("vol", "directory", amount=GB, lease_us=MINUTE_US))
    world.run(2 * MINUTE_US)
    assert claim(world, 1).state == "RELEASING"
    assert world.state.index.used["n1"]["scratch"] == GB
    agent = world.agents["n1"]
    for here in agent.attachments.values():
        here.phase = "released"
        agent.tell_attachment(here, "released")
    world.run(SECOND_US)
    assert claim(world, 1).state == "RELEASED"
    assert not world.state.index.used.get("n1")


def test_only_its_owner_and_operators_renew_and_end_it() -> None:
    world = lab(1)
    ask(world, make("a", lease_us=MINUTE_US))
    assert refused(world, renew(1, actor=BERT, lease_us=MINUTE_US)).code == "not_allowed"
    assert refused(world, end(1, actor=BERT)).code == "not_allowed"
    assert refused(world, end(9)).code == "not_found"
    assert ask(world, end(1, "delete", actor=OPS))["state"] == "RELEASED"


def test_what_is_over_leaves_the_state_after_the_clean_period() -> None:
    world = lab(1)
    ask(world, make("vol", "directory", amount=GB))
    world.run(SECOND_US)
    ask(world, end(1, "delete"))
    world.run(world.config.clean_period_us + MINUTE_US)
    assert not world.state.claims
    assert not world.state.attachments
    assert ask(world, make("vol", "directory", amount=GB))["claim"] == "c2"
