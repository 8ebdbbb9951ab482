"""The built-in resource types say what LSF's names mean here."""

import pytest

from xce.model.config import TypeConfig
from xce.model.need import Need
from xce.model.resources import (
    ALIASES,
    BUILT_IN,
    Direction,
    Kind,
    Layer,
    ResourceType,
    Scope,
    site_types,
)

LSF_NAMES = [
    *["r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem", "slots"],
    *["type", "model", "hname", "status", "ncpus", "ndisks", "maxmem", "maxswp", "maxtmp"],
    *["cpuf", "server", "rexpri", "maxslots", "ngpus", "ngpus_physical"],
    *["define_ncpus_procs", "define_ncpus_cores", "define_ncpus_threads"],
]


@pytest.mark.parametrize("name", [*LSF_NAMES, "scratch", "gpu", "port", "directory"])
def test_every_name_that_lsf_users_know_is_built_in(name: str) -> None:
    assert BUILT_IN[name].name == name


@pytest.mark.parametrize("name", ["mem", "swp", "tmp", "maxmem", "maxswp", "maxtmp", "scratch"])
def test_sizes_are_counted_in_bytes(name: str) -> None:
    assert BUILT_IN[name].unit == "bytes"


def test_load_goes_up_and_room_goes_down() -> None:
    loads = {"r15s", "r1m", "r15m", "ut", "pg", "io", "ls"}
    rooms = {"it", "tmp", "swp", "mem", "slots"}
    assert {BUILT_IN[name].direction for name in loads} == {Direction.INCREASING}
    assert {BUILT_IN[name].direction for name in rooms} == {Direction.DECREASING}


def test_a_load_index_is_stale_after_three_missed_reports() -> None:
    assert (BUILT_IN["tmp"].interval_us, BUILT_IN["tmp"].ttl_us) == (120_000_000, 360_000_000)
    assert BUILT_IN["ncpus"].interval_us == 0


def test_what_hosts_are_is_never_consumed() -> None:
    facts = [type_ for type_ in BUILT_IN.values() if type_.layer is Layer.ATTRIBUTE]
    assert len(facts) > 15
    assert not any(type_.consumable for type_ in facts)


def test_the_three_layers_have_their_examples() -> None:
    assert BUILT_IN["gpu"].layer is Layer.INSTANCE
    assert BUILT_IN["gpu"].kind is Kind.INSTANCE
    assert BUILT_IN["port"].kind is Kind.INTERVAL
    assert BUILT_IN["directory"].draws_on == "scratch"
    assert BUILT_IN["directory"].provision
    assert BUILT_IN["ngpus_physical"].stands_for == "gpu"
    assert {type_.scope for type_ in BUILT_IN.values()} == {Scope.HOST}


def test_other_names_lead_to_built_in_types() -> None:
    assert {ALIASES[name] for name in ("swap", "login", "idle", "cpu")} <= set(BUILT_IN)


def test_the_mapping_of_built_in_types_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        BUILT_IN["mem"] = BUILT_IN["swp"]  # type: ignore[index]


def test_an_empty_need_asks_for_nothing() -> None:
    need = Need()
    assert (need.select, need.span_hosts, need.ptile) == ("", 0, 0)
    assert need.per_task == need.per_host == need.per_job == need.instances == ()


def test_a_site_adds_types_of_its_own_to_the_built_in_ones() -> None:
    declared = (
        TypeConfig(name="lic", scope="shared"),
        TypeConfig(name="os", layer="attribute", kind="string"),
    )
    types = site_types(declared)
    assert types["mem"] == BUILT_IN["mem"]
    assert types["lic"] == ResourceType(
        name="lic", scope=Scope.SHARED, consumable=True, direction=Direction.DECREASING
    )
    assert types["os"] == ResourceType(name="os", layer=Layer.ATTRIBUTE, kind=Kind.STRING)
    assert site_types(()) is BUILT_IN


def test_a_suspended_job_keeps_what_a_stopped_process_keeps() -> None:
    kept = {name for name, one in BUILT_IN.items() if not one.release_on_suspend}
    assert kept == {
        "directory", "gpu", "mem", "ngpus_excl_p", "ngpus_excl_t", "ngpus_physical", "port",
        "scratch", "swp", "tmp",
    }  # fmt: skip
