"""Dependencies and job groups with real processes, over a kill of everything, on both databases."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ops.test_life_of_jobs import attempts, submit
from tests.ops.xce_up import Service, until, xce
from xce.ops.talk import ask

pytestmark = [pytest.mark.processes, pytest.mark.slow]
Serve = Callable[..., Service]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the database."""
    if request.param == "sqlite":
        return []
    return ["--database", request.getfixturevalue("postgres_url")]


def test_what_was_latched_and_limited_before_a_kill_is_so_after_it(
    serve: Serve, home: Path, database: list[str]
) -> None:
    up = serve(*database)
    up.ready()
    ask(up.home, "POST", "/v1/job-groups", {"path": "/a", "limit": 1})
    first = submit(up, "true", name="first")
    up.await_state(first, "DONE")
    slow = submit(up, "sleep 4", name="slow")
    last = submit(up, "echo ran >> mark", after="done(first) && done(slow)")
    holds = submit(up, "sleep 60", job_group="/a/x")
    blocked = submit(up, "sleep 60", job_group="/a/y")
    never = submit(up, "true", after=f"exit({first})", end_if_impossible=True)
    assert up.await_state(never, "EXITED")["exit"]["reason"] == "dependency"
    up.await_state(slow, "RUNNING")
    up.await_state(holds, "RUNNING")
    up.kill()
    again = serve(*database)
    again.ready()
    told = ask(again.home, "GET", f"/v1/jobs/{last}")["dependency"]
    verdicts = [one["verdict"] for one in told["conditions"]]
    assert verdicts in (["holds", "waits"], ["holds", "holds"])
    again.await_state(last, "DONE")
    assert attempts(home) == ["ran"]
    why = until(lambda: ask(again.home, "GET", f"/v1/jobs/{blocked}")["reason"], "it says why")
    assert why["code"] == "job_group_limit"
    ask(again.home, "POST", f"/v1/jobs/{holds}/kill", {})
    again.await_state(blocked, "RUNNING")
    (group,) = ask(again.home, "GET", "/v1/job-groups")["items"][:1]
    assert (group["path"], group["started"], group["limit"]) == ("/a", 1, 1)
    again.stop()
    assert xce("db", "verify", "--home", home, *database).returncode == 0
