"""Ticks: which reported values get into the state, when they are told again, and when they go."""

from typing import Any

import pytest

from tests.core.lab import Life, lab
from tests.core.ticked import known, sample, tick
from tests.kit.words import ANNA, BOSS, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.commands import Rejection
from xce.controller.core.resources.observed import named_columns
from xce.controller.observing import Observing
from xce.dispatch.observe import moved, read_value
from xce.dispatch.protocol import PROTOCOL, Observed, Poll
from xce.model.config import SECOND_US, Config, PoolConfig, QueueConfig, TypeConfig
from xce.model.records import Planned
from xce.model.resources import BUILT_IN

MB = 1 << 20
SEATS = TypeConfig(name="seats", scope="shared", interval_us=10 * SECOND_US)
LOADED = settings(observe=("r1m",))


def poll(world: World, host: str, *values: tuple[str, Any, int]) -> Poll:
    return Poll(
        protocol=PROTOCOL, host=host, incarnation=world.state.hosts[host].incarnation, epoch=1,
        stamp=0, observed=Observed(values=values),
    )  # fmt: skip


# -- which columns --------------------------------------------------------------------------------


def test_where_nothing_is_named_there_is_no_tick() -> None:
    world = lab(1)
    assert named_columns(world.state) == ()
    assert tick(world, sample("n1", r1m=500)) is None
    observing = Observing(world.state)
    observing.hear(poll(world, "n1", ("r1m", 0.5, 0)), world.now_us)
    assert observing.due(world.now_us) == []


@pytest.mark.parametrize(
    ("resreq", "columns"),
    [
        ("select[r1m<0.5 && ut<0.2]", ("r1m", "ut")),
        ("select[swap>100]", ("swp",)),
        ("select[ncpus>2]", ()),
        ("select[mem>100]", ()),
        ("rusage[mem=100]", ()),
        ("select[type==any] rusage[tmp=5]", ("tmp",)),
        ("rusage[r1m=0.5]", ()),
    ],
)
def test_waiting_work_names_what_it_selects_by_and_what_only_reports_tell(
    resreq: str, columns: tuple[str, ...]
) -> None:
    world = lab(1, slots=1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    world.step([job(resreq=resreq)])
    assert named_columns(world.state) == columns


def test_members_of_gangs_name_columns_too() -> None:
    world = lab(1)
    world.step([gang(role("a", 2, resreq="select[ut<0.1]"))])
    assert named_columns(world.state) == ("ut",)


def test_queues_and_the_policy_name_columns_without_any_work() -> None:
    queue = QueueConfig(name="q", default_resreq="select[it>10] order[ut] rusage[mem=1]")
    world = lab(1, config=settings(queues=(QueueConfig(name="normal"), queue), observe=("pg",)))
    assert named_columns(world.state) == ("it", "pg", "ut")


def test_the_policy_has_ticks_carry_also_what_hosts_count_themselves() -> None:
    world = lab(1, config=settings(observe=("mem",)))
    assert named_columns(world.state) == ("mem",)


def test_a_column_that_nobody_names_any_more_is_dropped() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=500))
    world.ask_body(c.LoadConfig(actor=BOSS, config=settings(), digest="none"))
    written = tick(world)
    assert written is not None
    assert (written.dropped, known(world)) == (("r1m",), {})


# -- what is written ------------------------------------------------------------------------------


def test_the_first_tick_tells_all_and_an_equal_one_writes_nothing() -> None:
    world = lab(2, config=settings(observe=("r1m", "ut")))
    samples = sample("n1", r1m=500, ut=100), sample("n2", r1m=1200, ut=None)
    written = tick(world, *samples)
    assert written is not None
    assert written.columns == ("r1m", "ut")
    assert [(one.of, one.moves) for one in written.changes] == [
        ("n1", ((0, 500), (1, 100))),
        ("n2", ((0, 1200),)),
    ]
    assert known(world) == {"n1": {"r1m": 500, "ut": 100}, "n2": {"r1m": 1200}}
    assert tick(world, *samples) is None


def test_only_what_left_its_dead_band_is_told_again() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=3200))
    assert tick(world, sample("n1", r1m=3390)) is None
    written = tick(world, sample("n1", r1m=3400))
    assert written is not None
    assert known(world) == {"n1": {"r1m": 3400}}


