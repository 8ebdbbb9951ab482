"""The tables of the log, for SQLite and PostgreSQL alike, and the SQL texts of the hot append.

`migrations/` makes these tables; a test compares the two. `VERSION` is the migration that this
code needs. On SQLite the tables are STRICT, so that a text never lands in a number. Texts that
are sorted compare by code point on both databases ("C" on PostgreSQL). Bodies are bytes: JSON is
kept as it was hashed, and a damaged byte is found by its hash and not by a decoder.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import TEXT as PG_TEXT

from xce.wal.port import CUT_KINDS

VERSION = "0003"
APPLICATION_ID = 0x58434531
"""`XCE1`: how a SQLite file says that it is ours."""

Number = BigInteger().with_variant(Integer(), "sqlite")
Sorted = Text().with_variant(PG_TEXT(collation="C"), "postgresql")

METADATA = MetaData()


def _table(
    name: str, *parts: Column[object] | CheckConstraint | Index, rowid: bool = True
) -> Table:
    return Table(name, METADATA, *parts, sqlite_strict=True, sqlite_with_rowid=rowid)


def _column(name: str, kind: object, *, key: bool = False, null: bool = False) -> Column[object]:
    return Column(name, kind, primary_key=key, nullable=null, autoincrement=False)  # type: ignore[arg-type]


RECORD = _table(
    "record",
    _column("lsn", Number, key=True),
    _column("epoch", Number),
    _column("at_us", Number),
    _column("kind", Text()),
    _column("v", Number),
    _column("cause", Text()),
    _column("actor", Text()),
    _column("entities", Text()),
    _column("body", LargeBinary()),
    _column("hash", LargeBinary()),
    CheckConstraint("length(hash) = 16", name="record_hash_length"),
)

STORY = _table(
    "story",
    _column("entity", Sorted, key=True),
    _column("lsn", Number, key=True),
    rowid=False,
)

BLOB = _table("blob", _column("name", Sorted, key=True), _column("body", LargeBinary()))

ANSWER = _table(
    "answer",
    _column("owner", Number, key=True),
    _column("key", Sorted, key=True),
    _column("digest", Text()),
    _column("lsn", Number),
    _column("body", LargeBinary()),
    Index("answer_lsn", "lsn"),
)

LEADER = _table(
    "leader",
    _column("id", Number, key=True),
    _column("epoch", Number),
    _column("holder", Text()),
    _column("expires_us", Number),
    CheckConstraint("id = 1", name="leader_one_row"),
)

FLOOR = _table(
    "floor",
    _column("id", Number, key=True),
    _column("lsn", Number),
    _column("hash", LargeBinary()),
    CheckConstraint("id = 1", name="floor_one_row"),
)

CUT = _table(
    "cut",
    _column("cut_lsn", Number, key=True),
    _column("count", Number),
    _column("digest", Text()),
    _column("hash", LargeBinary()),
)

HISTORY = _table(
    "history",
    _column("entity", Sorted, key=True),
    _column("finished_us", Number),
    _column("owner", Number),
    _column("lsn", Number),
    _column("body", LargeBinary()),
    Index("history_finished", "finished_us"),
    Index("history_owner", "owner", "finished_us"),
)


def _cut_table(kind: str) -> Table:
    return _table(
        kind,
        _column("id", Sorted, key=True),
        _column("cut_lsn", Number, key=True),
        _column("state", Text()),
        _column("owner", Number),
        _column("body", LargeBinary(), null=True),
    )


CUT_TABLES: dict[str, Table] = {kind: _cut_table(kind) for kind in CUT_KINDS}


def insert_text(table: Table, mark: str, conflict: str = "") -> str:
    """The text that inserts one row; `mark` is the driver's placeholder, `?` or `%s`."""
    names = [column.name for column in table.columns]
    marks = ", ".join([mark] * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks}) {conflict}".rstrip()


def _replace(table: Table) -> str:
    """The conflict clause that lets the new row win."""
    keys = ", ".join(column.name for column in table.primary_key.columns)
    others = [column.name for column in table.columns if not column.primary_key]
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"ON CONFLICT ({keys}) DO UPDATE SET {changes}"


KEEP_OLD = "ON CONFLICT DO NOTHING"
CONFLICTS: dict[str, str] = {
    "record": "",
    "story": KEEP_OLD,
    "blob": KEEP_OLD,
    "history": _replace(HISTORY),
    "answer": _replace(ANSWER),
    "cut": _replace(CUT),
    **{kind: _replace(table) for kind, table in CUT_TABLES.items()},
}


def insert_texts(mark: str) -> dict[str, str]:
    """Every insert of the append, by table."""
    return {
        name: insert_text(METADATA.tables[name], mark, conflict)
        for name, conflict in CONFLICTS.items()
    }
