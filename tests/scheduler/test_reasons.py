"""Pend reasons: the right one of several, its numbers, its sentence, hosts per cause."""

import pytest
from msgspec import structs

from tests.kit.cluster import (
    GB,
    ClaimTemplate,
    dgx,
    gang,
    held,
    host,
    idle_snapshot,
    job,
    need,
    role,
    standing,
    table,
)
from xce.model.need import Need
from xce.scheduler.reasons import TABLE, Code, Cure, amount_text, hosts_text, reason, render
from xce.scheduler.session import dry_run, run_session
from xce.scheduler.snapshot import HostTable


def why(snapshot, ask):
    return dry_run(snapshot, ask)


def filled(amount_left=0, **counters):
    snapshot = idle_snapshot(dgx())
    for name in snapshot.hosts.names:
        snapshot = held(snapshot, name, **counters)
    return snapshot


def test_the_best_host_is_named_with_what_it_has():
    snapshot = held(filled(slots=6), "n3", slots=-4)
    found = why(snapshot, job(1, need(one_host=True), tasks=8))
    assert found.text() == "needs 8 slots on one host; best host n3 has 6 free"
    assert (found.code, found.cure, found.scope) == ("short_on_host", "on_free", "host")
    assert (found.needed, found.available, found.where) == (8, 6, "n3")
    assert found.hosts == (("short of slots", 4),)


def test_what_no_host_has_in_total_can_never_fit():
    found = why(idle_snapshot(dgx(gpu_count=4)), job(1, need(gpu=8)))
    assert found.text() == "can never fit: needs 8 gpu on one host and no host has more than 4"
    assert found.cure is Cure.NEVER


def test_sizes_are_told_in_their_unit():
    found = why(filled(mem=60 * GB), job(1, need(mem=8 * GB)))
    assert found.text() == "needs 8GB mem on one host; best host n1 has 4GB free"


def test_a_resource_that_no_host_has_at_all_is_named():
    found = why(idle_snapshot(dgx()), job(1, Need(per_task=(("swp", GB),))))
    assert found.text() == "can never fit: needs 1GB swp on one host and no host has any swp"


def test_things_that_are_free_on_different_hosts_only():
    entries = [host("a", slots=8, mem=1 * GB), host("b", slots=1, mem=8 * GB)]
    found = why(idle_snapshot(table(*entries)), job(1, need(mem=2 * GB, one_host=True), tasks=2))
    assert found.text() == "can never fit: no one host has all of it: 2 slots, 4GB mem"
    roomy = [host("a", slots=8), host("b", slots=8)]
    busy = held(held(idle_snapshot(table(*roomy)), "a", slots=7), "b", mem=63 * GB)
    found = why(busy, job(1, need(mem=2 * GB, one_host=True), tasks=2))
    assert found.text() == "no one host has all of it free: 2 slots, 4GB mem"
    assert found.hosts == (("short of mem", 1), ("short of slots", 1))


def test_a_job_over_several_hosts_counts_its_tasks():
    found = why(filled(slots=5), job(1, tasks=16))
    assert found.text() == "needs room for 16 tasks at once; 12 fit now"
    found = why(filled(), job(1, tasks=40))
    assert found.text() == (
        "can never fit: needs room for 40 tasks at once; all matching hosts hold 32 when empty"
    )


def test_a_gang_names_the_role_that_is_short():
    ask = gang(1, role("launcher", [1]), role("w", [2, 3, 4], needs=need(gpu=8, one_host=True)))
    snapshot = held(held(idle_snapshot(dgx()), "n1", gpu=[0]), "n2", gpu=[0])
    found = why(snapshot, ask)
    assert found.text() == "needs room for 3 members of role w at once; 2 fit now"
    assert found.hosts == (("has room", 2), ("short of gpu", 2))
    assert hosts_text(found) == "2 x has room, 2 x short of gpu"


def test_a_full_domain_is_named_with_its_room():
    ask = gang(1, role("w", [1, 2], needs=need(gpu=8, one_host=True)), required="nvlink")
    snapshot = held(held(idle_snapshot(dgx()), "n1", gpu=[0]), "n4", gpu=[0])
    assert why(snapshot, ask).text() == (
        "needs room for 2 members of role w in one nvlink domain; best domain nvl1 has room for 1"
    )


def test_what_can_never_be_cured_goes_before_what_waits():
    ask = gang(
        1,
        role("a", [1], needs=need(one_host=True), tasks=8),
        role("b", [2], needs=need(gpu=9, one_host=True)),
    )
    assert why(filled(slots=6), ask).code is Code.NEVER_FITS


