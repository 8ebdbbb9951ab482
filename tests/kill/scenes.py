"""Scenes with real processes: a cluster, a few submissions, something that goes wrong, a verdict.

Each gives its findings as values for a test to look at; `Stage` is the cluster with what every
scene needs, and is taken down whatever happens.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kill.client import Acks, Submitter, ask, get
from tests.kill.judge import CLOCK_US, Mark, read_marks
from tests.kill.processes import Cluster, await_true
from tests.kill.tale import Tale, held, read_tale
from tests.kill.work import Piece, gang, gpus, role
from xce.agent.supervisor.journal import Journal
from xce.wal.open import HomeLock, open_log

SOON_S = 60.0
OVER = ("DONE", "EXITED")


class Stage:
    """A running cluster and a file for marks."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.home = cluster.home
        self.marks = str(cluster.folder / "marks")
        Path(self.marks).touch(mode=0o666)

    def submit(self, piece: Piece) -> str:
        """The id that it was answered with."""
        status, body = ask(self.home, "POST", piece.path, piece.body, piece.key)
        assert status == 201, body
        return str(body.get("job") or body.get("group"))

    def gang(self, group: str) -> dict[str, Any]:
        """A gang as the controller shows it."""
        told = get(self.home, f"/v1/groups/{group}")
        return dict(told) if told else {}

    def await_over(self, group: str) -> dict[str, Any]:
        """The gang once it has ended."""
        await_true(lambda: self.gang(group).get("state") in OVER, SOON_S, f"{group} does not end")
        return self.gang(group)

    def launches(self, group: str) -> list[dict[str, Any]]:
        """The launches of all its members."""
        told = get(self.home, f"/v1/groups/{group}/members") or {"members": []}
        return [launch for member in told["members"] for launch in member["launches"]]

    def await_free(self) -> None:
        """Until nothing is held."""
        await_true(self.is_free, SOON_S, "something is held still")

    def is_free(self) -> bool:
        """Whether nothing is held."""
        claims, hosts = get(self.home, "/v1/claims?limit=1"), get(self.home, "/v1/hosts")
        if not claims or not hosts or claims["total"]:
            return False
        used = [one["used"] for host in hosts["items"] for one in host["counters"].values()]
        return not any(used) and not any(host["jobs"] for host in hosts["items"])

    def marked(self) -> list[Mark]:
        """Everything of users' that ran."""
        marks, torn = read_marks(Path(self.marks))
        assert torn == []
        return marks

    def end(self) -> Tale:
        """Stop all and read the log: whole, every invariant kept, nothing held or left."""
        assert self.cluster.stop() == []
        assert self.cluster.left_behind() == []
        tale = tale_of(self.home, self.cluster.database)
        assert tale.faults == []
        assert held(tale.state) == []
        return tale

    def started(self) -> list[dict[str, Any]]:
        """What the hosts' journals say was let go."""
        entries: list[dict[str, Any]] = []
        for path in sorted(self.home.glob("hosts/*/journal")):
            journal = Journal(str(path))
            entries += [
                one for one in journal.entries if one["k"] == "started" or one.get("started")
            ]
            journal.close()
        return entries


def tale_of(home: Path, database: str) -> Tale:
    """The tale of a log that nobody uses."""
    lock = HomeLock(home)
    try:
        log = open_log(database, home)
        try:
            return read_tale(log)  # type: ignore[arg-type]
        finally:
            log.close()
    finally:
        lock.release()


@contextmanager
def stage(**wanted: Any) -> Iterator[Stage]:
    """A cluster whose hosts are UP; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="xce-kill-"))
    cluster = Cluster(folder, **wanted)
    try:
        cluster.start()
        cluster.await_hosts()
        yield Stage(cluster)
    finally:
        cluster.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def two_large_gangs(seed: str) -> list[str]:
    """Two gangs that each need three quarters of the GPUs, submitted at the same instant: one
    runs whole while the other holds nothing, then the other runs. The breaches."""
    with stage(hosts=2) as set_up:
        acks, ready = Acks(), threading.Barrier(2)
        names = ("left", "right")
        pieces = [
            gang(f"{name}-{seed}", set_up.marks, [role("m", 3, 0.5, claims=[gpus(2)])])
            for name in names
        ]
        threads = [_AtOnce(set_up.home, piece, acks, ready) for piece in pieces]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON_S)
        groups = [acks.ids[piece.key] for piece in pieces]
        for group in groups:
            set_up.await_over(group)
        set_up.await_free()
        marks = set_up.marked()
        tale = set_up.end()
        return [*acks.faults, *_one_after_the_other(tale, marks)]


class _AtOnce(Submitter):
    """A client that waits for its fellow before it submits."""

    def __init__(self, home: Path, piece: Piece, acks: Acks, ready: threading.Barrier) -> None:
        super().__init__(home, [piece], acks, piece.key, time.monotonic() + SOON_S)
        self._ready = ready

    def run(self) -> None:
        """Together, then as any client."""
        self._ready.wait(SOON_S)
        super().run()


def _one_after_the_other(tale: Tale, marks: list[Mark]) -> Iterator[str]:
    state = tale.state
    for group in state.groups.values():
        if group.state != "DONE" or group.start_failures:
            yield f"{group.name} is {group.state} after {group.start_failures} failed starts"
    if tale.shared:
        yield f"both gangs were there at once, first at lsn {tale.shared[0]}"
    times: dict[int, list[int]] = {}
    for mark in marks:
        times.setdefault(state.jobs[mark.job].group, []).append(mark.at_us)
    if sorted(map(len, times.values())) != [3, 3]:
        yield f"the gangs left {times} marks"
        return
    early = sorted(tale.gos[mark.launch].at_us - mark.at_us for mark in marks)[-1]
    if early > CLOCK_US:
        yield f"a member ran {early} us before its gang was let go"
