"""Consumers of standalone claims: where they run, what they see, what keeps a claim from going."""

from typing import Any

from tests.core.lab import Life, Provision, lab, pair
from tests.core.standalone.words import ask, claim, end, make
from tests.kit.words import BERT, GB, SETTINGS, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.orders.environment import go_environment, launch_environment
from xce.model.config import SECOND_US, TypeConfig
from xce.model.config.claims import ClaimsConfig
from xce.model.group import FailureRule
from xce.model.job import ClaimTemplate

MINUTE_US = 60 * SECOND_US
FREELY = settings(claims=ClaimsConfig(unleased_percent=100))
DATA = ClaimTemplate(name="data", use="c1")


def longer(world: World) -> None:
    """Everything runs for ten minutes."""
    world.scripts.default = lambda name, attempt: Life(run_us=10 * MINUTE_US)


def environment(world: World, key: int) -> dict[str, str]:
    """What a running job's processes find."""
    launch = world.state.launches[world.state.jobs[key].launches[0]]
    return {**launch_environment(world.state, launch), **go_environment(world.state, launch)}


def test_a_consumer_runs_on_the_hosts_of_its_claim_and_sees_what_that_holds() -> None:
    world = lab(3, gpu_count=4, config=FREELY)
    longer(world)
    first = world.submit(job(1, "rusage[gpu=4]"))
    world.run(SECOND_US)
    told = ask(world, make("set", count=3))
    (host,) = {one.host for one in claim(world, 1).holdings}
    assert host != world.state.launches[world.state.jobs[first].launches[0]].host
    key = world.submit(job(1, claims=(DATA,)))
    world.run(SECOND_US)
    (launch,) = (world.state.launches[one] for one in world.state.jobs[key].launches)
    assert (launch.host, launch.state) == (host, "RUNNING")
    env = environment(world, key)
    assert env["XCE_CLAIM_DATA_ID"] == "c1"
    assert env["XCE_CLAIM_DATA_GENERATION"] == str(told["generation"])
    assert env["XCE_CLAIM_DATA_VALUE"] == "GPU-0,GPU-1,GPU-2"
    assert env["CUDA_VISIBLE_DEVICES"] == "GPU-0,GPU-1,GPU-2"
    allocation = world.state.allocations[world.state.jobs[key].allocation]
    assert (allocation.uses, allocation.shares[0].instances) == ((1,), ())
    assert len(world.state.index.holders) == 7


def test_a_name_of_its_owner_is_as_good_as_the_id_and_anothers_is_not() -> None:
    world = lab(1, config=FREELY)
    ask(world, make("set", count=1))
    named = (ClaimTemplate(name="data", use="set"),)
    key = world.submit(job(1, claims=named))
    assert world.state.specs[world.state.jobs[key].spec].claims == (DATA,)
    answer = world.ask(job(1, claims=(DATA,), actor=BERT))
    assert isinstance(answer, c.Rejection)
    assert answer.code == "not_allowed"
    answer = world.ask(job(1, claims=named, actor=BERT))
    assert isinstance(answer, c.Rejection)
    assert answer.message == "claim data: there is no standalone claim set"


def test_a_consumer_waits_until_its_claim_is_bound_and_ready_and_is_told_why() -> None:
    world = lab(1, config=FREELY)
    world.scripts.provisions["vol"] = Provision(after_us=30 * SECOND_US)
    ask(world, make("vol", "directory", amount=GB))
    key = world.submit(job(1, claims=(DATA,)))
    world.run(10 * SECOND_US)
    why = world.sessions.reason_for(str(key))
    assert why is not None
    assert why.text() == "claim c1 is not ready on n1 yet"
    assert world.state.jobs[key].state == "PENDING"
    world.run(30 * SECOND_US)
    assert world.state.jobs[key].state in ("RUNNING", "DONE")


