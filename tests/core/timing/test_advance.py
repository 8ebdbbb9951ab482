"""Advance reservations: kept for named users, refused where they cannot be had, joined by name."""

from typing import Any

from tests.core.lab import MINUTE_US, SECOND_US, Life, lab, until_state
from tests.kit.words import ANNA, BERT, BOSS, OPS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.time.advance import NO_ROOM
from xce.controller.core.time.reservations import reservations
from xce.model.records import ReservationEnded, ReservationSet
from xce.scheduler.reasons import Code


def hall(count: int = 2) -> World:
    world = lab(count, slots=4, gpu_count=2)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def course(world: World, **rest: Any) -> c.AddReservation:
    """n1 for anna, from in ten minutes for ten minutes."""
    given: dict[str, Any] = {
        "actor": BOSS,
        "name": "course",
        "users": (ANNA.uid,),
        "hosts": ("n1",),
        "from_us": world.now_us + 10 * MINUTE_US,
        "until_us": world.now_us + 20 * MINUTE_US,
    }
    return c.AddReservation(**{**given, **rest})


def refused(world: World, command: c.AddReservation) -> c.Rejection:
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection)
    return answer


def test_whole_hosts_are_kept_with_all_that_they_have() -> None:
    world = hall()
    body = world.ask_body(course(world))
    assert body == {"reservation": "course", "hosts": ["n1"]}
    (one,) = reservations(world.state).values()
    assert (one.kind, one.name, one.users, one.until_us) == (
        "advance", "course", (ANNA.uid,), one.end_us,
    )  # fmt: skip
    (share,) = one.shares
    assert dict(share.counters)["slots"] == 4
    assert len(share.instances) == 2
    assert [r.entities for r in world.records if isinstance(r.body, ReservationSet)] == [
        ("reservation:course",)
    ]


def test_others_use_its_hosts_only_while_they_end_in_time() -> None:
    world = hall(1)
    world.ask_body(course(world))
    short = world.submit(job(2, "span[hosts=1]", run_limit_us=9 * MINUTE_US))
    until_state(world, "job", short, "RUNNING")
    long = world.submit(job(run_limit_us=11 * MINUTE_US))
    world.run(SECOND_US)
    why = world.sessions.reason_for(str(long))
    assert why is not None
    assert (why.code, why.where) == (Code.WOULD_DELAY, "course")
    world.run(19 * MINUTE_US)
    until_state(world, "job", long, "RUNNING")
    ended = [r.body.why for r in world.records if isinstance(r.body, ReservationEnded)]
    assert "deadline" in ended


def test_what_is_in_the_way_is_told_when_it_is_made() -> None:
    world = hall(1)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    no = refused(world, course(world))
    assert (no.code, no.message) == ("conflict", NO_ROOM)
    assert no.hint.startswith("n1: 3 of 4 slots can be kept")
    no = refused(world, course(world, hosts=(), tasks=4))
    assert no.hint == "3 of 4 slots can be kept at most"
    assert world.ask_body(course(world, hosts=(), tasks=3))["hosts"] == ["n1"]


def test_what_ends_in_time_is_not_in_the_way() -> None:
    world = hall(1)
    key = world.submit(job(run_limit_us=9 * MINUTE_US))
    until_state(world, "job", key, "RUNNING")
    assert world.ask_body(course(world))["hosts"] == ["n1"]


def test_a_second_reservation_of_the_same_room_is_refused() -> None:
    world = hall(1)
    world.ask_body(course(world))
    assert refused(world, course(world)).message == "Reservation <course> exists already"
    assert refused(world, course(world, name="other")).message == NO_ROOM
    later = course(
        world, name="other", from_us=world.now_us + 21 * MINUTE_US,
        until_us=world.now_us + 30 * MINUTE_US,
    )  # fmt: skip
    assert world.ask_body(later)["reservation"] == "other"


