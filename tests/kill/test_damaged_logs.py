"""`xce controller` on a log that lost something: it says what, and does not start."""

import re
import signal
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.kill.damage import Ruin, older_copy_refused, ruin

pytestmark = [pytest.mark.processes, pytest.mark.slow]
HEAD = "(SELECT max(lsn) FROM record)"
MISSING = r"xce: acknowledged records missing: (\d+) \(head (\d+), anchor (\d+)\)"


def assert_missing(code: int, said: str, count: int | None = None) -> None:
    """One line that names how many records are gone, and from where on."""
    assert (code, said.count("\n")) == (1, 0)
    found = re.match(MISSING, said)
    assert found is not None, said
    gone, head, anchor = map(int, found.groups())
    assert gone == anchor - head == (count or gone)
    assert gone > 0


@pytest.fixture(scope="module")
def killed() -> Iterator[Ruin]:
    """A home with a life that ended in order, with a cut, and one that was killed."""
    with ruin() as one:
        one.live()
        one.live(signal.SIGKILL)
        yield one


def test_a_truncated_database_is_refused_twice_with_the_count_of_what_is_missing(
    killed: Ruin,
) -> None:
    with ruin(like=killed) as one:
        one.change(f"DELETE FROM record WHERE lsn > {HEAD} - 3")
        assert_missing(*one.start_refused(), 3)
        assert_missing(*one.start_refused(), 3)


def test_an_older_copy_of_the_database_is_refused() -> None:
    assert_missing(*older_copy_refused())


def test_one_flipped_bit_in_the_write_ahead_file_is_refused(killed: Ruin) -> None:
    with ruin(like=killed) as one:
        one.flip("xce.db-wal", b"kept-8")
        assert_missing(*one.start_refused())


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        ("record", "kept-9", r"record \d+ .*hash"),
        ("blob", "kept-9", r"the text \w+ does not have the content that its name says"),
        ("job", "kept-3", r"the cut at record \d+ does not match its digest"),
    ],
)
def test_one_flipped_bit_in_a_table_is_refused_with_its_place(
    killed: Ruin, table: str, name: str, said: str
) -> None:
    other = name[:-1] + chr(ord(name[-1]) ^ 1)
    text = f"replace(CAST(body AS TEXT), '{name}', '{other}')"
    with ruin(like=killed) as one:
        one.change(f"UPDATE {table} SET body = CAST({text} AS BLOB)")
        code, line = one.start_refused()
        assert (code, line.count("\n")) == (1, 0), line
        assert re.match(f"xce: {said}", line), line


@pytest.mark.postgres
def test_a_truncated_postgresql_database_is_refused(postgres_empty_url: str) -> None:
    with ruin(database=postgres_empty_url) as one:
        one.live(signal.SIGKILL)
        with closing(psycopg.connect(postgres_empty_url, autocommit=True)) as connection:
            connection.execute(f"DELETE FROM record WHERE lsn > {HEAD} - 2".encode())
        assert_missing(*one.start_refused(), 2)
