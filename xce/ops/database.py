"""`xce db`: looking after a log while no controller has it.

Every command takes the home's lock first, so it refuses while a controller runs, and none of
them makes a home where there is none. A database that is not SQLite is named with --database;
the home is then where the anchor is.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from xce.ops.home import EXIT_CONFLICT, EXIT_FAILED, EXIT_NOT_FOUND, holds_log
from xce.ops.main import home_option
from xce.wal.port import Log, LogCorrupt, LogError, LogHeld

Command = Callable[..., Any]


def log_options(command: Command) -> Command:
    """Which log."""
    database = click.option(
        "--database", default="sqlite", show_default=True, metavar="URL",
        help="sqlite, sqlite:PATH or postgresql://USER@HOST/NAME.",
    )  # fmt: skip
    return home_option(database(command))


_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group()
def db() -> None:
    """Check, upgrade, export and copy a log.

    No controller may have it meanwhile.

    \b
    xce db verify
    xce db backup /mnt/backup/xce.db
    """


@contextmanager
def opened(home: Path, database: str, *, upgrade: bool = False) -> Iterator[Log]:
    """The log of a home that nobody uses; every failure is one line and an exit code."""
    from xce.wal.open import HomeLock, open_log

    if not holds_log(home):
        _leave(f"{home} is no controller's home", EXIT_NOT_FOUND)
    try:
        lock = HomeLock(home)
        try:
            log = open_log(database, home, upgrade=upgrade)
            try:
                yield log
            finally:
                log.close()
        finally:
            lock.release()
    except LogHeld as error:
        _leave(str(error), EXIT_CONFLICT)
    except LogError as error:
        _leave(str(error), EXIT_FAILED)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}", EXIT_FAILED)


def _leave(text: str, code: int) -> None:
    click.echo(f"xce: {' '.join(text.split())}", err=True)
    sys.exit(code)


@db.command()
@log_options
@_json
def verify(home: Path, database: str, as_json: bool) -> None:
    """Check the whole log.

    Its files, hash chain, index, newest cut, anchor, fold and invariants.

    \b
    xce db verify --home /srv/xce
    """
    from xce.controller.core.fold.check import Broken, check
    from xce.controller.leading import ANCHOR_FILE
    from xce.controller.recover import recover
    from xce.wal.anchor import Anchor
    from xce.wal.verify import verify as verify_log

    with opened(home, database) as log:
        found = verify_log(log)  # type: ignore[arg-type]
        if (home / ANCHOR_FILE).exists():
            anchor = Anchor(home / ANCHOR_FILE)
            anchor.check(log)
            anchor.close()
        state, _ = recover(log)
        try:
            check(state)
        except Broken as error:
            raise LogCorrupt(f"the state that the log folds to is broken: {error}") from error
        if state.lsn != found.last_lsn:
            raise LogCorrupt(f"the state folds to lsn {state.lsn}, not {found.last_lsn}")
        told = {**msgspec.to_builtins(found), "jobs": len(state.jobs), "hosts": len(state.hosts)}
    if as_json:
        _print({"ok": True, **told})
        return
    click.echo(
        f"{home}: whole; records {found.first_lsn} to {found.last_lsn}, {found.blobs} texts, "
        f"cut at {found.cut_lsn}, {told['jobs']} jobs, {told['hosts']} hosts"
    )


@db.command()
@log_options
def upgrade(home: Path, database: str) -> None:
    """Bring an older database to this version's schema.

    Make a copy of it first.

    \b
    xce db backup before.db && xce db upgrade
    """
    with opened(home, database, upgrade=True) as log:
        about = log.about()
    click.echo(f"{about.place} is at this version's schema")


@db.command()
@log_options
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False),
              help="A new file; stdout else.")  # fmt: skip
def export(home: Path, database: str, out: Path | None) -> None:
    """Write the log as JSON lines.

    First the texts it names, then every record with its hash.

    \b
    xce db export -o log.jsonl
    xce db export | grep BarrierPassed
    """
    from xce.wal.export import export as export_log

    with opened(home, database) as log:
        if out is None:
            export_log(log, sys.stdout.buffer)  # type: ignore[arg-type]
            return
        with out.open("xb") as file:
            count = export_log(log, file)  # type: ignore[arg-type]
    click.echo(f"{count} lines in {out}")


@db.command()
@log_options
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(home: Path, database: str, target: Path) -> None:
    """Copy a SQLite log into the new file TARGET.

    The copy is checked whole.

    A copy is put to use as HOME/xce.db of a new home. In its old home the anchor refuses it,
    because acknowledged records are missing there.

    \b
    xce db backup /mnt/backup/xce.db
    """
    from xce.wal.export import backup as backup_log
    from xce.wal.sqlite import SqliteLog

    if target.exists():
        _leave(f"{target} is there already", EXIT_CONFLICT)
    with opened(home, database) as log:
        if not isinstance(log, SqliteLog):
            _leave("a PostgreSQL database is copied by its own tools (pg_dump)", EXIT_FAILED)
            return
        found = backup_log(log, target)
    click.echo(f"{target}: records {found.first_lsn} to {found.last_lsn}, checked")


@db.command()
@log_options
@click.argument("entity", required=False)
@click.option("--limit", default=100, show_default=True, help="How many, the latest first.")
def history(home: Path, database: str, entity: str | None, limit: int) -> None:
    """Finished work, one JSON object per line.

    Or one job or gang with all its fields.

    \b
    xce db history
    xce db history g7
    """
    with opened(home, database) as log:
        if entity is None:
            for row in log.histories(limit=limit):
                _print({"id": row.entity, "finished_us": row.finished_us, "owner": row.owner})
            return
        found = log.history(entity)
    if found is None:
        _leave(f"{entity}: no finished work of that name", EXIT_NOT_FOUND)
        return
    click.echo(found.body.decode())


def _print(body: dict[str, Any]) -> None:
    click.echo(msgspec.json.encode(body).decode())
