"""[backfill], [preemption] and what queues say of both, with line numbers."""

from pathlib import Path

import pytest

from xce.controller.core.time.policies import time_policies
from xce.model.config import BackfillConfig, Config, PreemptionConfig
from xce.ops.config.file import ConfigFaulty, read_site
from xce.scheduler.time.terms import TimePolicy

SECOND_US = 1_000_000


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "xce.toml"
    path.write_text(text)
    return read_site(path).config


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigFaulty) as faulty:
        read(tmp_path, text)
    return [fault.text("xce.toml") for fault in faulty.value.faults]


def test_all_that_can_be_said(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        """
[backfill]
policy = "conservative"
depth = 20
look = 500
patience = "5m"
[preemption]
action = "checkpoint"
min_run = "2m"
max_times = 1
signal = "SIGUSR1"
grace = "30s"
patience = "1m"
[[queues]]
name = "normal"
priority = 30
[[queues]]
name = "high"
priority = 50
preemptive = ["normal"]
backfill = "none"
[[queues]]
name = "low"
priority = 10
preemptable = ["high"]
backfill_depth = 3
""",
    )
    assert config.backfill == BackfillConfig(
        policy="conservative", depth=20, look=500, patience_us=300 * SECOND_US
    )
    assert config.preemption == PreemptionConfig(
        action="checkpoint", min_run_us=120 * SECOND_US, times_max=1, signal="SIGUSR1",
        grace_us=30 * SECOND_US, patience_us=60 * SECOND_US,
    )  # fmt: skip
    assert time_policies(config) == {
        "": TimePolicy(policy="conservative", depth=20, look=500),
        "high": TimePolicy(policy="none", depth=0, look=500, scope="high"),
        "low": TimePolicy(policy="conservative", depth=3, look=500, scope="low"),
    }


def test_what_is_not_said_is_easy_with_one_head_and_nobody_gives_way() -> None:
    config = Config()
    assert time_policies(config) == {"": TimePolicy(policy="easy", depth=1, look=1000)}
    assert all(not queue.preemptive and not queue.preemptable for queue in config.queues)


def test_faults_name_their_line(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        """[backfill]
policy = "eager"
[preemption]
action = "kill"
[[queues]]
name = "normal"
priority = 30
preemptive = ["other"]
[[queues]]
name = "high"
priority = 50
preemptable = ["normal"]
""",
    )
    assert [line.split(":")[1] for line in found] == ["2", "4", "8", "12"]
    assert "none or easy or conservative or strict" in found[0]
    assert "requeue or suspend or checkpoint" in found[1]
    assert "there is no queue 'other'" in found[2]
    assert "whose priority is not larger" in found[3]