def test_hosts_that_may_not_be_used_are_counted_by_what_they_are():
    snapshot = standing(idle_snapshot(dgx()), n1="host_down", n2="host_down", n3="host_closed")
    snapshot = held(snapshot, "n4", gpu=range(8))
    found = why(snapshot, job(1, need(gpu=1)))
    assert found.text() == "needs 1 gpu on one host; best host n4 has 0 free"
    assert found.hosts == (("host_down", 2), ("host_closed", 1), ("short of gpu", 1))
    everything_down = standing(snapshot, n3="host_down", n4="host_joining")
    found = why(everything_down, job(1))
    assert found.text() == "none of the 4 matching hosts may take work now"
    assert found.cure is Cure.ON_CHANGE


def test_a_select_that_nothing_matches_is_repeated():
    found = why(idle_snapshot(dgx()), job(1, need(select="type==CRAY")))
    assert found.text() == "no host matches select[type==CRAY]"
    assert found.hosts == (("does not match", 4),)


def test_a_select_that_cannot_be_read_is_refused_with_its_column():
    found = why(idle_snapshot(dgx()), job(1, need(select="mem >")))
    assert found.code is Code.BAD_SELECT
    assert "column" in found.text()


def test_instances_are_named_with_their_select_and_level():
    claim = ClaimTemplate(name="g", type="gpu", count=2, select="model==B200", same="nvlink")
    found = why(idle_snapshot(dgx()), job(1, claims=[claim]))
    assert found.text() == (
        "can never fit: needs 2 gpu with model==B200 in one nvlink on one host and "
        "no host has any gpu with model==B200 in one nvlink"
    )


def test_a_cluster_without_hosts_says_so():
    found = why(idle_snapshot(HostTable.build(("host",), ())), job(1))
    assert found.text() == "the cluster has no host"


def test_an_inactive_queue_blocks_its_classes():
    snapshot = idle_snapshot(dgx(), [job(1, queue="night"), job(2)])
    shut = reason(Code.QUEUE_INACTIVE, where="night")
    snapshot = structs.replace(snapshot, shut_queues={"night": shut})
    plan = run_session(snapshot)
    assert [p.job for p in plan.placements] == [2]
    assert plan.reasons[0].reason.text() == "queue night is inactive"


def test_one_reason_per_class_counts_all_that_wait():
    asks = [job(i, need(gpu=9), class_key="big") for i in range(1, 4)]
    (entry,) = run_session(idle_snapshot(dgx(), asks)).reasons
    assert (entry.class_key, entry.first, entry.waiting) == ("big", "1", 3)


def test_a_claim_that_no_host_can_bear_is_the_reason():
    ask = gang(
        1, role("w", [1]), claims=[ClaimTemplate(name="d", type="directory", size_bytes=200 * GB)]
    )
    assert why(idle_snapshot(dgx()), ask).text() == (
        "can never fit: needs 200GB scratch on one host and no host has more than 100GB"
    )


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_row_and_makes_a_sentence(code):
    text = reason(code, what="gpu", needed=2, available=1, where="n1", role="w", detail="x").text()
    assert text
    assert "{" not in text
    assert TABLE[code].meaning.endswith(".")


@pytest.mark.parametrize(
    ("what", "amount", "text"),
    [
        ("slots", 6, "6"),
        ("mem", 64 * GB, "64GB"),
        ("mem", 1536 << 20, "1536MB"),
        ("mem", 1000 << 20, "1000MB"),
        ("mem", 0, "0MB"),
        ("r1m", 1500, "1.5"),
        ("gpu", 3, "3"),
    ],
)
def test_amounts_are_written_in_the_unit_that_people_use(what, amount, text):
    assert amount_text(what, amount) == text


def test_the_document_lists_every_code_once():
    lines = render().splitlines()
    assert sum(line.startswith("| `") for line in lines) == len(Code)
    assert render().endswith("\n")


def test_hosts_with_room_are_no_cause_of_what_can_never_fit_together() -> None:
    counted = (("has room", 3), ("too small: gpu", 1))
    never = reason(Code.CLUSTER_NEVER_FITS, needed=9, available=6, hosts=counted)
    later = reason(Code.MEMBERS_SHORT, needed=9, available=6, hosts=counted)
    assert hosts_text(never) == "1 x too small: gpu"
    assert hosts_text(later) == "3 x has room, 1 x too small: gpu"
