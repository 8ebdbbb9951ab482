"""Standalone claims with real processes, over a kill of everything, on both databases."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ops.test_life_of_jobs import attempts, submit
from tests.ops.xce_up import Service, until, xce
from xce.ops.talk import ask

pytestmark = [pytest.mark.processes, pytest.mark.slow]
Serve = Callable[..., Service]
CLUSTER = """
levels = ["nvlink", "host"]
[[emulate.hosts]]
name = "n1"
slots = 4
mem = "1GB"
scratch = "1GB"
gpus = [{count = 4, model = "H100"}]
"""
SEES = "echo $XCE_CLAIM_DATA_ID $XCE_CLAIM_DATA_GENERATION $CUDA_VISIBLE_DEVICES > mark"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the database."""
    if request.param == "sqlite":
        return []
    return ["--database", request.getfixturevalue("postgres_url")]


def make(up: Service, name: str, type_: str, **more: Any) -> dict[str, Any]:
    """Make a claim once it can be had."""
    own = {key: more.pop(key) for key in ("count", "amount") if key in more}
    body = {"name": name, "requests": [{"type": type_, **own}], **more}

    def won() -> Any:
        told = ask(up.home, "POST", "/v1/claims", body)
        return told if told["outcome"] == "won" else None

    found: dict[str, Any] = until(won, f"claim {name} is won")
    return found


def show(home: Path, claim: str) -> dict[str, Any]:
    told: dict[str, Any] = ask(home, "GET", f"/v1/claims/{claim}")
    return told


def verified(home: Path, told: dict[str, Any]) -> bool:
    path = f"/v1/claims/{told['claim']}/verify?generation={told['generation']}"
    return bool(ask(home, "GET", path)["valid"])


def test_a_claim_and_its_consumer_outlive_a_kill_and_a_volume_outlives_its_jobs(
    serve: Serve, home: Path, database: list[str], tmp_path: Path
) -> None:
    cluster = tmp_path / "gpus.toml"
    cluster.write_text(CLUSTER)
    up = serve(*database, cluster=cluster)
    up.ready()
    data = make(up, "data", "gpu", count=2)
    volume = make(up, "vol", "directory", amount=1 << 20, reclaim="retain")
    short = make(up, "short", "gpu", count=1, lease="6s")
    assert all(verified(home, one) for one in (data, short))
    first = submit(up, 'echo kept > "$XCE_CLAIM_V_VALUE/file"', claims={"v": "vol"})
    up.await_state(first, "DONE")
    user = submit(up, f"{SEES}; exec sleep 60", claims={"data": data["claim"]})
    up.await_state(user, "RUNNING")
    until(lambda: attempts(home), "it wrote down what it sees")
    seen = attempts(home)
    assert seen[:2] == [data["claim"], str(data["generation"])]
    assert len(seen[2].split(",")) == 2
    up.kill()
    time.sleep(3)
    again = serve(*database, cluster=cluster)
    again.ready()
    assert verified(home, data)
    assert show(home, data["claim"])["consumers"] == [user]
    until(lambda: show(home, short["claim"])["state"] == "RELEASED", "the lease is over")
    assert not verified(home, short)
    again.await_state(user, "RUNNING")
    path = f"/v1/claims/{data['claim']}"
    assert ask(home, "DELETE", path)["waits_for"] == [user]
    second = submit(again, 'cat "$XCE_CLAIM_V_VALUE/file" > back', claims={"v": "vol"})
    again.await_state(second, "DONE")
    assert attempts(home, "back") == ["kept"]
    ask(home, "POST", f"/v1/jobs/{user}/kill", {})
    until(lambda: show(home, data["claim"])["state"] == "RELEASED", "nobody uses it any more")
    assert ask(home, "POST", f"/v1/claims/{volume['claim']}/release", {})["outcome"] == "release"
    until(lambda: show(home, volume["claim"])["state"] == "RELEASED", "its provider is done")
    again.stop()
    assert xce("db", "verify", "--home", home, *database).returncode == 0


def test_the_line_says_won_lost_and_why(serve: Serve, home: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "gpus.toml"
    cluster.write_text(CLUSTER + "[claims]\nunleased_percent = 100\n")
    up = serve(cluster=cluster)
    up.ready()
    make(up, "first", "gpu", count=3)

    def line(*words: str) -> tuple[int, Any]:
        own = [sys.executable, "-m", "xcecli.main", *words, "--json", "--home", str(home)]
        done = subprocess.run(own, capture_output=True, text=True, timeout=60)
        return done.returncode, json.loads(done.stdout or "null")

    code, told = line("claim", "create", "second", "--type", "gpu", "--count", "2")
    assert (code, told["outcome"]) == (1, "lost")
    code, told = line("claim", "create", "second", "--type", "gpu", "--count", "2", "--wait")
    assert (code, told["outcome"]) == (0, "waiting")
    code, told = line("claim", "show", "second")
    assert told["reason"]["text"] == "needs room for 2 tasks at once; 1 fit now"
    assert line("claim", "release", "first")[0] == 0
    code, told = line("claim", "wait", "second", "--timeout", "20")
    assert (code, told["ready"]) == (0, True)
    generation = str(told["generation"])
    assert line("claim", "verify", "second", "--generation", generation)[0] == 0
    assert line("claim", "verify", "second", "--generation", "999999")[0] == 1
    assert line("claim", "renew", "second", "--until", "1h")[1]["outcome"] == "won"
    assert line("claim", "delete", "second")[1]["state"] == "RELEASED"
    assert line("claim", "renew", "second", "--until", "1h")[0] != 0
