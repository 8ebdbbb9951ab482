"""xce.toml: what it means, and every fault with its line, column, and nearest known word."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from xce.model.config import (
    ApplicationConfig,
    Config,
    DependencyConfig,
    QueueConfig,
    RetryConfig,
    TypeConfig,
)
from xce.model.host import HostFacts
from xce.ops.config.emulate import overlay
from xce.ops.config.file import ConfigFaulty, Site, default_site, digest_of, read_site
from xce.ops.config.places import Places

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "clusters" / "dgx-4.toml"
GB = 1 << 30
Faults = Callable[[str], list[str]]


@pytest.fixture
def faults(tmp_path: Path) -> Callable[[str], list[str]]:
    def of(text: str) -> list[str]:
        path = tmp_path / "xce.toml"
        path.write_text(text)
        with pytest.raises(ConfigFaulty) as faulty:
            read_site(path)
        return [fault.text("xce.toml") for fault in faulty.value.faults]

    return of


def site(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "good.toml"
    path.write_text(text)
    return read_site(path)


def test_the_example_is_four_hosts_with_eight_gpus_in_two_nvlink_domains() -> None:
    found = read_site(EXAMPLE)
    assert found.config.levels == ("host", "nvlink", "block")
    assert [queue.name for queue in found.config.queues] == ["normal", "urgent"]
    assert list(found.emulated) == ["n1", "n2", "n3", "n4"]
    facts = found.emulated["n3"]
    assert facts.counters == (("mem", 64 * GB), ("scratch", 100 * GB), ("slots", 8))
    assert facts.domains == (("block", "b1"), ("nvlink", "nvl2"))
    assert facts.ports == (21040, 21059)
    assert [one.name for one in facts.instances] == [f"GPU-n3-{i}" for i in range(8)]
    assert dict(facts.instances[0].attributes) == {
        "mem": 80 * GB,
        "model": "H100",
        "uuid": "GPU-n3-0",
    }


def test_every_table_becomes_its_part_of_the_configuration(tmp_path: Path) -> None:
    found = site(
        tmp_path,
        f"""
        cluster = "c1"
        levels = ["nvlink", "host"]
        default_queue = "short"
        [[queues]]
        name = "short"
        priority = 40
        resreq = "rusage[mem=100]"
        active = false
        [[applications]]
        name = "fluent"
        description = "CFD"
        resreq = "rusage[mem=4GB] span[hosts=1]"
        [[applications]]
        name = "bare"
        [[types]]
        name = "seat"
        kind = "instance"
        layer = "instance"
        [policies]
        host_grace = "2m"
        priority = 10
        array_size_max = 5000
        start_retries = {{max = 1, first = "3s"}}
        [auth]
        operators = [{os.getuid()}, 4242]
        allow_root = true
        """,
    )
    assert found.config == Config(
        cluster="c1",
        levels=("nvlink", "host"),
        default_queue="short",
        queues=(
            QueueConfig(name="short", priority=40, default_resreq="rusage[mem=100]", active=False),
        ),
        applications=(
            ApplicationConfig(
                name="fluent", description="CFD", resreq="rusage[mem=4GB] span[hosts=1]"
            ),
            ApplicationConfig(name="bare"),
        ),
        types=(TypeConfig(name="seat", kind="instance", layer="instance"),),
        operators=tuple(sorted({os.getuid(), 4242})),
        allow_root=True,
        host_grace_us=120_000_000,
        priority_default=10,
        array_size_max=5000,
        start_retries=RetryConfig(max=1, first_us=3_000_000),
    )


def test_an_empty_file_is_the_default_and_comments_do_not_change_the_digest(
    tmp_path: Path,
) -> None:
    assert site(tmp_path, "").config == Config()
    assert site(tmp_path, "# nothing\n").digest == default_site().digest == digest_of(Config())
    assert site(tmp_path, 'cluster = "other"').digest != default_site().digest


def test_a_real_host_may_be_declared_with_gpus_in_parts_of_it(tmp_path: Path) -> None:
    found = site(
        tmp_path,
        """
        levels = ["nvlink", "host"]
        [[hosts]]
        name = "big"
        address = "10.0.0.7"
        amounts = {licences = 3}
        attributes = {type = "X86_64", ssd = true}
        [[hosts.gpus]]
        count = 1
        domains = {nvlink = "p0"}
        [[hosts.gpus]]
        count = 2
        domains = {nvlink = "p1"}
        """,
    )
    facts = found.declared["big"]
    assert found.emulated == {}
    assert facts.address == "10.0.0.7"
    assert facts.counters == (("licences", 3),)
    assert facts.attributes == (("ssd", True), ("type", "X86_64"))
    assert [dict(one.domains)["nvlink"] for one in facts.instances] == ["p0", "p1", "p1"]


def test_what_a_file_says_of_a_real_host_goes_over_what_is_measured() -> None:
    measured = HostFacts(
        counters=(("mem", 8), ("slots", 2)), attributes=(("type", "X86_64"),), ports=(20000, 20999)
    )
    declared = HostFacts(address="10.0.0.7", counters=(("slots", 64),), domains=(("block", "b1"),))
    assert overlay(measured, declared) == HostFacts(
        address="10.0.0.7",
        counters=(("mem", 8), ("slots", 64)),
        attributes=(("type", "X86_64"),),
        domains=(("block", "b1"),),
        ports=(20000, 20999),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'cluster = "x"\ndefalt_queue = "b"\n',
            "2:1: unknown field 'defalt_queue'; did you mean 'default_queue'?",
        ),
        (
            '[[queues]]\nname = "normal"\n\nprioritty = 3\n',
            "4:1: unknown field 'queues[0].prioritty'; did you mean 'priority'?",
        ),
        (
            '[[applications]]\nname = "a"\nresreqs = "mem>1"\n',
            "3:1: unknown field 'applications[0].resreqs'; did you mean 'resreq'?",
        ),
        (
            '[[applications]]\ndescription = "x"\n',
            "1:1: applications[0] needs the field 'name'",
        ),
        (
            '[[applications]]\nname = "a"\n\n[[applications]]\nname = "a"\n',
            "4:1: there is a profile 'a' already",
        ),
        (
            '[[applications]]\nname = "a"\n\nresreq = "select[a] rsuage[mem=1]"\n',
            (
                "4:1: applications[0].resreq: expected a resource requirement; "
                "column 11 of it: unknown section 'rsuage'; did you mean `rusage`?"
            ),
        ),
        (
            '[[queues]]\nname = "normal"\nresreq = "span[hosts=2]"\n',
            (
                "3:1: queues[0].resreq: expected a resource requirement; "
                "column 12 of it: span[hosts=] is 1 or -1, not 2"
            ),
        ),
        (
            '[policies]\nhost_grace = "60"\n',
            "2:1: policies.host_grace: expected a duration like 90s, 10m or 2h",
        ),
        (
            '[policies]\nstart_retries = {max = 3, frist = "1s"}\n',
            "2:27: unknown field 'policies.start_retries.frist'; did you mean 'first'?",
        ),
        (
            '[emulate]\nhosts = [\n  {name = "a", slots = 2},\n  {name = "b", slots = -1},\n]\n',
            "4:16: emulate.hosts[1].slots: expected a whole number from 0 on",
        ),
        (
            '[[emulate.hosts]]\nname = "a"\nmem = "64XB"\n',
            "3:1: emulate.hosts[0].mem: expected a size like 512MB or 4GB (a bare number is MB)",
        ),
        (
            'levels = ["host"]\n[[hosts]]\nname = "a"\ndomains = {rack = "r1"}\n',
            "4:12: there is no level 'rack'; levels are host",
        ),
        (
            "[[hosts]]\nslots = 1\n",
            "1:1: hosts[0] needs the field 'name'",
        ),
        (
            '[[hosts]]\nname = "n"\ncount = 3\n',
            "2:1: 3 hosts need a name with %d, like 'n%d'",
        ),
        (
            '[[hosts]]\nname = "n"\n[[hosts]]\nname = "n"\n',
            "4:1: there is a host 'n' already",
        ),
        (
            '[[hosts]]\nname = "a"\nports = [1, 9]\n[[hosts]]\nname = "b"\nports = [9, 20]\n',
            "6:1: hosts a and b share ports of 127.0.0.1",
        ),
        (
            '[[hosts]]\nname = "n%d"\ncount = 3\nports = [100, 101]\n',
            "4:1: 2 ports for 3 hosts",
        ),
        (
            'default_queue = "night"\n',
            "1:1: there is no queue 'night'; there is normal",
        ),
        (
            '[[queues]]\nname = "normal"\n[[queues]]\nname = "normal"\n',
            "3:1: there is a queue 'normal' already",
        ),
        (
            '[[types]]\nname = "mem"\n',
            "2:1: the type 'mem' is built in",
        ),
        (
            '[[types]]\nname = "t"\nscope = "rack"\n',
            "3:1: scope: expected host or shared",
        ),
        (
            '[auth]\noperators = ["no such user"]\n',
            "2:1: auth.operators: expected users of this machine, by name or uid; 'no such user'",
        ),
        (
            'levels = "host"\n',
            "1:1: levels: expected a list of names",
        ),
        (
            "queues = 3\n",
            "1:1: queues: a list of tables was expected",
        ),
        (
            'cluster = "x"\nlevels = [\n',
            "2:1: not TOML: ",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(faults: Faults, text: str, told: str) -> None:
    (found,) = faults(text)
    assert found.startswith(f"xce.toml:{told}")


def test_all_faults_are_told_in_the_order_of_their_lines(faults: Faults) -> None:
    found = faults('[auth]\nallow_root = 1\n[policies]\npriority = "x"\n[[hosts]]\nnaem = "n"\n')
    assert [fault.split(":")[1] for fault in found] == ["2", "4", "5", "6"]


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaulty, match=r"none\.toml:1:1: cannot be read: No such file"):
        read_site(tmp_path / "none.toml")


def test_places_know_strings_with_brackets_and_tables_in_tables() -> None:
    text = (
        'a = "x # [y"  # [z]\n'
        "b.c = '''\n[no]\nd = 1'''\n"
        '[t."q.r"]\n'
        "list = [1, {x = 2, y = [3]}, # {\n  4]\n"
        "[[t.u]]\nv = 1\n[t.u.w]\nz = 2\n[[t.u]]\nv = 3\n"
    )
    places = Places(text)
    assert places.of(("a",)) == (1, 1)
    assert places.of(("b", "c")) == (2, 1)
    assert places.of(("t", "q.r", "list", 1, "y")) == (6, 20)
    assert places.of(("t", "q.r", "list", 2)) == (7, 3)
    assert places.of(("t", "u", 0, "w", "z")) == (11, 1)
    assert places.of(("t", "u", 1, "v")) == (13, 1)
    assert places.of(("t", "u", 1, "nowhere", "at", "all")) == (12, 1)


def test_what_becomes_of_dependencies_is_read_and_judged(tmp_path: Path) -> None:
    path = tmp_path / "xce.toml"
    path.write_text('[dependencies]\nimpossible = "end"\nnames = "latest"\n')
    assert read_site(path).config.dependencies == DependencyConfig(impossible="end", names="latest")
    path.write_text('[dependencies]\nimpossible = "stop"\n')
    with pytest.raises(ConfigFaulty) as caught:
        read_site(path)
    assert "dependencies.impossible: expected keep or end" in str(caught.value)
