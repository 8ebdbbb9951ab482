"""A leader that was stopped in its tracks (SIGSTOP) while another took over on PostgreSQL: when it
goes on, it answers nothing from what it remembers, and takes nothing."""

import http.client
import json
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kill.client import ask, get
from tests.kill.processes import Cluster, await_true
from tests.kill.work import job

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.postgres]
BOUND_S = 60.0


@pytest.fixture
def leaders(postgres_empty_url: str) -> Iterator[tuple[Cluster, Cluster]]:
    """Two controllers with homes of their own on one database; the first one leads."""
    with tempfile.TemporaryDirectory(prefix="xce-kill-") as folder:
        clusters = tuple(
            Cluster(Path(folder) / name, hosts=1, database=postgres_empty_url, mutant="short_lease")
            for name in ("one", "two")
        )
        try:
            clusters[0].controller.start()
            await_true(lambda: is_ready(clusters[0]), BOUND_S, clusters[0].controller.said())
            yield clusters[0], clusters[1]
        finally:
            for cluster in clusters:
                cluster.kill_all()


def is_ready(cluster: Cluster) -> bool:
    return get(cluster.home, "/readyz") is not None


def asked_late(cluster: Cluster, method: str, path: str, body: Any, told: list[Any]) -> None:
    """What a client is answered that asked while nobody was there to hear."""
    try:
        told.append(ask(cluster.home, method, path, body, "late" if body else ""))
    except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
        told.append((0, str(error)))


def test_a_leader_that_was_paused_answers_nothing_after_another_took_over(
    leaders: tuple[Cluster, Cluster],
) -> None:
    old, new = leaders
    first = job("first", "/dev/null")
    assert ask(old.home, "POST", first.path, first.body, first.key)[0] == 201
    assert old.controller.process is not None
    old.controller.process.send_signal(signal.SIGSTOP)
    new.controller.start()
    await_true(lambda: is_ready(new), BOUND_S, new.controller.said())
    second = job("second", "/dev/null")
    assert ask(new.home, "POST", second.path, second.body, second.key)[0] == 201
    read: list[Any] = []
    written: list[Any] = []
    clients = [
        threading.Thread(target=asked_late, args=(old, "GET", "/v1/jobs", None, read)),
        threading.Thread(target=asked_late, args=(old, "POST", first.path, first.body, written)),
    ]
    for client in clients:
        client.start()
    await_true(lambda: all(one.is_alive() for one in clients), BOUND_S, "nobody asks")
    old.controller.process.send_signal(signal.SIGCONT)
    for client in clients:
        client.join(BOUND_S)
    assert read[0][0] in (0, 421, 503), read
    assert written[0][0] in (0, 421, 503), written
    names = [one["name"] for one in get(new.home, "/v1/jobs")["items"]]
    assert names == ["first", "second"]