def test_bad_askings_are_told_what_is_wrong() -> None:
    world = hall(1)
    cases = {
        "only operators and administrators reserve in advance": {"actor": ANNA},
        "zz: No such host": {"hosts": ("zz",)},
        "say for whom: at least one user": {"users": ()},
        "say what to keep: hosts, or a number of tasks": {"hosts": ()},
        "it must end later than it begins, and later than now": {"until_us": world.now_us},
        "Bad reservation name: a b": {"name": "a b"},
    }
    for message, given in cases.items():
        assert refused(world, course(world, **given)).message == message


def test_a_host_that_was_taken_out_is_not_reserved() -> None:
    world = hall(2)
    world.mute("n2")
    world.run(3 * MINUTE_US)
    world.ask_body(c.HostEvent(actor=OPS, host="n2", event="remove"))
    assert world.state.hosts["n2"].liveness == "GONE"
    assert refused(world, course(world, hosts=("n1", "n2"))).message == "n2: No such host"


def test_a_job_that_joins_waits_for_it_and_is_over_with_it() -> None:
    world = hall(2)
    begins_us = world.now_us + 10 * MINUTE_US
    world.ask_body(course(world))
    mine = world.submit(job(2, "span[hosts=1]", reservation="course"))
    world.run(SECOND_US)
    why = world.sessions.reason_for(str(mine))
    assert why is not None
    assert why.code == Code.RESERVATION_LATER
    until_state(world, "job", mine, "RUNNING")
    found = world.state.jobs[mine]
    assert begins_us <= found.started_us < begins_us + SECOND_US
    assert [share.host for share in world.state.allocations[found.allocation].shares] == ["n1"]
    until_state(world, "job", mine, "EXITED")
    assert world.exit_of(mine).reason == "deadline"
    assert world.state.jobs[mine].ended_us < begins_us + 10 * MINUTE_US + 2 * SECOND_US


def test_those_who_joined_share_what_is_kept_and_no_more() -> None:
    world = hall(2)
    world.ask_body(course(world, hosts=(), tasks=3, from_us=world.now_us))
    two = world.submit(job(2, "span[hosts=1]", reservation="course"))
    more = world.submit(job(2, "span[hosts=1]", reservation="course"))
    until_state(world, "job", two, "RUNNING")
    world.run(SECOND_US)
    why = world.sessions.reason_for(str(more))
    assert why is not None
    assert why.code == Code.RESERVATION_FULL
    one = world.submit(job(1, reservation="course"))
    until_state(world, "job", one, "RUNNING")
    other = world.submit(job(4, "span[hosts=1]", BERT))
    until_state(world, "job", other, "RUNNING")
    found = world.state.jobs[other]
    assert [share.host for share in world.state.allocations[found.allocation].shares] == ["n2"]


def test_only_its_users_join_and_only_while_it_is_there() -> None:
    world = hall(1)
    world.ask_body(course(world))
    no = world.ask(job(actor=BERT, reservation="course"))
    assert isinstance(no, c.Rejection)
    assert no.code == "not_allowed"
    none = world.ask(job(reservation="nothing"))
    assert isinstance(none, c.Rejection)
    assert none.message == "Reservation <nothing>: No such reservation"


def test_a_removed_one_is_gone_and_what_joined_is_told() -> None:
    world = hall(1)
    world.ask_body(course(world))
    mine = world.submit(job(reservation="course"))
    world.ask_body(c.RemoveReservation(actor=BOSS, name="course"))
    world.run(SECOND_US)
    assert reservations(world.state) == {}
    why = world.sessions.reason_for(str(mine))
    assert why is not None
    assert why.code == Code.RESERVATION_OVER
    gone = world.ask(c.RemoveReservation(actor=BOSS, name="course"))
    assert isinstance(gone, c.Rejection)
    assert gone.code == "not_found"


def test_a_plan_from_before_a_reservation_places_nothing_on_its_hosts() -> None:
    world = hall(1)
    world.step([job()])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    assert len(work.run.plan.placements) == 1
    world.step([course(world, from_us=world.now_us)])
    for slice_ in world.sessions.slices(work):
        world.sessions.committed(work, world.step([slice_]))
    assert (work.planned, work.stale) == (0, 1)
    assert not world.state.allocations
