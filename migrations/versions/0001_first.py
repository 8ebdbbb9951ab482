"""The first schema: records, story index, blobs, answers, leadership, cuts, history."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT as PG_TEXT

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SORTED = sa.Text().with_variant(PG_TEXT(collation="C"), "postgresql")
TEXT = sa.Text()
BYTES = sa.LargeBinary()

CUT_KINDS = (
    "config",
    "counter",
    "queue",
    "spec",
    "host",
    "instance",
    "job",
    "gang_group",
    "start",
    "allocation",
    "launch",
    "claim",
    "attachment",
    "reservation",
    "timer",
)


def make(name: str, *parts: object, rowid: bool = True) -> None:
    """Makes a table, STRICT on SQLite."""
    op.create_table(name, *parts, sqlite_strict=True, sqlite_with_rowid=rowid)


def key(name: str, kind: object) -> sa.Column:
    """A column of the primary key."""
    return sa.Column(name, kind, primary_key=True, nullable=False, autoincrement=False)


def column(name: str, kind: object) -> sa.Column:
    """A column that always has a value."""
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    make(
        "record",
        key("lsn", NUMBER),
        column("epoch", NUMBER),
        column("at_us", NUMBER),
        column("kind", TEXT),
        column("v", NUMBER),
        column("cause", TEXT),
        column("actor", TEXT),
        column("entities", TEXT),
        column("body", BYTES),
        column("hash", BYTES),
        sa.CheckConstraint("length(hash) = 16", name="record_hash_length"),
    )
    make("story", key("entity", SORTED), key("lsn", NUMBER), rowid=False)
    make("blob", key("name", SORTED), column("body", BYTES))
    make(
        "answer",
        key("owner", NUMBER),
        key("key", SORTED),
        column("digest", TEXT),
        column("lsn", NUMBER),
        column("body", BYTES),
    )
    op.create_index("answer_lsn", "answer", ["lsn"])
    one_row()
    cuts()
    make(
        "history",
        key("entity", SORTED),
        column("finished_us", NUMBER),
        column("owner", NUMBER),
        column("lsn", NUMBER),
        column("body", BYTES),
    )
    op.create_index("history_finished", "history", ["finished_us"])
    op.create_index("history_owner", "history", ["owner", "finished_us"])


def one_row() -> None:
    """The tables that hold one row: leadership and the floor."""
    make(
        "leader",
        key("id", NUMBER),
        column("epoch", NUMBER),
        column("holder", TEXT),
        column("expires_us", NUMBER),
        sa.CheckConstraint("id = 1", name="leader_one_row"),
    )
    op.execute("INSERT INTO leader (id, epoch, holder, expires_us) VALUES (1, 0, '', 0)")
    make(
        "floor",
        key("id", NUMBER),
        column("lsn", NUMBER),
        column("hash", BYTES),
        sa.CheckConstraint("id = 1", name="floor_one_row"),
    )


def cuts() -> None:
    """Closed cuts, and one table of entity versions per kind."""
    make(
        "cut",
        key("cut_lsn", NUMBER),
        column("count", NUMBER),
        column("digest", TEXT),
        column("hash", BYTES),
    )
    for kind in CUT_KINDS:
        make(
            kind,
            key("id", SORTED),
            key("cut_lsn", NUMBER),
            column("state", TEXT),
            column("owner", NUMBER),
            sa.Column("body", BYTES, nullable=True),
        )
