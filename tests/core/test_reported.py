"""Counters of hosts that only reporters know: reserved as LSF's dynamic consumable resources are.

What is free is what the last tick said less what our jobs reserve; all amounts are by hand.
"""

import pytest

from tests.core.lab import states, until_state
from tests.core.standalone.words import ask, make
from tests.core.ticked import known, sample, site, tick, told
from tests.kit.words import ANNA, gang, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.never import NeverFits
from xce.controller.core.resources.observed import named_columns
from xce.controller.core.view import Viewer
from xce.model.config import SECOND_US, ApplicationConfig, TypeConfig
from xce.model.job import ClaimTemplate
from xce.scheduler.reasons import Code, PendReason, hosts_text

MINUTE_US = 60 * SECOND_US
MB = 1 << 20


def why(world: World, who: str) -> PendReason:
    found = world.sessions.reason_for(who)
    assert found is not None
    return found


def where(world: World, number: int) -> list[str]:
    """The hosts that a job has."""
    allocation = world.state.allocations.get(world.state.jobs[number].allocation)
    return [share.host for share in allocation.shares] if allocation else []


# -- known, unknown, stale ------------------------------------------------------------------------


def test_what_nobody_reported_is_nothing_and_the_reason_says_so() -> None:
    world = site()
    world.submit(job(1, "rusage[lic=1]"))
    world.run(SECOND_US)
    found = why(world, "1")
    assert (found.code, found.what, found.needed, found.available) == (
        Code.NOT_REPORTED, "lic", 1, 2,
    )  # fmt: skip
    assert found.text() == "needs 1 lic on one host; lic is not reported by any of 2 hosts"
    assert hosts_text(found) == "2 x not reported: lic"
    told(world, n2=1)
    assert where(world, 1) == ["n2"]


def test_hosts_that_report_too_little_are_told_apart_from_those_that_say_nothing() -> None:
    world = site(3)
    world.submit(job(1, "rusage[lic=4]"))
    told(world, n1=3, n2=0)
    found = why(world, "1")
    assert found.text() == "needs 4 lic on one host; best host n1 has 3 free"
    assert hosts_text(found) == "2 x short of lic, 1 x not reported: lic"


def test_a_value_that_went_stale_is_unknown_and_what_runs_goes_on() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=2]"))
    told(world, n1=5)
    world.submit(job(1, "rusage[lic=2]"))
    world.submit(job(8, "rusage[lic=1/host]"))
    told(world, n1=None)
    assert states(world, "job") == {1: "RUNNING", 2: "RUNNING", 3: "PENDING"}
    world.submit(job(1, "rusage[lic=1]"))
    world.run(SECOND_US)
    assert why(world, "4").code is Code.NOT_REPORTED
    assert world.state.index.used["n1"]["lic"] == 4


def test_a_new_leader_knows_no_value_and_gives_nothing_out_before_a_tick() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=9]"))
    told(world, n1=5)
    world.change_leader()
    world.run(SECOND_US)
    world.submit(job(1, "rusage[lic=1]"))
    world.run(SECOND_US)
    assert states(world, "job") == {1: "PENDING", 2: "PENDING"}
    told(world, n1=5)
    assert states(world, "job") == {1: "PENDING", 2: "RUNNING"}


def test_never_enough_is_never_said_of_what_may_be_more_tomorrow() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=1000]"))
    told(world, n1=3)
    assert why(world, "1").code is Code.SHORT_ON_HOST
    told(world, n1=1000)
    assert where(world, 1) == ["n1"]


def test_a_site_that_refuses_what_never_fits_takes_what_may_be_told_one_day() -> None:
    world = site(1, refuse_never_fits=True)
    never = NeverFits(world.state, Viewer(world.state))
    assert never.with_answer(job(1, "rusage[lic=1000]"), world.now_us).never == ""
    assert never.with_answer(job(1, "rusage[mem=1TB]"), world.now_us).never


