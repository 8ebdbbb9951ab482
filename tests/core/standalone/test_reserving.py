"""Claims and work obey each other's reservations."""

from tests.core.lab import Life, lab, until_state
from tests.core.standalone.words import ask, claim, end, make, refused, renew
from tests.kit.words import BERT, BOSS, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.core.time.reservations import reservations
from xce.controller.recover import recover
from xce.model.config import SECOND_US, TypeConfig
from xce.model.config.claims import ClaimsConfig
from xce.model.records import ReservationEnded, ReservationSet
from xce.wal.memory import MemoryLog

FREELY = settings(claims=ClaimsConfig(unleased_percent=100))
MINUTE_US = 60 * SECOND_US


def busy(gpus: int) -> World:
    """One host of four GPUs; job 1 has some of them for 100 s."""
    world = lab(1, gpu_count=4, config=FREELY)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(1, f"rusage[gpu={gpus}]", run_limit_us=100 * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    return world


def made(world: World) -> list[ReservationSet]:
    return [one.body for one in world.records if isinstance(one.body, ReservationSet)]


def test_what_is_reserved_is_taken_unless_the_lease_is_over_in_time() -> None:
    world = busy(2)
    head = world.submit(job(1, "rusage[gpu=4]", run_limit_us=50 * SECOND_US))
    world.run(SECOND_US)
    assert [one.job for one in made(world)] == [head]
    assert ask(world, make("a", count=2))["outcome"] == "lost"
    assert ask(world, make("a", count=2, lease_us=200 * SECOND_US))["outcome"] == "lost"
    assert ask(world, make("a", count=2, lease_us=60 * SECOND_US))["outcome"] == "won"
    said = refused(world, renew(1, lease_us=300 * SECOND_US))
    assert (said.code, said.field) == ("conflict", "until")
    assert "is reserved from" in said.message
    until_state(world, "job", head, "RUNNING")


def test_a_lease_is_an_end_that_can_be_counted_on() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    ask(world, make("a", count=4, lease_us=100 * SECOND_US))
    head = world.submit(job(1, "rusage[gpu=4]", run_limit_us=50 * SECOND_US))
    world.run(SECOND_US)
    (first,) = made(world)
    assert (first.job, first.from_us) == (head, claim(world, 1).until_us)
    until_state(world, "job", head, "RUNNING")


def test_a_claim_that_waits_at_the_head_gets_a_reservation_and_uses_it() -> None:
    world = busy(4)
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    ask(world, make("a", count=4, waits=True, lease_us=1000 * SECOND_US))
    world.run(SECOND_US)
    (first,) = made(world)
    assert (first.job, first.from_us) == (-1, over_us)
    assert reservations(world.state)[1].holder == (0, -1)
    world.run_until(lambda: claim(world, 1).state == "BOUND")
    assert world.now_us < over_us + 10 * SECOND_US
    ends = [one.body.why for one in world.records if isinstance(one.body, ReservationEnded)]
    assert ends == ["used"]
    again, _ = recover(MemoryLog(world.store))
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)


def test_a_claim_that_gives_up_waiting_leaves_no_reservation() -> None:
    world = busy(4)
    ask(world, make("a", count=4, waits=True))
    world.run(SECOND_US)
    assert len(reservations(world.state)) == 1
    ask(world, end(1, "delete"))
    assert not reservations(world.state)


def test_a_type_that_goes_while_a_claim_waits_for_it_stops_nobody() -> None:
    seat = TypeConfig(name="seat", layer="instance", provider="static")
    world = lab(1, gpu_count=4, config=settings(types=(seat,), claims=FREELY.claims))
    ask(world, make("a", "seat", waits=True))
    world.run(SECOND_US)
    config = settings(claims=FREELY.claims)
    world.ask_body(c.LoadConfig(actor=BOSS, config=config, digest="other"))
    world.run(MINUTE_US)
    assert claim(world, 1).state == "PENDING"
    assert ask(world, make("b", actor=BERT))["outcome"] == "won"


def test_a_use_has_a_name_that_can_be_a_variable() -> None:
    from xce.model.job import ClaimTemplate

    world = lab(1, config=FREELY)
    ask(world, make("a"))
    for name in ("", "a=b", "a\nb", "é", "x" * 65, "1a"):
        said = refused(world, job(1, claims=(ClaimTemplate(name=name, use="c1"),)))
        assert (said.code, said.field) == ("invalid", "claims")
    many = tuple(ClaimTemplate(name=f"n{i}", use="c1") for i in range(65))
    assert refused(world, job(1, claims=many)).field == "claims"
