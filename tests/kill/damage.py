"""Damage to a log's database, and the question whether a controller still takes it.

A home is made by a real controller and ended by kill -9 or in order; the damage is done to the
files; then `xce controller` is started on it. It must end by itself with one line.
"""

import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from tests.kill.client import ask
from tests.kill.processes import ROOT, Cluster, await_true
from tests.kill.work import job

BOUND_S = 60.0
CHUNK = 5


class Ruin:
    """A home whose controller can be run, ended, damaged and run again. No host is there."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.home = cluster.home
        self._submitted = 0

    def live(self, number: int = signal.SIGTERM) -> None:
        """One life of the controller, in which a few jobs are taken; ended by a signal."""
        part = self.cluster.controller
        part.start()
        socket = self.home / "api.sock"
        try:
            await_true(lambda: socket.exists() and self._answers(), BOUND_S, "it is not ready")
        except AssertionError as error:
            raise AssertionError(f"{error}: {part.said()}") from None
        for _ in range(CHUNK):
            self._submitted += 1
            piece = job(f"kept-{self._submitted}", "/dev/null")
            assert ask(self.home, "POST", piece.path, piece.body, piece.key)[0] == 201
        process, part.process = part.process, None
        assert process is not None
        process.send_signal(number)
        process.wait(BOUND_S)

    def _answers(self) -> bool:
        try:
            return ask(self.home, "GET", "/readyz")[0] == 200
        except OSError:
            return False

    def start_refused(self, bound_s: float = BOUND_S) -> tuple[int, str]:
        """Start the controller on what is there: its exit code and what it said. Fails when it
        takes the log."""
        part = self.cluster.controller
        pipe = subprocess.PIPE
        with subprocess.Popen(part.words, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
            try:
                _, said = process.communicate(timeout=bound_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError("the damaged log is taken") from None
        return process.returncode, said.strip()

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.home / "xce.db"

    def change(self, statement: str) -> None:
        """Run one statement on the SQLite file, as somebody else's hands would."""
        with closing(sqlite3.connect(self.database)) as connection:
            connection.execute(statement)
            connection.commit()

    def flip(self, name: str, text: bytes) -> None:
        """Flip one bit of the last place in a file of the home that holds the text."""
        path = self.home / name
        data = bytearray(path.read_bytes())
        place = data.rfind(text)
        assert place >= 0, f"{name} does not hold {text!r}"
        data[place] ^= 1
        path.write_bytes(data)


@contextmanager
def ruin(database: str = "sqlite", mutant: str = "", like: Ruin | None = None) -> Iterator[Ruin]:
    """A home to be damaged, empty or a copy of another's; gone afterwards."""
    folder = Path(mkdtemp(prefix="xce-kill-"))
    cluster = Cluster(folder, hosts=1, database=database, mutant=mutant)
    if like is not None:
        # A socket cannot be copied; a killed controller leaves one.
        shutil.copytree(like.home, cluster.home, ignore=shutil.ignore_patterns("*.sock"))
    try:
        yield Ruin(cluster)
    finally:
        cluster.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def older_copy_refused(mutant: str = "", bound_s: float = BOUND_S) -> tuple[int, str]:
    """Put an older copy of the database back and start: exit code and line."""
    with ruin(mutant=mutant) as one:
        one.live()
        copy = one.home.parent / "copy.db"
        shutil.copyfile(one.database, copy)
        one.live()
        shutil.copyfile(copy, one.database)
        return one.start_refused(bound_s)


__all__ = ["Ruin", "older_copy_refused", "ruin"]
