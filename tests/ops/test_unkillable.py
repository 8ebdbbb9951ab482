"""A job's process that SIGKILL does not end, with real processes: its host is closed until a person
opens it, and what the job was granted stays taken."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.frozen import Frozen, freezer
from tests.ops.xce_up import Service, until, xce

pytestmark = pytest.mark.processes
SITE = """
levels = ["host"]
[policies]
kill_grace = "1s"
unkillable_after = "1s"
[[emulate.hosts]]
name = "n1"
slots = 4
mem = "8GB"
"""


@pytest.fixture
def frozen() -> Iterator[Frozen]:
    with freezer(f"xce-ops-{os.getpid()}") as one:
        yield one


def host(service: Service) -> dict[str, Any]:
    """The one host."""
    told = service.ask("GET", "/v1/hosts")
    return dict(told["items"][0])


def test_its_host_is_closed_and_opened_by_hand(
    home: Path, serve: Callable[..., Service], frozen: Frozen
) -> None:
    site = home.parent / "site.toml"
    site.write_text(SITE)
    service = serve(cluster=site)
    service.ready()
    job = service.submit("sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 60")
    until((home / "pid").exists, "it runs")
    pid = int((home / "pid").read_text())
    frozen.take(pid)
    service.ask("POST", f"/v1/jobs/{job}/kill")
    until(lambda: host(service)["admin"] == "CLOSED", "the host is closed")
    told = host(service)
    assert told["status"] == "closed_Adm"
    assert told["closed_why"].startswith(f"job {job} cannot be killed (process {pid} is there ")
    assert told["tasks"] == 1
    second = service.submit("true")
    frozen.thaw()
    service.await_state(job, "EXITED")
    assert host(service)["admin"] == "CLOSED"
    assert service.ask("GET", f"/v1/jobs/{second}")["state"] == "PENDING"
    opened = xce("host", "open", "n1", "--home", home)
    assert (opened.returncode, opened.stdout) == (0, "host n1 is OPEN\n")
    service.await_state(second, "DONE")
    assert host(service)["closed_why"] is None