# -- free is what was told less what is reserved --------------------------------------------------


def test_free_is_the_last_value_less_what_our_jobs_reserve() -> None:
    world = site(1)
    for _ in range(4):
        world.submit(job(1, "rusage[lic=3]"))
    told(world, n1=10)
    # 10, 7, 4 are enough for 3; 1 is not.
    assert states(world, "job") == {1: "RUNNING", 2: "RUNNING", 3: "RUNNING", 4: "PENDING"}
    assert why(world, "4").text() == "needs 3 lic on one host; best host n1 has 1 free"
    told(world, n1=11)
    assert why(world, "4").available == 2
    told(world, n1=12)
    assert world.state.jobs[4].state == "RUNNING"
    assert world.state.index.used["n1"]["lic"] == 12


def test_each_host_has_its_own_amount_and_tasks_count_each() -> None:
    world = site(3)
    world.submit(job(4, "rusage[lic=2]"))
    told(world, n1=3, n2=4, n3=2)
    # A task needs 2: n1 has room for one, n2 for two, n3 for one.
    shares = world.state.allocations[1].shares
    assert sorted((share.host, share.tasks) for share in shares) == [
        ("n1", 1),
        ("n2", 2),
        ("n3", 1),
    ]


@pytest.mark.parametrize(("scope", "taken"), [("task", 6), ("host", 2), ("job", 2)])
def test_scopes_count_as_for_every_counter(scope: str, taken: int) -> None:
    world = site(1)
    world.submit(job(3, f"rusage[lic=2/{scope}]"))
    told(world, n1=10)
    assert world.state.index.used["n1"] == {"slots": 3, "lic": taken}


def test_a_value_that_falls_below_what_is_reserved_takes_nothing_away() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=6]"))
    told(world, n1=6)
    world.submit(job(1, "rusage[lic=1]"))
    told(world, n1=2)
    assert states(world, "job") == {1: "RUNNING", 2: "PENDING"}
    assert why(world, "2").text() == "needs 1 lic on one host; best host n1 has 0 free"
    world.ask_body(c.Kill(actor=ANNA, job=1))
    until_state(world, "job", 2, "RUNNING")
    assert world.state.index.used["n1"]["lic"] == 1


def test_what_a_host_counts_itself_is_not_what_a_reporter_says() -> None:
    world = site(1)
    facts = machine(8)
    own = tuple(sorted((*facts.counters, ("lic", 5))))
    world.agents["n1"].facts = facts.__class__(counters=own, ports=facts.ports)
    world.agents["n1"].restart()
    world.run(10 * SECOND_US)
    world.submit(job(1, "rusage[lic=5]"))
    world.run(SECOND_US)
    assert where(world, 1) == ["n1"]
    world.submit(job(1, "rusage[lic=1]"))
    told(world, n1=50)
    assert known(world) == {}, "no tick carries what the host counts"
    assert world.state.jobs[2].state == "PENDING"


def test_of_hosts_that_count_and_hosts_that_report_each_gives_what_it_has() -> None:
    world = site(2)
    facts = machine(8)
    own = tuple(sorted((*facts.counters, ("lic", 1))))
    world.agents["n1"].facts = facts.__class__(counters=own, ports=facts.ports)
    world.agents["n1"].restart()
    world.run(10 * SECOND_US)
    for _ in range(4):
        world.submit(job(1, "rusage[lic=1]"))
    told(world, n1=7, n2=2)
    assert known(world) == {"n2": {"lic": 2}}
    assert [where(world, n) for n in (1, 2, 3, 4)] == [["n1"], ["n2"], ["n2"], []]


def test_a_select_sees_what_is_free_and_not_what_is_unknown() -> None:
    world = site(3)
    world.submit(job(1, "rusage[lic=4]"))
    told(world, n1=5, n2=2)
    assert where(world, 1) == ["n1"]
    world.submit(job(1, "select[lic<2] rusage[lic=1]"))
    told(world, n1=5, n2=2)
    # n1 has 1 left, n2 has 2, of n3 nobody knows.
    assert where(world, 2) == ["n1"]