def test_a_value_that_is_unknown_now_is_not_in_the_state() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=500))
    written = tick(world, sample("n1", r1m=None))
    assert written is not None
    assert written.changes[0].moves == ((0, None),)
    assert known(world) == {}


def test_what_is_not_named_is_not_taken_from_a_sample() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=500, ut=900))
    assert known(world) == {"n1": {"r1m": 500}}


def test_texts_are_told_whenever_they_differ() -> None:
    level = TypeConfig(name="osrel", layer="attribute", kind="string", interval_us=SECOND_US)
    world = lab(1, config=settings(types=(level,), observe=("osrel",)))
    tick(world, sample("n1", osrel="el9"))
    assert tick(world, sample("n1", osrel="el9")) is None
    tick(world, sample("n1", osrel="el10"))
    assert known(world) == {"n1": {"osrel": "el10"}}


def test_nobody_but_the_controller_ticks() -> None:
    world = lab(1, config=LOADED)
    answer = world.ask(c.TakeTick(actor=ANNA, samples=(sample("n1", r1m=1),)))
    assert isinstance(answer, Rejection)


def test_a_new_leader_takes_nothing_heard_before_as_evidence() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=500))
    world.change_leader()
    assert known(world) == {}


def test_a_cut_holds_what_ticks_said() -> None:
    world = lab(1, config=LOADED)
    tick(world, sample("n1", r1m=500))
    world.cut()
    world.step([job()])
    from xce.controller.recover import recover

    state, _ = recover(world.writer.log)
    assert {of: dict(one.values) for of, one in state.observed.items()} == known(world)


# -- what sessions see ----------------------------------------------------------------------------


def test_a_session_sees_columns_with_what_is_known() -> None:
    world = lab(3, config=settings(observe=("r1m", "swp")))
    tick(world, sample("n1", r1m=500, swp=64 * MB), sample("n3", r1m=0))
    seen = world.sessions._viewer.snapshot(world.now_us).observed
    assert sorted(seen) == ["r1m", "swp"]
    assert (seen["r1m"].values.tolist(), seen["r1m"].known.tolist()) == (
        [500, 0, 0], [True, False, True],
    )  # fmt: skip
    assert seen["swp"].values.tolist() == [64 * MB, 0, 0]


def test_columns_are_made_anew_only_when_a_tick_changed_them() -> None:
    world = lab(2, config=LOADED)
    tick(world, sample("n1", r1m=500))
    viewer = world.sessions._viewer
    first = viewer.snapshot(world.now_us).observed
    assert viewer.snapshot(world.now_us).observed is first
    tick(world, sample("n1", r1m=900))
    assert viewer.snapshot(world.now_us).observed["r1m"].values.tolist() == [900, 0]
    assert first["r1m"].values.tolist() == [500, 0]
    world.change_leader()
    assert world.sessions._viewer.snapshot(world.now_us).observed == {}


def test_a_tick_makes_waiting_work_worth_looking_at_and_plans_name_it() -> None:
    world = lab(1, config=LOADED)
    world.submit(job(tasks=99))
    assert not world.sessions.wanted()
    tick(world, sample("n1", r1m=500))
    lsn = world.state.lsn
    assert world.sessions.wanted()
    world.submit(job())
    planned = [one.body for one in world.records if isinstance(one.body, Planned)]
    assert [one.tick_lsn for one in planned] == [lsn]


def test_the_total_of_a_reported_pool_is_unknown_and_so_nothing_until_it_is_told() -> None:
    pool = PoolConfig(type="seats", reported=True)
    world = lab(2, config=settings(types=(SEATS,), pools=(pool,)))
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    for _ in range(2):
        world.submit(job(resreq="rusage[seats=2]"))
    world.run(SECOND_US)
    assert [one.state for one in world.state.jobs.values()] == ["PENDING", "PENDING"]
    tick(world, sample("seats@1", seats=3))
    world.run(SECOND_US)
    assert [one.state for one in world.state.jobs.values()] == ["RUNNING", "PENDING"]
    tick(world, sample("seats@1", seats=4))
    world.run(SECOND_US)
    assert [one.state for one in world.state.jobs.values()] == ["RUNNING", "RUNNING"]
    assert world.state.index.pooled == {"seats@1": 4}


