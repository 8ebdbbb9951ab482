"""Homes and files that another process has, or that cannot be used: one clear line each."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.wal import kit
from xce.wal import sqlite
from xce.wal.open import HomeLock, open_log, open_sqlite
from xce.wal.port import LogHeld, LogUnfit

_HOLDER = """
import sys, pathlib
from xce.wal.open import HomeLock, open_log
home = pathlib.Path(sys.argv[1])
lock = HomeLock(home) if "lock" in sys.argv else None
log = open_log("sqlite", home)
log.lead("child", 0, 1)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the log of `home`, and with `lock` the home itself."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(home), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.mark.processes
def test_a_home_in_use_is_refused_with_the_process_that_has_it(tmp_path: Path) -> None:
    with holder(tmp_path / "home", "lock") as process:
        with pytest.raises(LogHeld, match=rf"home is in use by process {process.pid} \(.*python"):
            HomeLock(tmp_path / "home")
        process.send_signal(signal.SIGKILL)
        process.wait()
        HomeLock(tmp_path / "home").release()
        log = open_log("sqlite", tmp_path / "home")
        assert log.lead("parent", 0, 1) == 2
        log.close()


@pytest.mark.processes
def test_a_file_that_another_process_has_open_is_refused(tmp_path: Path) -> None:
    with holder(tmp_path), pytest.raises(LogHeld, match=r"another process has .*xce\.db open"):
        open_sqlite(tmp_path / "xce.db")
    log = open_sqlite(tmp_path / "xce.db")
    assert log.lead("parent", 0, 1) == 2
    log.close()


def test_a_file_that_this_process_has_open_is_refused(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    with pytest.raises(LogHeld, match="this process has"):
        open_sqlite(tmp_path / "xce.db")
    log.append(kit.batch(log.lead("home-a", 0, 1), 1))
    log.close()
    open_sqlite(tmp_path / "xce.db").close()


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path / "a" / "home")
    log = open_log("sqlite", tmp_path / "a" / "home")
    log.append(kit.batch(log.lead("home-a", 0, 1), 1))
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "a" / "home").iterdir()}
    assert modes == {"xce.db": 0o600, "xce.db-wal": 0o600, "holder": 0o600}
    assert (tmp_path / "a" / "home").stat().st_mode & 0o777 == 0o700
    log.close()
    lock.release()


def test_a_home_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o777)
    (tmp_path / "home").chmod(0o777)
    with pytest.raises(LogUnfit, match="can be written by others; `chmod go-w"):
        HomeLock(tmp_path / "home")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's home")
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    os.chown(tmp_path / "home", 12345, 12345)
    with pytest.raises(LogUnfit, match="belongs to uid 12345; this process runs as 0"):
        HomeLock(tmp_path / "home")


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(LogUnfit, match="is not a directory"):
        HomeLock(tmp_path / "home")


def test_a_home_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(LogUnfit, match=r"cannot make /proc/xce: No such file"):
        HomeLock(Path("/proc/xce"))


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "xce.db")
    raw.execute("CREATE TABLE photo (id INTEGER)")
    raw.close()
    with pytest.raises(LogUnfit, match="is a database of another program"):
        open_sqlite(tmp_path / "xce.db")
    assert (tmp_path / "xce.db").exists()


def test_nothing_half_made_stays_when_the_schema_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_words: object, **_named: object) -> None:
        raise LogUnfit("the disk is full")

    monkeypatch.setattr("xce.wal.open.bring_up", fail)
    with pytest.raises(LogUnfit, match="the disk is full"):
        open_sqlite(tmp_path / "xce.db")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    open_sqlite(tmp_path / "xce.db").close()


def test_an_unknown_database_names_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(LogUnfit, match="expected sqlite, sqlite:PATH, postgresql://"):
        open_log("mysql://x", tmp_path)
    assert open_log("memory", tmp_path).about().name == "memory"


def test_every_pragma_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    assert log.about().durability == {
        "journal_mode": "wal",
        "synchronous": "2",
        "locking_mode": "exclusive",
        "wal_autocheckpoint": "0",
    }
    log.close()
    weak = [(n, "NORMAL" if n == "synchronous" else v, e) for n, v, e in sqlite.PRAGMAS]
    monkeypatch.setattr(sqlite, "PRAGMAS", weak)
    with pytest.raises(LogUnfit, match="PRAGMA synchronous is 1, expected 2"):
        open_sqlite(tmp_path / "xce.db")


@pytest.mark.parametrize(
    ("version", "warned"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_an_old_sqlite_is_a_warning(version: tuple[int, int, int], warned: bool) -> None:
    assert bool(sqlite.version_warning(version)) is warned
