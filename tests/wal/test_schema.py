"""Migrations make the tables that the code expects, on both databases."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.kit.postgres import PostgresServer
from xce.wal import schema, sqlite
from xce.wal.open import bring_up, migrations_folder, open_sqlite, schema_version
from xce.wal.port import CUT_KINDS, LogAway, LogTooNew, LogUnfit
from xce.wal.postgres import connect, open_postgres, place_of


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine on an empty database of each kind."""
    if request.param == "sqlite":
        made = sqlite.engine_of(sqlite.connect(tmp_path / "xce.db"))
    else:
        url = request.getfixturevalue("postgres_empty_url")
        made = sa.create_engine("postgresql+psycopg://", creator=lambda: connect_plain(url))
    yield made
    made.dispose()


def connect_plain(url: str) -> object:
    connection = connect(url)
    connection.autocommit = False
    return connection


def test_the_migrations_make_exactly_the_tables_of_the_code(engine: sa.Engine) -> None:
    bring_up(engine, upgrade=False)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.METADATA) == []
        assert set(sa.inspect(connection).get_table_names()) == {
            "alembic_version", "record", "story", "blob", "answer", "leader", "floor", "cut",
            "history", *CUT_KINDS,
        }  # fmt: skip


def test_every_sqlite_table_of_the_log_is_strict(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    texts = dict(log._raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"))
    log.close()
    wanted = {
        table.name: str(
            sa.schema.CreateTable(table).compile(dialect=sa.create_engine("sqlite://").dialect)
        )
        for table in schema.METADATA.tables.values()
    }
    del texts["alembic_version"]
    assert all("STRICT" in text for text in texts.values())
    assert {name: "".join(text.split()) for name, text in texts.items()} == {
        name: "".join(text.split()) for name, text in wanted.items()
    }


def test_the_code_names_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.VERSION]


def test_bringing_up_twice_changes_nothing(engine: sa.Engine) -> None:
    bring_up(engine, upgrade=False)
    bring_up(engine, upgrade=False)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM leader")).scalar() == 1


def test_a_migration_that_is_cut_short_leaves_nothing(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    def fail(*_words: object, **_named: object) -> None:
        raise Killed

    monkeypatch.setattr("alembic.op.create_index", fail)
    with pytest.raises(Killed):
        bring_up(engine, upgrade=False)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == []
    monkeypatch.undo()
    bring_up(engine, upgrade=False)
    with engine.connect() as connection:
        assert schema_version(connection) == schema.VERSION


@pytest.mark.parametrize(
    ("version", "error", "said"),
    [
        ("9999", LogTooNew, "schema 9999, written by a later version"),
        ("0000", LogUnfit, "schema 0000, this version of XCE needs .*`xce db upgrade`"),
    ],
)
def test_another_schema_is_refused(
    engine: sa.Engine, version: str, error: type[Exception], said: str
) -> None:
    bring_up(engine, upgrade=False)
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{version}'"))
    with pytest.raises(error, match=said):
        bring_up(engine, upgrade=False)


def test_tables_of_somebody_else_are_left_alone(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE photo (id INTEGER)"))
    with pytest.raises(LogUnfit, match="none of XCE's"):
        bring_up(engine, upgrade=True)


def test_a_number_column_takes_no_text(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT value in INTEGER column"):
        log._raw.execute("UPDATE leader SET epoch = 'many'")
    log.close()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("synchronous_commit = off", "synchronous_commit is off, expected on or remote_apply"),
        ("synchronous_commit = local", "synchronous_commit is local"),
        ("default_transaction_isolation = 'serializable'", "transaction_isolation is serializable"),
    ],
)
def test_a_database_that_would_lose_commits_is_refused(
    postgres_server: PostgresServer, postgres_url: str, setting: str, said: str
) -> None:
    name = postgres_url.split("@/")[1].split("?", maxsplit=1)[0]
    postgres_server.execute(f"ALTER DATABASE {name} SET {setting}")
    with pytest.raises(LogUnfit, match=said):
        open_postgres(postgres_url)


@pytest.mark.postgres
def test_the_server_says_how_durable_it_is(postgres_url: str) -> None:
    log = open_postgres(postgres_url)
    about = log.about()
    assert (about.durability["fsync"], about.durability["synchronous_commit"]) == ("on", "on")
    assert int(about.version.split(".")[0]) >= 14
    log.close()


def test_a_database_that_cannot_be_reached_is_one_line_without_the_password(tmp_path: Path) -> None:
    url = f"postgresql://me:secret@/db?host={tmp_path}"
    with pytest.raises(LogAway, match=r"cannot reach postgresql\(host=") as refusal:
        open_postgres(url)
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(LogUnfit, match="cannot use the database at postgresql: invalid"):
        open_postgres("postgresql://me?no_such_option=1")
    assert place_of(url) == f"postgresql(host={tmp_path} dbname=db)"


def test_inserts_have_one_mark_per_column() -> None:
    texts = schema.insert_texts("?")
    assert texts["story"] == "INSERT INTO story (entity, lsn) VALUES (?, ?) ON CONFLICT DO NOTHING"
    assert {name: text.count("?") for name, text in texts.items() if name in ("record", "job")} == {
        "record": 10,
        "job": 5,
    }
