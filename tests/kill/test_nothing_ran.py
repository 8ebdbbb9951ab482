"""Gangs that cannot start: nothing of the user's is executed, all is given back, the reason names
the culprit."""

import pytest

from tests.kill.client import ask, get
from tests.kill.processes import await_true
from tests.kill.scenes import SOON_S, Stage, stage
from tests.kill.work import gang, gpus, job, role

pytestmark = [pytest.mark.processes, pytest.mark.slow]
ONCE = {"max": 0, "first": "1s", "factor": 1, "cap": "1s"}


def gate(**parameters: str) -> dict[str, object]:
    return {"name": "gate", "type": "static", "parameters": parameters}


def assert_nothing_ran(set_up: Stage, *, starts: int) -> None:
    """No mark, nothing let go by the journals and the log, nothing held, no process left."""
    assert set_up.marked() == []
    tale = set_up.end()
    assert set_up.started() == []
    assert (tale.gos, len(tale.failed), len(tale.broken)) == ({}, starts, 0)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"hang": "1"}, "claim gate (c1) on n1 is PROVISIONING, not READY"),
        ({"fail": "no licence left"}, "no licence left"),
    ],
)
def test_a_gang_whose_attachment_does_not_become_ready_runs_nothing(
    parameters: dict[str, str], why: str
) -> None:
    with stage(hosts=2) as set_up:
        roles = [role("lead", 1, 0.0, claims=[gate(**parameters)]), role("rest", 4, 0.0)]
        piece = gang("stuck", set_up.marks, roles, start_retries=ONCE, barrier_timeout="2s")
        told = set_up.await_over(set_up.submit(piece))
        assert (told["state"], told["reason"]) == ("EXITED", "start_failed")
        assert why in told["last_failure"]
        set_up.await_free()
        assert_nothing_ran(set_up, starts=1)


def test_a_gang_whose_host_dies_while_armed_runs_nothing_and_names_the_host() -> None:
    quick = 'suspect_after = "1s"\nhost_grace = "2s"'
    with stage(hosts=2, policies=quick, poll_ms=200) as set_up:
        roles = [
            role("lead", 1, 0.0, claims=[{**gate(hang="1")}, gpus(3)]),
            role("rest", 1, 0.0, claims=[gpus(3)]),
        ]
        piece = gang("orphaned", set_up.marks, roles, start_retries=ONCE)
        group = set_up.submit(piece)
        await_true(lambda: _armed(set_up, group) == 2, SOON_S, "they are not ARMED")
        placed = {one["host"] for one in set_up.launches(group)}
        assert placed == {"n1", "n2"}
        set_up.cluster.kill_host("n2")
        told = set_up.await_over(group)
        assert (told["state"], told["reason"]) == ("EXITED", "start_failed")
        assert told["last_failure"] == "host_down: host n2: host down"
        set_up.cluster.revive_host("n2")
        set_up.await_free()
        assert_nothing_ran(set_up, starts=1)


def _armed(set_up: Stage, group: str) -> int:
    return sum(one["state"] == "ARMED" for one in set_up.launches(group))


def test_a_gang_with_a_member_that_cannot_fit_holds_nothing_and_says_which() -> None:
    with stage(hosts=2) as set_up:
        taken = set_up.submit(
            job("taken", set_up.marks, sleep=600, resreq="rusage[ngpus_physical=3]")
        )
        await_true(lambda: len(set_up.marked()) == 1, SOON_S, "the first job does not run")
        roles = [role("small", 1, 0.0), role("large", 2, 0.0, claims=[gpus(4)])]
        group = set_up.submit(gang("too-large", set_up.marks, roles))
        await_true(lambda: bool(_reason(set_up, group)), SOON_S, "no reason is given")
        assert "2 members of role large" in _reason(set_up, group)
        assert set_up.launches(group) == []
        for path in (f"/v1/groups/{group}/kill", f"/v1/jobs/{taken}/kill"):
            assert ask(set_up.home, "POST", path, {})[0] == 202
        assert set_up.await_over(group)["state"] == "EXITED"
        set_up.await_free()
        marks = set_up.marked()
        tale = set_up.end()
        assert [str(mark.job) for mark in marks] == [taken]
        assert len(tale.gos) == 1


def _reason(set_up: Stage, group: str) -> str:
    told = get(set_up.home, f"/v1/groups/{group}/explain") or {}
    return str((told.get("reason") or {}).get("text", ""))
