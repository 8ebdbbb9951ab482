"""Plain jobs on one host: order, tightest host, and what a share says."""

from msgspec import structs

from tests.kit.cluster import GB, dgx, gpus, held, host, idle_snapshot, job, need, standing, table
from xce.model.need import Need
from xce.model.placing import Share
from xce.scheduler.order import order_key
from xce.scheduler.session import run_session


def hosts_of(plan):
    return {p.job: [s.host for s in p.members[0].shares] for p in plan.placements}


def test_a_plain_job_gets_one_slot_of_the_first_host_of_equals():
    plan = run_session(idle_snapshot(dgx(), [job(1)]))
    assert plan.placements[0].members[0].shares == (
        Share(host="n1", tasks=1, counters=(("slots", 1),), instances=()),
    )
    assert plan.placements[0].group == 0
    assert plan.placements[0].job == 1


def test_a_job_goes_to_the_host_with_the_fewest_free_slots_that_still_fits():
    snapshot = held(held(idle_snapshot(dgx(), [job(1), job(2)]), "n3", slots=7), "n2", slots=4)
    assert hosts_of(run_session(snapshot)) == {1: ["n3"], 2: ["n2"]}


def test_free_gpus_count_before_free_slots_for_a_job_that_asks_for_gpus():
    snapshot = idle_snapshot(dgx(), [job(1, need(gpu=2))])
    snapshot = held(held(snapshot, "n2", slots=7), "n4", gpu=[0, 1, 2, 3])
    plan = run_session(snapshot)
    assert plan.placements[0].members[0].shares[0].host == "n4"
    assert plan.placements[0].members[0].shares[0].instances == ("n4/gpu/4", "n4/gpu/5")


def test_amounts_count_per_task_and_the_per_host_and_per_job_ones_once():
    needs = Need(
        span_hosts=1, per_task=(("mem", GB),), per_host=(("scratch", 5),), per_job=(("mem", 7),)
    )
    plan = run_session(idle_snapshot(dgx(), [job(1, needs, tasks=3)]))
    assert plan.placements[0].members[0].shares[0].counters == (
        ("mem", 3 * GB + 7),
        ("scratch", 5),
        ("slots", 3),
    )


def test_a_resreq_may_say_how_many_slots_a_task_takes():
    plan = run_session(idle_snapshot(dgx(), [job(1, need(slots=4), tasks=1)]))
    assert plan.placements[0].members[0].shares[0].counters == (("slots", 4),)


def test_a_job_runs_only_where_select_holds():
    entries = [
        host("a", attributes=(("type", "ARM"),)),
        host("b", attributes=(("type", "X86"),)),
    ]
    plan = run_session(idle_snapshot(table(*entries), [job(1, need(select="type==X86"))]))
    assert hosts_of(plan) == {1: ["b"]}


def test_select_over_a_counter_sees_what_was_free_when_the_session_began():
    snapshot = idle_snapshot(dgx(2), [job(1, need(select="mem>=60000"))])
    assert hosts_of(run_session(held(snapshot, "n1", mem=32 * GB))) == {1: ["n2"]}


def test_only_instances_that_match_their_own_select_are_given():
    entries = [host("a", instances=(*gpus(2, "A100"),)), host("b", instances=gpus(2, "H100"))]
    plan = run_session(
        idle_snapshot(table(*entries), [job(1, need(gpu=1, gpu_select="model==H100"))])
    )
    assert plan.placements[0].members[0].shares[0].instances == ("b/gpu/0",)


def test_hosts_that_may_not_be_used_or_are_avoided_serve_nobody():
    snapshot = standing(idle_snapshot(dgx(3)), n1="host_down")
    ask = structs.replace(job(1), avoid=("n2",))
    assert hosts_of(run_session(structs.replace(snapshot, pending=(ask,)))) == {1: ["n3"]}


def test_earlier_placements_of_a_session_are_seen_by_later_ones():
    asks = [job(i, need(gpu=4), class_key="same") for i in range(1, 7)]
    plan = run_session(idle_snapshot(dgx(3), asks))
    assert hosts_of(plan) == {1: ["n1"], 2: ["n1"], 3: ["n2"], 4: ["n2"], 5: ["n3"], 6: ["n3"]}


def test_order_is_queue_then_priority_then_submission_then_number():
    keys = [
        order_key(40, 10, 9, job=9),
        order_key(30, 90, 9, job=8),
        order_key(30, 50, 1, job=7),
        order_key(30, 50, 2, job=1),
        order_key(30, 50, 2, job=3),
        order_key(30, 50, 2, group=1),
    ]
    assert sorted(keys) == keys
    assert len(set(keys)) == len(keys)