def test_order_puts_first_who_has_most_left() -> None:
    world = site(3)
    world.submit(job(1, "order[lic] rusage[lic=4]"))
    world.submit(job(1, "order[lic] rusage[lic=4]"))
    told(world, n1=5, n2=8, n3=9)
    # n3 has most; then 5, 8 and 5 are left.
    assert [where(world, n) for n in (1, 2)] == [["n3"], ["n2"]]


def test_built_in_indices_that_no_host_counts_are_reserved_the_same_way() -> None:
    world = site(1)
    world.submit(job(1, "rusage[tmp=100]"))
    world.submit(job(1, "rusage[tmp=100]"))
    tick(world, sample("n1", tmp=160 * MB))
    world.run(SECOND_US)
    assert states(world, "job") == {1: "RUNNING", 2: "PENDING"}
    assert why(world, "2").text() == "needs 100MB tmp on one host; best host n1 has 60MB free"


def test_a_fraction_is_counted_in_its_parts() -> None:
    heat = TypeConfig(name="heat", interval_us=SECOND_US, scale=1000)
    world = site(1, 8, heat)
    for _ in range(2):
        world.submit(job(1, "rusage[heat=0.5]"))
    tick(world, sample("n1", heat=990))
    world.run(SECOND_US)
    assert states(world, "job") == {1: "RUNNING", 2: "PENDING"}


def test_what_counts_against_its_host_is_not_a_load() -> None:
    """Of what is the better the less there is nothing can be used up, reported or not."""
    glow = TypeConfig(name="glow", interval_us=SECOND_US, direction="increasing", consumable=False)
    world = site(1, 8, glow)
    world.submit(job(1, "rusage[r1m=0.5]"))
    world.run(SECOND_US)
    assert where(world, 1) == ["n1"]


# -- over time, suspended, gangs, claims, alternatives --------------------------------------------


def test_a_reservation_with_a_duration_falls_back_to_what_is_told() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=4:duration=10]"))
    world.submit(job(1, "rusage[lic=4]"))
    told(world, n1=5)
    assert states(world, "job") == {1: "RUNNING", 2: "PENDING"}
    world.run(9 * MINUTE_US)
    assert world.state.jobs[2].state == "PENDING"
    world.run(2 * MINUTE_US)
    assert world.state.jobs[2].state == "RUNNING"
    assert world.state.index.used["n1"]["lic"] == 8


def test_a_reservation_that_decays_frees_by_and_by() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=8:duration=80:decay=1]"))
    world.submit(job(1, "rusage[lic=5]"))
    told(world, n1=8)
    # After 40 minutes 4 of 8 are reserved and 4 are free; after 50 minutes 3 and 5.
    world.run(45 * MINUTE_US)
    assert world.state.jobs[2].state == "PENDING"
    world.run(6 * MINUTE_US)
    assert world.state.jobs[2].state == "RUNNING"


@pytest.mark.parametrize("releases", [True, False])
def test_suspended_work_lends_it_where_its_type_says_so(releases: bool) -> None:
    seat = TypeConfig(name="seat", interval_us=SECOND_US, release_on_suspend=releases)
    world = site(1, 8, seat)
    world.submit(job(1, "rusage[seat=3]"))
    world.submit(job(1, "rusage[seat=2]"))
    tick(world, sample("n1", seat=4))
    world.run(SECOND_US)
    assert states(world, "job") == {1: "RUNNING", 2: "PENDING"}
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[2].state == ("RUNNING" if releases else "PENDING")
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[1].suspension == ("SUSPENDED" if releases else "ACTIVE")
    if releases:
        # Nothing else waits, and ticks go on to carry what the suspended job needs back.
        assert named_columns(world.state) == ("seat",)
        assert why(world, "1").text() == (
            "waits to go on: needs 3 seat back on n1, where 2 are free"
        )
        tick(world, sample("n1", seat=5))
        world.run(5 * SECOND_US)
        assert world.state.jobs[1].suspension == "ACTIVE"
        assert world.state.index.used["n1"]["seat"] == 5