# -- what the loop gathers ------------------------------------------------------------------------


def gathered(observing: Observing, now_us: int) -> dict[str, dict[str, object]]:
    found = [one for each in observing.due(now_us) for one in each.samples]
    return {one.of: dict(one.values) for one in found}


def test_the_newest_poll_wins_and_ticks_are_five_seconds_apart() -> None:
    world = lab(2, config=LOADED)
    observing, now = Observing(world.state), world.now_us
    observing.hear(poll(world, "n1", ("r1m", 0.5, 0)), now)
    observing.hear(poll(world, "n1", ("r1m", 0.75, 0), ("nothing", 1, 0)), now)
    assert gathered(observing, now) == {"n1": {"r1m": 750}, "n2": {"r1m": None}}
    assert observing.due(now + 4 * SECOND_US) == []
    assert len(observing.due(now + 5 * SECOND_US)) == 1


def test_a_value_older_than_its_time_to_live_is_unknown() -> None:
    world = lab(1, config=LOADED)
    observing, now = Observing(world.state), world.now_us
    observing.hear(poll(world, "n1", ("r1m", 0.5, 40 * SECOND_US)), now)
    assert gathered(observing, now + 5 * SECOND_US) == {"n1": {"r1m": 500}}
    assert gathered(observing, now + 10 * SECOND_US) == {"n1": {"r1m": None}}


def test_an_old_incarnation_is_not_heard() -> None:
    world = lab(1, config=LOADED)
    observing = Observing(world.state)
    said = poll(world, "n1", ("r1m", 0.5, 0))
    world.agents["n1"].reboot()
    world.up()
    world.run(10 * SECOND_US)
    observing.hear(said, world.now_us)
    assert gathered(observing, world.now_us) == {"n1": {"r1m": None}}


def test_a_pool_is_told_by_the_first_of_its_hosts_that_knows() -> None:
    pools = (PoolConfig(type="seats", hosts=("all", "~n1"), reported=True),)
    world = lab(3, config=settings(types=(SEATS,), pools=pools))
    observing, now = Observing(world.state), world.now_us
    observing.hear(poll(world, "n1", ("seats", 9, 0)), now)
    observing.hear(poll(world, "n3", ("seats", 7, 0)), now)
    assert gathered(observing, now) == {"seats@1": {"seats": 7}}


def test_no_ticks_where_the_interval_is_nothing() -> None:
    world = lab(1, config=settings(observe=("r1m",), tick_interval_us=0))
    observing = Observing(world.state)
    observing.hear(poll(world, "n1", ("r1m", 0.5, 0)), world.now_us)
    assert observing.due(world.now_us) == []


# -- the grid and the band ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "told", "value"),
    [
        ("r1m", 0.123, 120),
        ("r1m", "1.50", 1500),
        ("ut", 0.998, 1000),
        ("ls", 3, 3),
        ("it", 2.4, 2),
        ("mem", 1000, 1008 * MB),
        ("mem", "4GB", 4096 * MB),
        ("mem", "much", None),
        ("r1m", "much", None),
        ("r1m", float("nan"), None),
        ("r1m", 1e300, 10 * ((1 << 62) // 10)),
    ],
)
def test_values_lie_on_the_grid_of_their_type(
    name: str, told: float | str, value: int | None
) -> None:
    found = read_value(BUILT_IN[name], told)
    assert found == value if value is None or value < 1 << 60 else abs((found or 0) - value) < 1024


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("r1m", 0, 10, True),
        ("r1m", 100, 110, False),
        ("r1m", 100, 120, True),
        ("r1m", 10_000, 10_600, False),
        ("r1m", 10_000, 10_630, True),
        ("ls", 3, 4, True),
        ("ls", 100, 105, False),
        ("ls", 100, 106, True),
        ("mem", 160 * MB, 176 * MB, False),
        ("mem", 160 * MB, 192 * MB, True),
        ("mem", 16, 0, True),
    ],
)
def test_a_change_counts_beyond_the_dead_band(name: str, old: int, new: int, told: bool) -> None:
    assert moved(BUILT_IN[name], old, new) is told


def test_settings_of_an_older_log_have_ticks_of_five_seconds() -> None:
    assert Config().tick_interval_us == 5 * SECOND_US
