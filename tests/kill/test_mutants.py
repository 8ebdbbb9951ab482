"""Planted faults: each must make the kill runs (or the damaged logs) fail, for the right reason.

Two of them run in CI; the rest on demand, with XCE_MUTANTS=all.
"""

import os
import re

import pytest
from msgspec import structs

from tests.kill.damage import older_copy_refused
from tests.kill.mutant import MUTANTS
from tests.kill.one import Plan, run_one

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.kill]
NEVER = 1_000_000
BASE = Plan(
    part="controller", point="log.written", arrival=NEVER, seed="mutant", jobs=12, bound_s=20.0
)
FOUND = {
    "answer_before_commit": r"which the log does not have|which is job-|was never planned",
    "go_before_pass": r"left a mark .* before it was let go|left a mark and was never let go",
    "attachments_not_awaited": r"passed, attachment \d+ is PROVISIONING",
    "launches_not_awaited": r"passed, launch \d+ is PREPARING",
    "hosts_not_asked": r"passed, host n\d is JOINING",
    "keys_forgotten": r"was answered with \w+, then with",
    "exec_before_started": r"left a mark, and its host says that it never ran",
}
PLANS = {
    "answer_before_commit": {"arrival": 20, "jobs": 50},
    "go_before_pass": {"bound_s": 8.0},
    "hosts_not_asked": {"point": "after_commit", "arrival": 40},
    "exec_before_started": {
        "part": "supervisor",
        "point": "launch.before_started",
        "arrival": 2,
    },
}
IN_CI = ("attachments_not_awaited", "exec_before_started")
ALL = os.environ.get("XCE_MUTANTS") == "all"


def test_every_mutant_has_a_test() -> None:
    assert {*FOUND, "anchor_skipped"} == set(MUTANTS)


@pytest.mark.parametrize("name", [name for name in FOUND if ALL or name in IN_CI])
def test_a_kill_run_finds_the_mutant(name: str) -> None:
    result = run_one(structs.replace(BASE, mutant=name, **PLANS.get(name, {})))
    breaches = "\n".join(result.finding.faults)
    assert re.search(FOUND[name], breaches), breaches


def test_without_a_mutant_the_same_run_is_clean() -> None:
    assert run_one(structs.replace(BASE, arrival=5)).finding.faults == []


@pytest.mark.skipif(not ALL, reason="the other mutants run on demand: XCE_MUTANTS=all")
def test_without_an_anchor_an_older_copy_would_be_taken() -> None:
    with pytest.raises(AssertionError, match="the damaged log is taken"):
        older_copy_refused("anchor_skipped", bound_s=10.0)