def test_a_resume_waits_where_less_is_told_than_others_have() -> None:
    world = site(1)
    for _ in range(2):
        world.submit(job(1, "rusage[lic=3]"))
    told(world, n1=3)
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[2].state == "RUNNING"
    world.ask_body(c.Resume(actor=ANNA, job=1))
    told(world, n1=1)
    # 1 is there and 3 are held: 2 less than nothing.
    assert why(world, "1").text() == "waits to go on: needs 3 lic back on n1, where 0 are free"
    world.ask_body(c.Kill(actor=ANNA, job=2))
    told(world, n1=3)
    world.run(5 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"


def test_gangs_get_it_all_or_nothing() -> None:
    world = site(2)
    world.submit_gang(gang(role("a", 3, resreq="rusage[lic=2]")))
    told(world, n1=3, n2=2)
    assert set(states(world, "job").values()) == {"PENDING"}
    told(world, n1=4, n2=2)
    assert set(states(world, "job").values()) == {"RUNNING"}
    used = world.state.index.used
    assert (used["n1"]["lic"], used["n2"]["lic"]) == (4, 2)


@pytest.mark.parametrize("scope", ["member", "role", "group"])
def test_claims_of_it_name_it_too(scope: str) -> None:
    world = site(1)
    claim = ClaimTemplate(name="l", type="lic", count=3, scope=scope)
    if scope == "group":
        world.submit_gang(gang(role("a", 1), claims=(claim,)))
    else:
        world.submit_gang(gang(role("a", 1, claims=(claim,))))
    assert named_columns(world.state) == ("lic",)
    told(world, n1=2)
    assert world.state.jobs[1].state == "PENDING"
    told(world, n1=3)
    assert world.state.index.used["n1"]["lic"] == 3


def test_a_standalone_claim_waits_for_what_is_told_and_holds_it() -> None:
    world = site(2)
    ask(world, make("l", "lic", amount=3, waits=True))
    assert named_columns(world.state) == ("lic",)
    world.run(SECOND_US)
    assert why(world, "c1").code is Code.NOT_REPORTED
    told(world, n1=2, n2=4)
    assert world.state.claims[1].state == "BOUND"
    told(world, n1=1, n2=4)
    assert known(world) == {}, "nobody waits for it any more"
    world.submit(job(1, "rusage[lic=2]"))
    told(world, n1=1, n2=4)
    # The claim holds 3 of the 4 of n2; n1 has 1.
    assert why(world, "1").code is Code.SHORT_ON_HOST


def test_alternatives_are_looked_at_in_turn() -> None:
    world = site(1)
    world.submit(job(1, "{rusage[lic=5]} || {rusage[lic=2]}"))
    assert named_columns(world.state) == ("lic",)
    told(world, n1=3)
    assert world.state.index.used["n1"]["lic"] == 2


def test_profiles_queues_and_running_work_name_nothing_by_what_they_reserve() -> None:
    applications = (ApplicationConfig(name="a", resreq="rusage[lic=1]"),)
    world = site(1, applications=applications)
    assert named_columns(world.state) == ()
    world.submit(job(1, application="a"))
    assert named_columns(world.state) == ("lic",)
    told(world, n1=3)
    assert world.state.jobs[1].state == "RUNNING"
    assert named_columns(world.state) == ()


def test_amounts_that_are_reserved_are_told_exactly() -> None:
    world = site(1, slots=500)
    world.submit(job(1, "rusage[lic=100]"))
    told(world, n1=99)
    told(world, n1=100)
    assert world.state.jobs[1].state == "RUNNING", "one in 99 is within the dead band of a look"
