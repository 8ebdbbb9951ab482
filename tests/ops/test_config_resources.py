"""Types, pools and reporters in xce.toml: what they mean, and every fault with its place."""

from pathlib import Path

import pytest

from xce.agent.settings import Reporter
from xce.model.config import SECOND_US, PoolConfig, TypeConfig
from xce.model.resources import BUILT_IN
from xce.ops.config import fields
from xce.ops.config.file import ConfigFaulty, Site, read_site
from xce.ops.config.kinds import Field

GB = 1 << 30


def site(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "xce.toml"
    path.write_text(text)
    return read_site(path)


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigFaulty) as faulty:
        site(tmp_path, text)
    return [fault.text("xce.toml") for fault in faulty.value.faults]


def test_every_field_of_a_type_is_read(tmp_path: Path) -> None:
    found = site(
        tmp_path,
        """
        levels = ["host", "block"]
        [[types]]
        name = "nvme"
        layer = "instance"
        kind = "instance"
        provider = "exec"
        provision = true
        sharing = 4
        level = "block"
        description = "a drive"
        [[types]]
        name = "inlet"
        unit = ""
        scale = 10
        direction = "increasing"
        consumable = false
        release_on_suspend = false
        interval = "30s"
        ttl = "2m"
        [[types]]
        name = "cache"
        unit = "bytes"
        draws_on = "scratch"
        """,
    ).config.types
    assert found == (
        TypeConfig(
            name="nvme", layer="instance", kind="instance", provider="exec", provision=True,
            sharing=4, level="block", description="a drive",
        ),
        TypeConfig(
            name="inlet", scale=10, direction="increasing", consumable=False,
            release_on_suspend=False, interval_us=30 * SECOND_US, ttl_us=120 * SECOND_US,
        ),
        TypeConfig(name="cache", unit="bytes", draws_on="scratch"),
    )  # fmt: skip


SEATS = '[[types]]\nname = "seats"\nscope = "shared"\ninterval = "10s"\n'


def test_pools_lie_over_disjoint_hosts_and_get_their_numbers_as_labels(tmp_path: Path) -> None:
    text = """
        [[types]]
        name = "quota"
        unit = "bytes"
        scope = "shared"
        [[pools]]
        type = "seats"
        hosts = ["n1", "n2"]
        amount = 5
        [[pools]]
        type = "seats"
        label = "rest"
        hosts = ["others"]
        reported = true
        [[pools]]
        type = "quota"
        hosts = ["~n1"]
        amount = "2GB"
        """
    assert site(tmp_path, SEATS + text).config.pools == (
        PoolConfig(type="seats", label="1", hosts=("n1", "n2"), amount=5),
        PoolConfig(type="seats", label="rest", hosts=("others",), reported=True),
        PoolConfig(type="quota", label="1", hosts=("all", "~n1"), amount=2 * GB),
    )


def test_reporters_run_where_they_say(tmp_path: Path) -> None:
    text = """
        [[reporters]]
        name = "licences"
        command = ["/opt/elim", "-q"]
        types = ["seats"]
        hosts = ["n1", "n2"]
        interval = "30s"
        timeout = "1m"
        [[reporters]]
        name = "disks"
        command = ["elim.disk"]
        types = ["tmp"]
        hosts = ["~n1"]
        """
    first, second = site(tmp_path, SEATS + text).reporters
    assert first == Reporter(
        name="licences", command=("/opt/elim", "-q"), types=("seats",), hosts=("n1", "n2"),
        interval_us=30 * SECOND_US, timeout_us=60 * SECOND_US,
    )  # fmt: skip
    assert [first.runs_on(name) for name in ("n1", "n3")] == [True, False]
    assert [second.runs_on(name) for name in ("n1", "n3")] == [False, True]


def test_ticks_are_settings(tmp_path: Path) -> None:
    config = site(tmp_path, '[policies]\ntick_interval = "1m"\nobserve = ["ut"]\n').config
    assert (config.tick_interval_us, config.observe) == (60 * SECOND_US, ("ut",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[types]]\nname = "2x"\n', "2:1: '2x' cannot name a type: 29 letters, digits and _"),
        ('[[types]]\nname = "t"\nlayer = "counte"\n', "3:1: layer: expected attribute or counter"),
        ('[[types]]\nname = "t"\nunit = "GB"\n', "3:1: unit: expected 'bytes' for sizes"),
        ('[[types]]\nname = "t"\n\nlevel = "rack"\n', "4:1: there is no level 'rack'"),
        ('[[types]]\nname = "t"\nsharing = 0\n', "3:1: sharing: expected a number from 1 on"),
        ('[[types]]\nname = "t"\nttl = "9s"\n', "3:1: ttl: a value that is never reported"),
        ('[[types]]\nname = "t"\ninterval = 5\n', "3:1: types[0].interval: expected a duration"),
        (
            '[[types]]\nname = "t"\nlayer = "attribute"\nkind = "instance"\n',
            "4:1: kind: a type of layer attribute is of kind boolean or string or number",
        ),
        ('[[types]]\nname = "t"\n[[types]]\nname = "t"\n', "3:1: there is a type 't' already"),
        (
            '[[pools]]\ntype = "mem"\namount = 1\n',
            "2:1: there is no shared type 'mem'; declare it with scope shared",
        ),
        (SEATS + '[[pools]]\ntype = "seets"\n', "6:1: there is no shared type 'seets'; did you"),
        (
            SEATS + '[[pools]]\ntype = "seats"\n[[pools]]\ntype = "seats"\nhosts = ["n1"]\n',
            "9:1: host n1 is in two pools of seats; take it out of one with ~NAME",
        ),
        (
            SEATS + '[[pools]]\ntype = "seats"\nreported = true\namount = 3\n',
            "8:1: amount: a reporter gives it",
        ),
        (SEATS + '[[pools]]\ntype = "seats"\nhosts = []\n', "7:1: pools[0].hosts: expected a list"),
        (
            '[[reporters]]\nname = "r"\ncommand = "elim"\n',
            '3:1: reporters[0].command: expected a list of words, like ["/opt/elim", "-v"]',
        ),
        (
            '[[reporters]]\nname = "r"\ncommand = ["e"]\ntypes = ["utt"]\n',
            "4:1: there is no type 'utt'; did you mean 'ut'?",
        ),
        (
            '[[types]]\nname = "t"\n[[reporters]]\nname = "r"\ncommand = ["e"]\ntypes = ["t"]\n',
            "6:1: the type 't' is not reported; give it an interval",
        ),
        ('[policies]\nobserve = ["ncpus"]\n', "2:1: nothing reports 'ncpus'"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    (found,) = faults(tmp_path, text)
    assert found.startswith(f"xce.toml:{told}"), found


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "resources.md").read_text()


@pytest.mark.parametrize("known", [fields.TYPE, fields.POOL, fields.REPORTER])
def test_the_page_has_every_field(known: dict[str, Field]) -> None:
    assert [name for name in known if f"| `{name}` |" not in PAGE] == []


def test_the_page_has_every_built_in_type_as_it_is() -> None:
    words = {"increasing": "more load", "decreasing": "more room", "none": "-"}
    for name, one in BUILT_IN.items():
        every = f"{one.interval_us // 1_000_000} s" if one.interval_us else "-"
        row = next(
            line for line in PAGE.splitlines() if line.startswith(f"| `{name}` | {one.layer}")
        )
        assert row.endswith(f"| {words[one.direction]} | {every} |")
