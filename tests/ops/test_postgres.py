"""`xce up` on PostgreSQL: a server that dies hard, and a leader that takes over."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.postgres import PostgresServer
from tests.ops.xce_up import Service, until, xce
from xce.ops.config.file import default_site
from xce.ops.serving import Options, Serving
from xce.ops.talk import Said
from xce.wal.port import LogAway

pytestmark = [pytest.mark.processes, pytest.mark.postgres]
Serve = Callable[..., Service]


def test_the_same_process_leads_again_after_the_server_was_stopped_hard(
    serve: Serve, home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    up = serve("--database", postgres_url)
    up.ready()
    epoch = up.ask("GET", "/readyz")["epoch"]
    job = up.submit("sh", "-c", "echo once >> mark; while [ ! -e go ]; do sleep 0.05; done")
    up.await_state(job, "RUNNING")
    postgres_server.crash()
    with pytest.raises(Said) as lost:
        up.submit("true")
    assert (lost.value.status, lost.value.body["code"]) == (503, "outcome_unknown")
    postgres_server.start()
    again = until(lambda: up.ask("GET", "/readyz"), "it leads again")
    assert again["epoch"] > epoch
    (home / "go").touch()
    up.await_state(job, "DONE")
    assert (home / "mark").read_text() == "once\n"
    code, said = up.stop()
    assert code == 0
    assert "taking over anew" in said
    assert xce("db", "verify", "--home", home, "--database", postgres_url).returncode == 0


def test_a_database_that_cannot_be_reached_is_one_line_and_no_home_is_left(home: Path) -> None:
    url = f"postgresql://nobody@/none?host={home.parent}"
    serving = Serving(Options(home=home, database=url, site=default_site(), wait_s=0.1))
    with pytest.raises(LogAway, match=r"^cannot reach postgresql\(host=.* dbname=none\): "):
        asyncio.run(serving.start())
    assert not home.exists()
