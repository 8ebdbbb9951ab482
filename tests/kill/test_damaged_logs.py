"""`xce controller` on a log that lost something: it says what, and does not start."""

import re
import signal
from contextlib import closing

import psycopg
import pytest

from tests.kill.damage import older_copy_refused, ruin

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


def test_a_truncated_database_is_refused_twice_with_the_count_of_what_is_missing() -> None:
    with ruin() as one:
        one.live(signal.SIGKILL)
        one.change(f"DELETE FROM record WHERE lsn > {HEAD} - 3")
        assert_missing(*one.start_refused(), 3)
        assert_missing(*one.start_refused(), 3)


def test_an_older_copy_of_the_database_is_refused() -> None:
    assert_missing(*older_copy_refused())


def test_one_flipped_bit_in_the_write_ahead_file_is_refused() -> None:
    with ruin() as one:
        one.live(signal.SIGKILL)
        one.flip("xce.db-wal", b"kept-3")
        assert_missing(*one.start_refused())


ONE_BIT = "UPDATE {} SET body = CAST(replace(CAST(body AS TEXT), 'kept-9', 'kept-8') AS BLOB)"


@pytest.mark.parametrize(
    ("table", "end", "said"),
    [
        ("record", signal.SIGKILL, r"record \d+ .*hash"),
        ("blob", signal.SIGKILL, r"the text \w+ does not have the content that its name says"),
        ("job", signal.SIGTERM, r"the cut at record \d+ does not match its digest"),
    ],
)
def test_one_flipped_bit_in_a_table_is_refused_with_its_place(
    table: str, end: int, said: str
) -> None:
    with ruin() as one:
        one.live()
        one.live(end)
        one.change(ONE_BIT.format(table))
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