def test_deletion_waits_for_the_last_consumer_and_takes_no_new_one() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    longer(world)
    ask(world, make("set", count=2))
    keys = [world.submit(job(1, claims=(DATA,))) for _ in range(2)]
    world.run(SECOND_US)
    told = ask(world, end(1, "delete"))
    assert (told["state"], told["waits_for"]) == ("BOUND", [str(key) for key in keys])
    late = world.submit(job(1, claims=(DATA,)))
    world.run(SECOND_US)
    why = world.sessions.reason_for(str(late))
    assert why is not None
    assert why.text() == "claim c1 is about to go and takes no new consumer"
    world.ask_body(c.Kill(actor=BOSS_OR_OWNER, job=keys[0]))
    world.run(MINUTE_US)
    assert claim(world, 1).state == "BOUND"
    world.ask_body(c.Kill(actor=BOSS_OR_OWNER, job=keys[1]))
    world.run(MINUTE_US)
    assert claim(world, 1).state == "RELEASED"
    assert not world.state.index.holders


def test_a_gang_uses_a_claim_of_the_group_with_all_members_and_keeps_it_over_a_restart() -> None:
    world = lab(2, gpu_count=4, config=FREELY)
    longer(world)
    ask(world, make("set", count=8))
    world.scripts.lives[("1", 1)] = Life(run_us=5 * SECOND_US, code=3)
    told = world.submit_gang(
        gang(role("w", 2, tasks=2), claims=(DATA,), rules=[FailureRule(action="restart_group")])
    )
    world.run_until(lambda: world.state.groups[told].state == "RUNNING")
    before = claim(world, 1)
    env = environment(world, 1)
    assert env["XCE_CLAIM_DATA_ID"] == "c1"
    world.run(MINUTE_US)
    assert [world.state.jobs[key].attempt for key in (1, 2)] == [2, 2]
    assert claim(world, 1) == before


def test_a_claim_that_fails_is_lost_for_each_consumer_and_never_moved() -> None:
    provided = (TypeConfig(name="gpu", layer="instance", provider="static"),)
    world = lab(2, gpu_count=4, config=settings(types=provided, claims=FREELY.claims))
    longer(world)
    ask(world, make("set", count=4))
    world.run(SECOND_US)
    keys = [world.submit(job(1, claims=(DATA,))) for _ in range(2)]
    world.run(SECOND_US)
    agent = world.agents["n1"]
    (here,) = agent.attachments.values()
    here.phase = "failed"
    agent.tell_attachment(here, "failed", message="it broke")
    world.run_until(lambda: all(world.state.jobs[key].state == "EXITED" for key in keys))
    assert [world.exit_of(key).reason for key in keys] == ["claim_lost", "claim_lost"]
    assert claim(world, 1).state == "FAILED"
    assert {one.host for one in claim(world, 1).holdings} == {"n1"}
    assert ask(world, end(1, "delete"))["state"] in ("RELEASING", "RELEASED")
    world.run(MINUTE_US)
    assert claim(world, 1).state == "RELEASED"


def test_a_host_that_comes_back_without_a_gpu_fails_the_claim_that_holds_it() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    longer(world)
    ask(world, make("set", count=4))
    key = world.submit(job(1, claims=(DATA,)))
    world.run(SECOND_US)
    agent = world.agents["n1"]
    agent.facts = type(agent.facts)(
        counters=agent.facts.counters, instances=agent.facts.instances[:3], ports=agent.facts.ports
    )
    agent.restart()
    world.run_until(lambda: world.state.jobs[key].state == "EXITED")
    assert world.exit_of(key).reason == "claim_lost"
    assert claim(world, 1).state == "FAILED"


def test_the_instances_of_a_claim_are_not_given_to_anybody_else() -> None:
    world = lab(1, gpu_count=4, config=FREELY)
    longer(world)
    ask(world, make("set", count=3))
    key = world.submit(job(1, "rusage[gpu=2]"))
    world.submit_gang(pair())
    world.run(SECOND_US)
    assert world.state.jobs[key].state == "PENDING"
    assert SETTINGS.claims.unleased_percent == 50


BOSS_OR_OWNER: Any = job().actor
