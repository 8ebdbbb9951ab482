"""The log in a PostgreSQL database (14 or later), straight to the server, not through a pooler.

Appends have one connection; reads, leadership and truncation take others from a small pool, so
that a renewal waits for an append only at the leader's row. Every append holds that row with
FOR SHARE until it has committed: a new leader waits for it and then sees it, an old one finds
its epoch gone. Expiry is by the server's clock. Settings that would lose commits are refused; a
commit whose wait for a standby was cancelled counts as unknown, because the server only says so
in a warning.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql as text
from psycopg.errors import Diagnostic
from sqlalchemy.dialects import postgresql

from xce.wal import schema
from xce.wal.open import bring_up
from xce.wal.port import About, LogAway, LogBroken, LogHeld, LogUnfit, fenced
from xce.wal.sql import AtPoint, guard, no_point
from xce.wal.write import SqlLog, Work

OLDEST = 140_000
_OPTIONS = "-c lock_timeout=5000 -c idle_in_transaction_session_timeout=10000"
_CONNECT: dict[str, Any] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "target_session_attrs": "read-write",
    "application_name": "xce",
}
_SETTINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("fsync", ("on",)),
    ("full_page_writes", ("on",)),
    ("synchronous_commit", ("on", "remote_apply")),
    ("transaction_isolation", ("read committed",)),
    ("server_encoding", ("UTF8",)),
    ("in_hot_standby", ("off",)),
)
_UPGRADE_LOCK = 0x58434531
_FENCE = "SELECT 1 FROM leader WHERE id = 1 AND epoch = %s FOR SHARE"


def _columns(table: sa.Table) -> str:
    """All rows of a table's part of a batch as one set: an array per column."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    kinds = [column.type.compile(dialect).split(" COLLATE")[0] for column in table.columns]
    return "unnest(" + ", ".join(f"%b::{kind}[]" for kind in kinds) + ")"


_INSERTS = {
    name: f"INSERT INTO {name} SELECT * FROM {_columns(schema.METADATA.tables[name])} AS u {clause}"
    for name, clause in schema.CONFLICTS.items()
}
_FENCED_RECORDS = (
    f"WITH l AS ({_FENCE}) INSERT INTO record SELECT u.* FROM l, {_columns(schema.RECORD)} AS u"
)


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of ours; refused in one line when the server cannot be reached."""
    try:
        return _dial(url)
    except psycopg.OperationalError as error:
        raise LogAway(f"cannot reach {place_of(url)}: {' '.join(str(error).split())}") from error
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise LogUnfit(f"cannot use the database at {place_of(url)}: {reason}") from error


def _dial(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    given = psycopg.conninfo.conninfo_to_dict(url)
    options = f"{given.get('options', '')} {_OPTIONS}".strip()
    return psycopg.connect(url, autocommit=True, **_CONNECT, options=options)


def place_of(url: str) -> str:
    """The address of a database without its password."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return "postgresql"
    parts = [f"{name}={given[name]}" for name in ("host", "port", "dbname") if given.get(name)]
    return f"postgresql({' '.join(parts)})"


def open_postgres(
    url: str, *, upgrade: bool = False, at_point: AtPoint = no_point
) -> "PostgresLog":
    """Opens a log in a PostgreSQL database; checks the server, brings up the schema."""
    appending = connect(url)
    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: _pooled(url),
        pool_size=3,
        max_overflow=2,
        pool_pre_ping=True,
    )
    try:
        with guard("checking the server", psycopg.Error):
            _check_server(appending, url)
            appending.execute("SELECT pg_advisory_lock(%s)", [_UPGRADE_LOCK])
            try:
                bring_up(engine, upgrade=upgrade)
            finally:
                appending.execute("SELECT pg_advisory_unlock(%s)", [_UPGRADE_LOCK])
        return PostgresLog(appending, engine, url, at_point)
    except BaseException:
        engine.dispose()
        appending.close()
        raise


