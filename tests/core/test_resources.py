"""Resource types and pools declared at run time, beside a file, and taken away again."""

import pytest

from tests.core.lab import Life, lab
from tests.kit.words import ANNA, BOSS, OPS, gang, job, machine, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.commands import Rejection
from xce.controller.core.decide import Outcome
from xce.model.config import SECOND_US, Config, PoolConfig, QueueConfig, TypeConfig
from xce.model.job import ClaimTemplate
from xce.model.records import ConfigChanged

FLUENT = TypeConfig(name="fluent", scope="shared", description="solver seats")
TOKENS = TypeConfig(name="tokens", interval_us=10 * SECOND_US)


def add(world: World, type_: TypeConfig = FLUENT) -> dict[str, object]:
    return world.ask_body(c.AddType(actor=BOSS, type=type_))


def refused(world: World, command: c.Command) -> Rejection:
    answer = world.ask(command)
    assert isinstance(answer, Rejection)
    return answer


def names(world: World) -> list[tuple[str, str]]:
    return [(one.name, one.origin) for one in world.state.config.types]


def load(world: World, config: Config, digest: str) -> list[str]:
    return world.ask_body(c.LoadConfig(actor=BOSS, config=config, digest=digest))["kept"]


def test_a_type_declared_at_run_time_is_one_record_and_outlives_the_leader() -> None:
    world = lab(1)
    before = world.state.lsn
    assert add(world) == {"name": "fluent", "version": before + 1, "changed": True}
    record = world.records[-1]
    assert isinstance(record.body, ConfigChanged)
    assert record.entities == ("resource:fluent",)
    assert (record.body.what, record.body.name) == ("type", "fluent")
    world.change_leader()
    assert names(world) == [("fluent", "run")]
    assert world.state.config.types[0].version == before + 1


def test_the_same_type_again_writes_nothing() -> None:
    world = lab(1)
    version = add(world)["version"]
    lsn = world.state.lsn
    assert add(world) == {"name": "fluent", "version": version, "changed": False}
    assert world.state.lsn == lsn


def test_a_changed_description_is_a_new_version() -> None:
    world = lab(1)
    first = add(world)["version"]
    second = add(world, TypeConfig(name="fluent", scope="shared", description="seats"))["version"]
    assert (first, second) == (world.state.lsn - 1, world.state.lsn)


@pytest.mark.parametrize("actor", [ANNA, OPS])
def test_only_an_administrator_declares(actor: object) -> None:
    world = lab(1)
    told = refused(world, c.AddType(actor=actor, type=FLUENT))  # type: ignore[arg-type]
    assert (told.code, names(world)) == ("not_allowed", [])


@pytest.mark.parametrize(
    ("bad", "field", "said"),
    [
        (TypeConfig(name="mem"), "name", "built in"),
        (TypeConfig(name="idle"), "name", "built in"),
        (TypeConfig(name="2fast"), "name", "cannot name a type"),
        (TypeConfig(name="a-b"), "name", "cannot name a type"),
        (TypeConfig(name="x", layer="countr"), "layer", "expected attribute or counter"),
        (TypeConfig(name="x", kind="string"), "kind", "layer counter is of kind number"),
        (TypeConfig(name="x", unit="GB"), "unit", "expected 'bytes'"),
        (TypeConfig(name="x", level="rack"), "level", "there is no level 'rack'"),
        (TypeConfig(name="x", sharing=4), "sharing", "only instances are shared"),
        (TypeConfig(name="x", ttl_us=5), "ttl", "does not go stale"),
        (TypeConfig(name="x", provision=True), "provision", "a provider must"),
        (TypeConfig(name="x", hosts=("n1",)), "hosts", "only a type of scope shared"),
    ],
)
def test_a_bad_type_is_refused_with_its_field(bad: TypeConfig, field: str, said: str) -> None:
    told = refused(lab(1), c.AddType(actor=BOSS, type=bad))
    assert (told.code, told.field) == ("invalid", field)
    assert said in told.message


