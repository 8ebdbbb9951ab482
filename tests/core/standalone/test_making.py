"""Making standalone claims: bound at once or lost, waiting in the order, limits of one owner."""

from typing import Any

from tests.core.lab import Life, lab
from tests.core.standalone.words import ask, claim, end, held, make, refused
from tests.kit.words import BERT, GB, job, settings
from tests.kit.world import World
from xce.model.config import SECOND_US
from xce.model.config.claims import ClaimsConfig
from xce.model.host import HostFacts, InstanceFacts
from xce.model.records import ClaimCreated, Planned

FREELY = settings(claims=ClaimsConfig(unleased_percent=100))


def test_a_claim_is_bound_in_the_record_that_makes_it_and_that_is_its_generation() -> None:
    world = lab(2, gpu_count=4)
    told = ask(world, make("data", count=3))
    assert told == {
        "claim": "c1", "outcome": "won", "state": "BOUND", "generation": world.state.lsn,
        "until_us": 0,
    }  # fmt: skip
    (record,) = world.writer.log.read(world.state.lsn)
    assert isinstance(record.body, ClaimCreated)
    assert record.body.bound
    assert record.entities == ("c1",)
    assert held(world, 1) == ["n1/gpu/GPU-0", "n1/gpu/GPU-1", "n1/gpu/GPU-2"]
    assert world.state.claims[1].generation == record.lsn


def test_a_claim_that_does_not_fit_is_lost_and_nothing_is_written() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    ask(world, make("first", count=3))
    lsn = world.state.lsn
    told = ask(world, make("second", count=2))
    assert (told["outcome"], told["never"]) == ("lost", False)
    assert told["reason"] == "needs room for 2 tasks at once; 1 fit now"
    assert world.state.lsn == lsn
    assert 2 not in world.state.claims
    assert ask(world, make("second", count=1))["claim"] == "c2"


def test_a_claim_may_lie_on_several_hosts_but_not_on_several_islands() -> None:
    facts = {f"n{i + 1}": _tray(domain) for i, domain in enumerate(("west", "west", "east"))}
    world = World(facts, config=FREELY)
    world.up()
    assert ask(world, make("wide", count=5, island="nvlink"))["outcome"] == "lost"
    assert ask(world, make("whole", count=4, island="nvlink"))["outcome"] == "won"
    assert held(world, 1) == [
        "n1/gpu/G0", "n1/gpu/G1", "n2/gpu/G0", "n2/gpu/G1",
    ]  # fmt: skip
    assert ask(world, make("rest", count=2, island="nvlink"))["outcome"] == "won"
    assert held(world, 2) == ["n3/gpu/G0", "n3/gpu/G1"]


def _tray(domain: str) -> HostFacts:
    gpus = tuple(
        InstanceFacts(type="gpu", name=f"G{i}", domains=(("nvlink", domain),)) for i in range(2)
    )
    return HostFacts(counters=(("mem", 64 * GB), ("slots", 8)), instances=gpus)


def test_an_amount_is_held_on_one_host_and_counted_with_what_jobs_have() -> None:
    world = lab(1, config=FREELY)
    assert ask(world, make("ram", "mem", amount=40 * GB))["outcome"] == "won"
    assert world.state.index.used["n1"]["mem"] == 40 * GB
    key = world.submit(job(1, "rusage[mem=30GB]"))
    world.run(SECOND_US)
    assert world.state.jobs[key].state == "PENDING"
    world.ask_body(job(1, "rusage[mem=24GB]"))
    world.run(SECOND_US)
    assert world.state.jobs[key + 1].state != "PENDING"


def test_select_is_over_the_attributes_of_instances() -> None:
    models = ("A100", "H100", "H100")
    gpus = tuple(
        InstanceFacts(type="gpu", name=f"G{i}", attributes=(("model", model),))
        for i, model in enumerate(models)
    )
    world = World({"n1": HostFacts(counters=(("slots", 4),), instances=gpus)}, config=FREELY)
    world.up()
    assert ask(world, make("h", count=3, select="model==H100"))["outcome"] == "lost"
    assert ask(world, make("h", count=2, select="model==H100"))["outcome"] == "won"
    assert held(world, 1) == ["n1/gpu/G1", "n1/gpu/G2"]


