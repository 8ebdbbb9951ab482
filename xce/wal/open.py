"""Opens a log: the home's lock, the connection, the schema.

A home is one controller's directory: HOME/holder (who has it; a lock that the kernel takes back
when the process dies), HOME/anchor and, on SQLite, HOME/xce.db. An empty database gets its
tables; an older one is refused unless `upgrade` is asked for (`xce db upgrade`), a newer one
always. Alembic is imported only when there is something to do. What cannot be opened is refused
in one line, and nothing half-made is left behind.
"""

import fcntl
import os
import stat
from pathlib import Path

import msgspec
import sqlalchemy as sa

import xce
from xce.wal import schema, sqlite
from xce.wal.memory import MemoryLog
from xce.wal.port import Log, LogHeld, LogTooNew, LogUnfit
from xce.wal.sql import AtPoint, guard, no_point

DATABASE_FILE = "xce.db"
HOLDER_FILE = "holder"


class HomeLock:
    """A home that this process has. It is free again when the process ends, however it ends."""

    def __init__(self, home: Path) -> None:
        self.home = home
        _prepare(home)
        path = home / HOLDER_FILE
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LogUnfit(f"cannot write in {home}: {error.strerror}") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, msgspec.json.encode({"pid": os.getpid()}), 0)
        except BlockingIOError as error:
            who = holder_text(os.pread(self._handle, 4096, 0))
            os.close(self._handle)
            raise LogHeld(
                f"{home} is in use by {who}; stop it first, or take another home"
            ) from error
        except OSError as error:
            os.close(self._handle)
            raise LogUnfit(f"cannot write in {home}: {error.strerror}") from error

    def release(self) -> None:
        """Lets another process have the home."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def holder_text(content: bytes) -> str:
    """Who a holder file names, with the command it runs where the kernel tells."""
    try:
        pid = int(msgspec.json.decode(content)["pid"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return "another process"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return f"process {pid}"
    command = b" ".join(words).decode(errors="replace").strip()
    return f"process {pid} ({command[:120]})" if command else f"process {pid}"


def _prepare(home: Path) -> None:
    """Makes the home for its owner alone; refuses one of another user or open to others."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = home.stat()
    except FileExistsError as error:
        raise LogUnfit(f"{home} is not a directory") from error
    except OSError as error:
        raise LogUnfit(f"cannot make {home}: {error.strerror}") from error
    if facts.st_uid != os.geteuid():
        raise LogUnfit(f"{home} belongs to uid {facts.st_uid}; this process runs as {os.geteuid()}")
    if stat.S_IMODE(facts.st_mode) & 0o022:
        raise LogUnfit(f"{home} can be written by others; `chmod go-w {home}` first")


def open_log(
    database: str,
    home: Path,
    *,
    upgrade: bool = False,
    at_point: AtPoint = no_point,
) -> Log:
    """Opens the log that `database` names: `sqlite` (HOME/xce.db), `sqlite:PATH`,
    `postgresql://...` or `memory`. The caller holds the home (`HomeLock`)."""
    if database == "memory":
        return MemoryLog(at_point=at_point)
    if database == "sqlite" or database.startswith("sqlite:"):
        path = Path(database.removeprefix("sqlite").removeprefix(":") or home / DATABASE_FILE)
        return open_sqlite(path, upgrade=upgrade, at_point=at_point)
    if database.startswith(("postgresql:", "postgres:")):
        from xce.wal.postgres import open_postgres

        return open_postgres(database, upgrade=upgrade, at_point=at_point)
    raise LogUnfit(
        f"no log called {database!r}; expected sqlite, sqlite:PATH, postgresql://... or memory"
    )


def open_sqlite(
    path: Path, *, upgrade: bool = False, at_point: AtPoint = no_point, fresh: bool = True
) -> sqlite.SqliteLog:
    """Opens a log in a SQLite file. Without `fresh`, one that is not there is refused."""
    made = not path.exists()
    if made and not fresh:
        raise LogUnfit(f"{path} is not there")
    raw = sqlite.connect(path)
    engine = sqlite.engine_of(raw)
    try:
        bring_up(engine, upgrade=upgrade or made)
        sqlite.sync_directory(path.parent)
        return sqlite.SqliteLog(raw, engine, path, at_point)
    except BaseException:
        raw.close()
        if made:
            sqlite.remove(path)
        raise


def bring_up(engine: sa.Engine, *, upgrade: bool) -> None:
    """Brings an empty database, or on `upgrade` an older one, to this code's schema."""
    with guard("reading the schema's version"), engine.connect() as connection:
        found = schema_version(connection)
        if found == schema.VERSION:
            return
        if found is not None and found > schema.VERSION:
            raise LogTooNew(
                f"the database has schema {found}, written by a later version of XCE; this one "
                f"knows {schema.VERSION}"
            )
        if found is None and sa.inspect(connection).get_table_names():
            raise LogUnfit("the database has tables, but none of XCE's; give XCE one of its own")
        if found is not None and not upgrade:
            raise LogUnfit(
                f"the database has schema {found}, this version of XCE needs {schema.VERSION}; "
                "back it up, then run `xce db upgrade`"
            )
    with guard("bringing the schema up"), engine.begin() as connection:
        migrate(connection)


def schema_version(connection: sa.Connection) -> str | None:
    """The migration that a database is at; None when it has none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return str(found) if found is not None else None


def migrate(connection: sa.Connection, to: str = "head") -> None:
    """Runs the migrations on a connection whose transaction the caller commits."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def migrations_folder() -> Path:
    """Where the migrations are: inside the package (a wheel), or beside it (a checkout)."""
    package = Path(xce.__file__).parent
    packed = package / "wal" / "migrations"
    return packed if packed.is_dir() else package.parent / "migrations"
