"""Cuts hold arrays, job groups and what fairshare remembers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT as PG_TEXT

revision = "0003"
down_revision = "0002"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SORTED = sa.Text().with_variant(PG_TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    for kind in ("job_array", "job_group", "share"):
        _table(kind)


def _table(kind: str) -> None:
    op.create_table(
        kind,
        sa.Column("id", SORTED, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("cut_lsn", NUMBER, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("owner", NUMBER, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sqlite_strict=True,
        sqlite_with_rowid=True,
    )
