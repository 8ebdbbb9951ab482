"""Runs migrations inside the process that opens the log (xce/wal/open.py gives the connection).

There is no alembic.ini and no URL here: a migration runs only on a connection that already holds
the log (SQLite's file lock, an advisory lock on PostgreSQL), in one transaction.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
