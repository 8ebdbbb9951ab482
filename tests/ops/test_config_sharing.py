"""Users, shares, limits, orders and windows in xce.toml, and every fault with its place."""

import pwd
from pathlib import Path

import pytest

from xce.model.config import LimitConfig, ShareTree, UserConfig, UserGroup
from xce.model.config.windows import Window, WindowError, is_open, next_edge, parse_window
from xce.ops.config import sharing
from xce.ops.config.file import ConfigFaulty, Site, read_site
from xce.ops.config.kinds import Field

GB = 1 << 30
ROOT = pwd.getpwuid(0).pw_name


def site(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "xce.toml"
    path.write_text(text)
    return read_site(path)


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigFaulty) as faulty:
        site(tmp_path, text)
    return [fault.text("xce.toml") for fault in faulty.value.faults]


def test_shares_groups_and_limits_become_what_they_say(tmp_path: Path) -> None:
    config = site(
        tmp_path,
        f"""
        [[queues]]
        name = "normal"
        users = ["eng", "~1003"]
        hosts = ["all", "~n1"]
        job_limit = 10
        user_job_limit = 4
        processor_job_limit = 0.5
        dispatch_window = ["8:00-18:00"]
        order = ["smallest", "fairshare", "fcfs"]
        [[user_groups]]
        name = "eng"
        members = [1000, "1001", "{ROOT}"]
        shares = {{1000 = 3, default = 1}}
        [[shares]]
        name = "main"
        queues = ["normal"]
        shares = {{eng = 10, "eng@" = 2, others = 1}}
        history = "10h"
        run_job_factor = 1.5
        [[limits]]
        name = "cards"
        per_user = ["all"]
        projects = ["red"]
        slots = 5
        mem = "64GB"
        resources = {{gpu = 2}}
        [[users]]
        name = "default"
        max_jobs = 8
        max_pend_jobs = 100
        [policies]
        job_priority_over_time = "2/10m"
        max_user_priority = 100
        """,
    ).config
    (queue,) = config.queues
    assert (queue.users, queue.hosts) == (("@eng", "~1003"), ("all", "~n1"))
    assert (queue.job_limit, queue.user_job_limit, queue.processor_job_limit) == (10, 4, 500)
    assert queue.order == ("smallest", "fairshare", "fcfs")
    assert config.user_groups == (
        UserGroup(name="eng", members=("1000", "1001", "0"), shares=(("1000", 3), ("default", 1))),
    )
    assert config.share_trees == (
        ShareTree(
            name="main", queues=("normal",), shares=(("@eng", 10), ("eng@", 2), ("others", 1)),
            history_us=36_000_000_000, run_job_factor=1500,
        ),
    )  # fmt: skip
    assert config.limits == (
        LimitConfig(
            name="cards", per_user=("all",), projects=("red",),
            amounts=(("slots", 5), ("mem", 64 * GB), ("gpu", 2)),
        ),
    )  # fmt: skip
    assert config.users == (UserConfig(who="default", max_slots=8, max_pending_jobs=100),)
    assert (config.age_add, config.age_every_us, config.priority_max) == (2, 600_000_000, 100)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[user_groups]]\nname = "g"\nmembers = ["nobody-here"]\n', "3:1: 'nobody-here' is no"),
        ('[[queues]]\nname = "q"\nusers = ["no-one"]\n', "3:1: 'no-one' is no user"),
        ('[[shares]]\nname = "t"\nqueues = ["none"]\n', "3:1: there is no queue 'none'"),
        ('[[limits]]\nname = "l"\n', "1:1: the limit 'l' limits nothing; say slots"),
        (
            '[[limits]]\nname = "l"\nslots = 1\nusers = [1]\nper_user = ["all"]\n',
            "5:1: a limit says either users or per_user",
        ),
        (
            '[[limits]]\nname = "l"\nslots_per_processor = 0.5\n',
            "1:1: slots_per_processor counts each host",
        ),
        ('[policies]\norder = ["best"]\n', "2:1: policies.order: expected a list of orders"),
        ('[policies]\njob_priority_over_time = "x"\n', "2:1: policies.job_priority_over_time"),
        (
            '[[queues]]\nname = "q"\nrun_window = ["25:00-3:00"]\n',
            "3:1: queues[0].run_window: expected windows of [day:]hour[:minute]",
        ),
        ('[[queues]]\nname = "q"\nhosts = ["n1+2"]\n', "3:1: queues[0].hosts: expected a name"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    found = [one for one in faults(tmp_path, text) if "no queue 'normal'" not in one]
    assert len(found) == 1
    assert found[0].startswith(f"xce.toml:{told}"), found


# -- windows --------------------------------------------------------------------------------------


def at(day: int, hour: int, minute: int = 0) -> int:
    return (day * 24 + hour) * 60 + minute


def test_a_window_of_the_day_may_go_over_midnight() -> None:
    assert parse_window("20:00-8:30") == Window(1200, 510, 1440)
    night = ("20:00-8:30",)
    assert [is_open(night, at(2, hour)) for hour in (7, 9, 19, 20)] == [True, False, False, True]


def test_two_numbers_are_an_hour_and_a_minute_at_any_hour() -> None:
    for hour in range(24):
        assert parse_window(f"{hour}:05-{hour}:40") == Window(hour * 60 + 5, hour * 60 + 40, 1440)
    assert parse_window("1:00-5") == Window(60, 300, 1440)
    assert parse_window("1:5:30-sat:7") == Window(at(1, 5) + 30, at(6, 7), 7 * 1440)
    for wrong in ("7:60-8:00", "8:1:00-9:1:00", "1:00-5:1:00", "1:2:3:4-5", "\u0661:00-2:00"):
        with pytest.raises(WindowError):
            parse_window(wrong)


def test_a_window_of_the_week_may_go_over_its_end() -> None:
    weekend = ("fri:18-mon:8:00",)
    assert parse_window(weekend[0]) == Window(at(5, 18), at(1, 8), 7 * 1440)
    assert is_open(weekend, at(0, 12))
    assert is_open(weekend, at(6, 3))
    assert not is_open(weekend, at(1, 8))
    assert parse_window("7:0:00-0:24:00") == parse_window("sun:0-sun:24")


def test_the_next_edge_is_where_it_changes() -> None:
    both = ("8:00-12:00", "12:00-18:00")
    assert next_edge(both, at(3, 7)) == 60
    assert next_edge(both, at(3, 9)) == 9 * 60
    assert next_edge((), 5) == 7 * 1440


# -- the pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "known"),
    [
        ("fairshare", sharing.SHARE_TREE),
        ("limits", sharing.LIMIT),
        ("limits", sharing.USER),
        ("queues", sharing.QUEUE_SHARES),
    ],
)
def test_a_page_has_every_field(page: str, known: dict[str, Field]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "reference" / f"{page}.md").read_text()
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    told = {word for cell in first for word in cell.replace("`", "").replace(",", " ").split()}
    assert [name for name in known if name not in told] == []
