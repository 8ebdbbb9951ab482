"""The log in one SQLite file: one connection, one process, WAL with a sync at every commit.

Every pragma is read back; a file that would lose commits is refused. The exclusive file lock
decides who leads, so an opener always does. Checkpoints of SQLite's own log run here, before a
transaction and never inside one. The file is never opened by another way than SQLite while this
process has it: closing such a handle would drop SQLite's locks.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import ColumnElement, Engine, create_engine, event, true
from sqlalchemy.pool import StaticPool

from xce.wal import schema
from xce.wal.port import About, LogBroken, LogHeld, LogUnfit, fenced
from xce.wal.sql import AtPoint, guard, no_point
from xce.wal.write import SqlLog, Work

CHECKPOINT_BYTES = 16 << 20
PRAGMAS: tuple[tuple[str, str, object], ...] = (
    ("locking_mode", "EXCLUSIVE", "exclusive"),
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("wal_autocheckpoint", "0", 0),
    ("foreign_keys", "ON", 1),
    ("trusted_schema", "OFF", 0),
    ("cell_size_check", "ON", 1),
    ("mmap_size", "0", 0),
    ("temp_store", "MEMORY", 2),
    ("journal_size_limit", "67108864", 67108864),
)
_SAFE_BACKPORTS = ((3, 44, 6), (3, 50, 7))
_INSERTS = schema.insert_texts("?")
_FENCE = "SELECT epoch FROM leader WHERE id = 1"
_opened: set[str] = set()
"""Files that this process has open: to open and close one again would drop SQLite's lock."""


def connect(path: Path) -> sqlite3.Connection:
    """An exclusive connection to a log's file, made when it is not there, pragmas checked."""
    if str(path) in _opened:
        raise LogHeld(f"this process has {path} open already")
    made = _make_file(path)
    if not made:
        _drop_cached(path)
    try:
        with guard(f"opening {path}", sqlite3.Error):
            raw = sqlite3.connect(
                path,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            try:
                _set_up(raw, path)
            except BaseException:
                raw.close()
                raise
            return raw
    except BaseException:
        if made:
            remove(path)
        raise


def _make_file(path: Path) -> bool:
    """Makes the file with nobody else's rights on it; whether it was not there."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise LogUnfit(f"cannot make {path}: {error.strerror}") from error
    os.close(handle)
    sync_directory(path.parent)
    return True


def _drop_cached(path: Path) -> None:
    """Has recovery read the disk: after a failed sync the kernel's pages may say otherwise."""
    for name in (str(path), f"{path}-wal"):
        try:
            handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LogUnfit(f"cannot read {name}: {error.strerror}") from error
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def remove(path: Path) -> None:
    """Takes back a file that could not be brought up."""
    for suffix in ("", "-wal", "-journal"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def sync_directory(path: Path) -> None:
    """Makes the entries of a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _set_up(raw: sqlite3.Connection, path: Path) -> None:
    """Sets every pragma, takes the lock for good and checks whose file it is."""
    try:
        for name, value, _expected in PRAGMAS:
            raw.execute(f"PRAGMA {name} = {value}")
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise LogHeld(f"another process has {path} open") from error
        if "readonly" in str(error) or "unable to open" in str(error):
            raise LogUnfit(f"cannot write {path}: {error}") from error
        raise
    for name, _value, expected in PRAGMAS:
        found = raw.execute(f"PRAGMA {name}").fetchone()[0]
        if found != expected:
            raise LogUnfit(f"{path}: PRAGMA {name} is {found!r}, expected {expected!r}")
    _check_owner(raw, path)
    raw.execute("PRAGMA busy_timeout = 5000")


def _check_owner(raw: sqlite3.Connection, path: Path) -> None:
    """Refuses a database of another program; marks an empty one as ours."""
    found = raw.execute("PRAGMA application_id").fetchone()[0]
    if found == schema.APPLICATION_ID:
        return
    if raw.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise LogUnfit(f"{path} is a database of another program")
    raw.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")


def version_warning(version: tuple[int, int, int]) -> str:
    """What to say of a SQLite that has the WAL-reset bug; "" when it has not."""
    fixed = version >= (3, 51, 3) or any(
        version[:2] == safe[:2] and version >= safe for safe in _SAFE_BACKPORTS
    )
    if fixed:
        return ""
    text = ".".join(map(str, version))
    return (
        f"SQLite {text} has the WAL-reset bug; it needs two connections and this log has one, "
        "so it cannot occur here, but do not open the file with other programs"
    )


def engine_of(raw: sqlite3.Connection) -> Engine:
    """An engine over the one connection; its transactions begin where SQLAlchemy says so."""
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


class SqliteLog(SqlLog):
    """A log in a SQLite file. Keeps the contract of `port.Log`."""

    driver_error = sqlite3.Error

    def __init__(
        self, raw: sqlite3.Connection, engine: Engine, path: Path, at_point: AtPoint = no_point
    ) -> None:
        self._raw = raw
        self.path = path
        super().__init__(engine, at_point)
        _opened.add(str(path))

    def about(self) -> About:
        """What it is and which durability it read back."""
        warning = version_warning(sqlite3.sqlite_version_info)
        with self._lock:
            pragmas = {
                name: str(self._raw.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("journal_mode", "synchronous", "locking_mode", "wal_autocheckpoint")
            }
        return About(
            name="sqlite",
            version=sqlite3.sqlite_version,
            place=str(self.path),
            durability=pragmas,
            warnings=(warning,) if warning else (),
        )

    def _may_lead(self, holder: str, now_us: int) -> ColumnElement[bool]:
        return true()

    def renew(self, epoch: int, now_us: int, ttl_us: int) -> None:
        """Checks the epoch; the file lock needs no renewal."""
        self.confirm(epoch)

    def _transact(self, epoch: int, work: Work) -> None:
        raw = self._raw
        self._checkpoint_when_due()
        raw.execute("BEGIN IMMEDIATE")
        if raw.execute(_FENCE).fetchone()[0] != epoch:
            raw.execute("ROLLBACK")
            raise fenced(epoch, self.leader())
        self._at_point("log.begun")
        for table, rows in work:
            if rows:
                raw.executemany(_INSERTS[table], rows)
        self._at_point("log.written")
        raw.execute("COMMIT")
        self._at_point("log.committed")

    def _checkpoint_when_due(self) -> None:
        """Empties SQLite's own log once it is large, between two transactions."""
        try:
            size = os.stat(f"{self.path}-wal").st_size
        except FileNotFoundError:
            return
        if size >= CHECKPOINT_BYTES:
            busy = self._raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if busy:
                raise LogBroken(f"the checkpoint of {self.path} could not finish")

    def check_storage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with self._lock, guard("checking the file", sqlite3.Error):
            found = [row[0] for row in self._raw.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def backup(self, target: Path) -> None:
        """Copies the whole log into a new file, durably. Appends wait meanwhile."""
        if target.exists():
            raise LogUnfit(f"{target} is there already")
        _make_file(target)
        try:
            with (
                self._lock,
                guard(f"copying to {target}", sqlite3.Error),
                closing(sqlite3.connect(target)) as copy,
            ):
                self._raw.backup(copy)
                copy.execute("PRAGMA synchronous = FULL")
                copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except BaseException:
            remove(target)
            raise
        _sync_file(target)

    def close(self) -> None:
        """Gives the file back."""
        super().close()
        self._raw.close()
        _opened.discard(str(self.path))


def _sync_file(path: Path) -> None:
    """Makes a file that no connection has open durable, its entry too."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    sync_directory(path.parent)
