"""A database of an earlier schema is brought up without touching what it holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from xce.wal import schema, sqlite
from xce.wal.open import bring_up, migrations_folder, schema_version
from xce.wal.port import LogUnfit
from xce.wal.postgres import connect


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine on an empty database of each kind."""
    if request.param == "sqlite":
        made = sqlite.engine_of(sqlite.connect(tmp_path / "xce.db"))
    else:
        url = request.getfixturevalue("postgres_empty_url")
        made = sa.create_engine("postgresql+psycopg://", creator=lambda: plainly(url))
    yield made
    made.dispose()


def plainly(url: str) -> object:
    connection = connect(url)
    connection.autocommit = False
    return connection


def at(engine: sa.Engine, version: str) -> None:
    """Bring an empty database to an earlier version."""
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


def test_the_first_schema_is_upgraded_on_demand_and_keeps_its_rows(engine: sa.Engine) -> None:
    at(engine, "0001")
    with engine.begin() as connection:
        connection.execute(sa.insert(schema.BLOB).values(name="b1", body=b"kept"))
    with pytest.raises(LogUnfit, match="schema 0001, this version of XCE needs 0003"):
        bring_up(engine, upgrade=False)
    bring_up(engine, upgrade=True)
    with engine.connect() as connection:
        assert schema_version(connection) == "0003"
        assert connection.execute(sa.select(schema.BLOB.c.body)).scalar() == b"kept"
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.METADATA) == []