def test_what_waits_is_bound_by_a_session_in_the_order_of_the_queue() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    ask(world, make("all", count=4))
    ask(world, make("later", count=3, waits=True, actor=BERT))
    ask(world, make("sooner", count=2, waits=True, priority=80))
    world.run(SECOND_US)
    assert [claim(world, n).state for n in (2, 3)] == ["PENDING", "PENDING"]
    assert claim(world, 2).generation == 0
    ask(world, end(1))
    world.run(SECOND_US)
    assert [claim(world, n).state for n in (2, 3)] == ["PENDING", "BOUND"]
    record = next(r for r in reversed(world.records) if r.kind == "Planned")
    assert isinstance(record.body, Planned)
    assert [one.claim for one in record.body.bound] == [3]
    assert claim(world, 3).generation == record.lsn
    reason = world.sessions.reason_for("c2")
    assert reason is not None
    assert "2" in reason.text()


def test_a_claim_that_waits_stands_between_jobs_by_its_priority() -> None:
    world = lab(1, slots=1, gpu_count=1, config=FREELY)
    world.scripts.default = lambda name, attempt: Life(run_us=10 * SECOND_US)
    first = world.submit(job(1, "rusage[gpu=1]"))
    ask(world, make("mine", count=1, waits=True, priority=60))
    behind = world.submit(job(1, "rusage[gpu=1]"))
    world.run_until(lambda: world.state.jobs[first].state == "DONE")
    world.run(SECOND_US)
    assert claim(world, 1).state == "BOUND"
    assert world.state.jobs[behind].state == "PENDING"


def test_one_users_claims_without_a_lease_hold_half_of_what_there_is_at_most() -> None:
    world = lab(1, gpu_count=4)
    ask(world, make("a", count=2))
    said = refused(world, make("b", count=1))
    assert said.code == "over_limit"
    assert said.message == (
        "gpu: 2 held and 1 more asked, one user may have 2 in claims without a lease "
        "(50% of what there is)"
    )
    assert ask(world, make("b", count=1, lease_us=60 * SECOND_US))["outcome"] == "won"
    assert ask(world, make("b", count=1, actor=BERT))["outcome"] == "won"


def test_limits_of_the_site_hold_for_each_user_and_at_the_binding_too() -> None:
    limits = ClaimsConfig(per_user=(("gpu", 3),), count_max=3, lease_max_us=100 * SECOND_US)
    world = lab(1, gpu_count=8, config=settings(claims=limits))
    lease: dict[str, Any] = {"lease_us": 50 * SECOND_US}
    ask(world, make("all", count=3, actor=BERT, **lease))
    assert refused(world, make("a", count=4, **lease)).code == "over_limit"
    assert refused(world, make("a", count=1)).code == "over_limit"
    assert refused(world, make("a", count=1, lease_us=200 * SECOND_US)).code == "over_limit"
    # Two that wait may each be had, but not both.
    ask(world, make("busy", count=1, **lease))
    world.ask_body(end(2))
    ask(world, make("x", count=2, waits=True, **lease))
    ask(world, make("y", count=2, waits=True, **lease))
    world.run(SECOND_US)
    assert [claim(world, n).state for n in (3, 4)] == ["BOUND", "PENDING"]
    reason = world.sessions.reason_for("c4")
    assert reason is not None
    assert reason.text() == ("gpu: 2 held and 2 more asked, one user may have 3 in claims")
    ask(world, end(3))
    world.run(SECOND_US)
    assert claim(world, 4).state == "BOUND"


def test_what_is_wrong_is_said_in_words() -> None:
    world = lab(1)
    for asked, field in (
        (make("c7"), "name"),
        (make("no name"), "name"),
        (make("x", "gpus"), "type"),
        (make("x", "type"), "type"),
        (make("x", "mem"), "amount"),
        (make("x", count=0), "count"),
        (make("x", "gpu", amount=3), "count"),
        (make("x", select="model=="), "select"),
        (make("x", island="rack"), "island"),
        (make("x", until_us=1), "until"),
        (make("x", on_expiry="explode"), "on_expiry"),
        (make("x", reclaim="keep"), "reclaim"),
        (make("x", queue="nowhere"), "queue"),
    ):
        assert refused(world, asked).field == field, asked
    ask(world, make("x"))
    assert refused(world, make("x")).code == "conflict"
    assert ask(world, make("x", actor=BERT))["outcome"] == "won"