def test_a_type_that_a_job_names_is_not_taken_away() -> None:
    world = lab(1, slots=1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    add(world, TypeConfig(name="tokens"))
    first = world.submit(job(resreq="select[tokens>3]"))
    told = refused(world, c.RemoveResource(actor=BOSS, name="tokens"))
    assert told.code == "conflict"
    assert told.message == "the type 'tokens' is in use: used by job 1"
    world.ask_body(c.Kill(actor=BOSS, job=first))
    assert world.ask_body(c.RemoveResource(actor=BOSS, name="tokens")) == {
        "name": "tokens", "removed": True,
    }  # fmt: skip
    assert names(world) == []


def test_a_type_that_a_gang_claims_is_not_taken_away() -> None:
    world = lab(1)
    add(world, TypeConfig(name="seat", layer="instance", kind="instance"))
    claim = ClaimTemplate(name="s", type="seat")
    world.submit_gang(gang(role("a", 1, claims=(claim,))))
    told = refused(world, c.RemoveResource(actor=BOSS, name="seat"))
    assert told.message == "the type 'seat' is in use: used by group g1"


def test_a_type_that_a_host_or_a_queue_has_is_not_taken_away() -> None:
    queue = QueueConfig(name="q", default_resreq="select[tokens>0]")
    world = lab(1, config=settings(queues=(QueueConfig(name="normal"), queue)))
    facts = machine(4)
    has = type(facts)(counters=(("slots", 4), ("tokens", 2)))
    add(world, TypeConfig(name="tokens"))
    world.add("n9", has)
    world.up()
    told = refused(world, c.RemoveResource(actor=BOSS, name="tokens"))
    assert told.message.endswith("used by host n9 (it has some), queue q")


def test_a_type_in_use_keeps_its_meaning_but_not_its_description() -> None:
    world = lab(1, slots=1)
    add(world, TypeConfig(name="tokens"))
    world.submit(job(resreq="rusage[tokens=1]"))
    told = refused(world, c.AddType(actor=BOSS, type=TypeConfig(name="tokens", scope="shared")))
    assert told.message == "the type 'tokens' keeps what it means: used by job 1"
    assert add(world, TypeConfig(name="tokens", description="new"))["changed"] is True


def test_what_is_not_there_or_built_in_cannot_be_removed() -> None:
    world = lab(1)
    add(world)
    told = refused(world, c.RemoveResource(actor=BOSS, name="fluet"))
    assert (told.code, told.hint) == ("not_found", "did you mean 'fluent'?")
    told = refused(world, c.RemoveResource(actor=BOSS, name="mem"))
    assert (told.code, told.message) == ("conflict", "the type 'mem' is built in; it stays")


# -- beside a file --------------------------------------------------------------------------------


def test_what_was_declared_at_run_time_wins_over_a_later_file() -> None:
    world = lab(1)
    add(world)
    own = TypeConfig(name="fluent", scope="host")
    assert load(world, settings(types=(own, TOKENS)), "f2") == []
    assert names(world) == [("tokens", "file"), ("fluent", "run")]
    assert world.state.config.types[1].scope == "shared"


def test_what_was_taken_away_stays_away_until_the_file_forgets_it() -> None:
    world = lab(1, config=settings(types=(TOKENS,)))
    world.ask_body(c.RemoveResource(actor=BOSS, name="tokens"))
    load(world, settings(types=(TOKENS, FLUENT)), "f2")
    assert names(world) == [("fluent", "file")]
    load(world, settings(types=(FLUENT,)), "f3")
    load(world, settings(types=(TOKENS, FLUENT)), "f4")
    assert names(world) == [("tokens", "file"), ("fluent", "file")]


def test_a_file_does_not_take_away_or_change_a_type_in_use() -> None:
    world = lab(1, slots=1, config=settings(types=(TOKENS, FLUENT)))
    world.submit(job(resreq="select[tokens>3]"))
    world.submit(job(resreq="rusage[fluent=1]"))
    changed = TypeConfig(name="fluent", scope="host")
    assert load(world, settings(types=(changed,)), "f2") == ["fluent", "tokens"]
    assert {one.name: one.scope for one in world.state.config.types} == {
        "fluent": "shared", "tokens": "host",
    }  # fmt: skip


def test_a_type_of_the_file_keeps_its_version_until_it_changes() -> None:
    world = lab(1, config=settings(types=(TOKENS,)))
    first = world.state.config.types[0].version
    assert first > 0
    load(world, settings(types=(TOKENS, FLUENT)), "f2")
    assert [one.version for one in world.state.config.types] == [first, world.state.lsn]


# -- pools ----------------------------------------------------------------------------------------


def pooled(*pools: PoolConfig, count: int = 3, **rest: object) -> World:
    world = lab(count, config=settings(types=(FLUENT,), pools=pools), **rest)  # type: ignore[arg-type]
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def running(world: World) -> list[int]:
    return [key for key, one in sorted(world.state.jobs.items()) if one.state == "RUNNING"]


def test_a_pool_is_one_amount_that_all_its_hosts_see() -> None:
    world = pooled(PoolConfig(type="fluent", amount=5))
    for _ in range(4):
        world.submit(job(resreq="rusage[fluent=2]"))
    world.run(5 * SECOND_US)
    assert running(world) == [1, 2]
    assert world.state.index.pooled == {"fluent@1": 4}
    held = [
        (share.host, dict(share.counters).get("fluent@1"))
        for one in world.state.allocations.values()
        for share in one.shares
    ]
    assert [amount for _, amount in held] == [2, 2]


def test_an_ended_job_gives_back_to_its_pool() -> None:
    world = pooled(PoolConfig(type="fluent", amount=2))
    for _ in range(2):
        world.submit(job(resreq="rusage[fluent=2]"))
    world.run(5 * SECOND_US)
    world.ask_body(c.Kill(actor=BOSS, job=1))
    world.run(5 * SECOND_US)
    assert running(world) == [2]
    assert world.state.index.pooled == {"fluent@1": 2}


def test_several_pools_of_one_name_lie_over_disjoint_hosts() -> None:
    world = pooled(
        PoolConfig(type="fluent", label="a", hosts=("n1",), amount=1),
        PoolConfig(type="fluent", label="b", hosts=("others", "~n3"), amount=1),
    )
    for _ in range(3):
        world.submit(job(resreq="rusage[fluent=1]"))
    world.run(5 * SECOND_US)
    assert running(world) == [1, 2]
    assert world.state.index.pooled == {"fluent@a": 1, "fluent@b": 1}
    assert sorted(s.host for a in world.state.allocations.values() for s in a.shares) == [
        "n1", "n2",
    ]  # fmt: skip


def test_an_amount_of_a_pool_counts_once_per_job_unless_it_says_task() -> None:
    world = pooled(PoolConfig(type="fluent", amount=4))
    world.submit(job(tasks=3, resreq="rusage[fluent=1] span[hosts=1]"))
    world.submit(job(tasks=3, resreq="rusage[fluent=1/task] span[hosts=1]"))
    world.run(5 * SECOND_US)
    assert running(world) == [1, 2]
    assert world.state.index.pooled == {"fluent@1": 4}


def test_a_pool_in_use_is_not_taken_away_and_its_amount_may_change() -> None:
    world = pooled(PoolConfig(type="fluent", amount=1))
    world.submit(job(resreq="rusage[fluent=1]"))
    world.submit(job(resreq="rusage[fluent=1]"))
    world.run(5 * SECOND_US)
    more = PoolConfig(type="fluent", label="1", amount=2)
    assert world.ask_body(c.AddPool(actor=BOSS, pool=more)) == {"name": "fluent@1", "changed": True}
    world.run(5 * SECOND_US)
    assert running(world) == [1, 2]
    told = refused(world, c.RemoveResource(actor=BOSS, name="fluent@1"))
    assert told.message.startswith("the pool fluent@1 is in use: used by work on host n")


def test_pools_that_share_a_host_are_refused() -> None:
    world = pooled(PoolConfig(type="fluent", label="a", hosts=("n1", "n2"), amount=1))
    pool = PoolConfig(type="fluent", hosts=("all",), amount=1)
    told = refused(world, c.AddPool(actor=BOSS, pool=pool))
    assert told.message == "host n1 is in two pools of fluent"
    good = PoolConfig(type="fluent", hosts=("all", "~n1", "~n2"), amount=1)
    assert world.ask_body(c.AddPool(actor=BOSS, pool=good))["name"] == "fluent@2"


def test_a_pool_of_no_shared_type_is_refused() -> None:
    world = pooled(PoolConfig(type="fluent", amount=1))
    told = refused(world, c.AddPool(actor=BOSS, pool=PoolConfig(type="fluet", amount=1)))
    assert (told.field, told.hint) == ("type", "did you mean 'fluent'?")


def test_pools_are_asked_of_the_committed_state_when_a_plan_is_written() -> None:
    world = pooled(PoolConfig(type="fluent", amount=1), count=2)
    world.step([job(resreq="rusage[fluent=1]")])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    (slice_,) = world.sessions.slices(work)
    none = PoolConfig(type="fluent", label="1", amount=0)
    world.step([c.AddPool(actor=BOSS, pool=none)])
    answer = world.step([slice_]).answers[0]
    assert isinstance(answer, Outcome)
    assert answer.body["planned"] == 0


def test_a_claim_holds_of_its_hosts_pool() -> None:
    world = pooled(PoolConfig(type="fluent", label="lic", amount=3))
    claim = ClaimTemplate(name="seats", type="fluent", count=2)
    world.submit_gang(gang(role("a", 1, claims=(claim,))))
    world.submit_gang(gang(role("a", 1, claims=(claim,))))
    world.run(5 * SECOND_US)
    assert world.state.index.pooled == {"fluent@lic": 2}
    assert [one.counter for one in world.state.claims[1].holdings] == ["fluent@lic"]
    assert world.state.groups[2].state == "PENDING"


def test_a_gang_does_not_take_more_of_a_pool_than_there_is() -> None:
    world = pooled(PoolConfig(type="fluent", amount=3))
    world.submit_gang(gang(role("a", 4, resreq="rusage[fluent=1]")))
    world.submit_gang(gang(role("a", 3, resreq="rusage[fluent=1]")))
    world.run(5 * SECOND_US)
    assert world.state.groups[1].state == "PENDING"
    assert world.state.groups[2].state == "RUNNING"
    assert world.state.index.pooled == {"fluent@1": 3}


def test_a_pool_survives_a_change_of_leader_with_what_is_held_of_it() -> None:
    world = pooled(PoolConfig(type="fluent", amount=2))
    world.submit(job(resreq="rusage[fluent=2]"))
    world.run(5 * SECOND_US)
    world.cut()
    world.submit(job(resreq="rusage[fluent=1]"))
    world.change_leader()
    world.run(5 * SECOND_US)
    assert (running(world), world.state.index.pooled) == ([1], {"fluent@1": 2})