def _pooled(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    connection = _dial(url)
    connection.autocommit = False
    return connection


def _check_server(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> None:
    """Refuses a server on which a commit may be lost, and a pooler in between."""
    version = connection.info.server_version
    if version < OLDEST:
        raise LogUnfit(f"{place_of(url)} is PostgreSQL {version // 10_000}; 14 or later is needed")
    found = read_settings(connection)
    for name, allowed in _SETTINGS:
        if found[name] not in allowed:
            raise LogUnfit(
                f"{place_of(url)}: {name} is {found[name]}, expected {' or '.join(allowed)}; "
                "with it an acknowledged command could be lost"
            )
    first, second = (connection.execute("SELECT pg_backend_pid()").fetchone() for _ in range(2))
    if first != second:
        raise LogUnfit(f"{place_of(url)} is behind a pooler; give the server's own address")


def read_settings(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, str]:
    """The settings that durability rests on, as this session has them."""
    names = [name for name, _allowed in _SETTINGS] + ["data_checksums", "wal_sync_method"]
    found = {}
    for name in names:
        row = connection.execute(text.SQL("SHOW {}").format(text.Identifier(name))).fetchone()
        found[name] = str(row[0]) if row else ""
    return found


class PostgresLog(SqlLog):
    """A log in a PostgreSQL database. Keeps the contract of `port.Log`."""

    driver_error = psycopg.Error
    # Leadership has connections of its own and may be tried again: the row tells how it ended.
    change_poisons = False

    def __init__(
        self,
        appending: psycopg.Connection[tuple[Any, ...]],
        engine: sa.Engine,
        url: str,
        at_point: AtPoint = no_point,
    ) -> None:
        self._appending = appending
        self._doubt = ""
        self._url = url
        appending.add_notice_handler(self._hear)
        super().__init__(engine, at_point, reading=nullcontext())

    def _hear(self, notice: Diagnostic) -> None:
        """Any warning during an append puts its outcome in doubt."""
        if notice.severity_nonlocalized == "WARNING":
            self._doubt = notice.message_primary or "a warning"

    def about(self) -> About:
        """What it is and which durability it read back."""
        with self._writing, guard("reading the settings", psycopg.Error):
            found = read_settings(self._appending)
            version = self._appending.info.server_version
        warnings = (
            () if found["data_checksums"] == "on" else ("the server keeps no data checksums",)
        )
        return About(
            name="postgresql",
            version=f"{version // 10_000}.{version % 10_000}",
            place=place_of(self._url),
            durability=found,
            warnings=warnings,
        )

    def _now(self, now_us: int) -> sa.ColumnElement[int]:
        return sa.cast(
            sa.func.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger()
        )

    def lead(self, holder: str, now_us: int, ttl_us: int) -> int:
        """Takes the leadership; an append of the leader under way is waited for, not for long."""
        try:
            return super().lead(holder, now_us, ttl_us)
        except LogBroken as error:
            if "lock timeout" not in str(error):
                raise
            raise LogHeld("the leader is appending and does not come to an end") from error

    def _transact(self, epoch: int, work: Work) -> None:
        connection = self._appending
        self._doubt = ""
        with connection.transaction():
            self._fence_and_insert_records(epoch, work[0][1])
            self._at_point("log.begun")
            for table, rows in work[1:]:
                if rows:
                    columns = [list(column) for column in zip(*rows, strict=True)]
                    connection.execute(_INSERTS[table], columns)
            self._at_point("log.written")
        if self._doubt:
            raise LogBroken(f"the server warned at the commit: {self._doubt}")
        self._at_point("log.committed")

    def _fence_and_insert_records(self, epoch: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """One statement that holds the leader's row and inserts only when it has the epoch."""
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            done = self._appending.execute(_FENCED_RECORDS, [epoch, *columns])
            passed = done.rowcount == len(rows)
        else:
            passed = self._appending.execute(_FENCE, [epoch]).fetchone() is not None
        if not passed:
            raise fenced(epoch, self.leader())

    def close(self) -> None:
        """Gives the connections back."""
        super().close()
        self._appending.close()
