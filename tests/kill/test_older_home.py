"""A whole home put back from an older copy, anchor included: only the hosts know what is gone."""

import re
import shutil
import signal

import pytest

from tests.kill.processes import Cluster, await_true
from tests.kill.scenes import SOON_S, Stage, stage
from tests.kill.work import job

pytestmark = [pytest.mark.processes, pytest.mark.slow]
FILES = ("xce.db", "anchor")


def end(cluster: Cluster) -> None:
    """End the controller in order; hosts stay."""
    part = cluster.controller
    part.wanted = False
    assert part.process is not None
    part.process.send_signal(signal.SIGTERM)
    await_true(lambda: part.process is None, SOON_S, "the controller does not end")


def run_jobs(set_up: Stage, first: int, count: int) -> None:
    """Run so many jobs to their end."""
    for number in range(first, first + count):
        set_up.submit(job(f"job-{number}", set_up.marks))
    await_true(lambda: len(set_up.marked()) >= first + count, SOON_S, "jobs do not run")
    set_up.await_free()


def test_a_controller_on_an_older_home_ends_when_a_host_has_seen_more() -> None:
    with stage(hosts=1) as set_up:
        cluster, folder = set_up.cluster, set_up.cluster.folder
        run_jobs(set_up, 0, 2)
        end(cluster)
        for name in FILES:
            shutil.copyfile(set_up.home / name, folder / name)
        cluster.controller.wanted = True
        cluster.await_hosts()
        run_jobs(set_up, 2, 6)
        end(cluster)
        for name in FILES:
            shutil.copyfile(folder / name, set_up.home / name)
        cluster.controller.codes.clear()
        cluster.controller.wanted = True
        await_true(lambda: bool(cluster.controller.codes), SOON_S, "the older home is taken")
        cluster.controller.wanted = False
        said = cluster.controller.said()
        assert cluster.controller.codes[0] == 1
        assert re.search(
            r"xce: acknowledged records missing: \d+ \(head \d+, host n1 has seen \d+\); "
            r"the home is an older copy",
            said,
        ), said
        assert len(set_up.marked()) == 8
