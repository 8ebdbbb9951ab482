"""A log of each kind, and a way to open a second handle on what the first one wrote."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xce.wal.memory import MemoryLog, MemoryStore
from xce.wal.open import open_sqlite
from xce.wal.port import Log
from xce.wal.postgres import open_postgres


class Place:
    """Where a log is: gives handles on it, one after the other."""

    def __init__(self, name: str, opener: Callable[[], Log]) -> None:
        self.name = name
        self._opener = opener
        self._open: list[Log] = []

    def log(self) -> Log:
        """A handle; the ones before are given back first."""
        self.close()
        return self.another()

    def another(self) -> Log:
        """A handle beside the ones that are open."""
        self._open.append(self._opener())
        return self._open[-1]

    def close(self) -> None:
        """Gives all handles back."""
        while self._open:
            self._open.pop().close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """One place of each kind."""
    opener: Callable[[], Log]
    if request.param == "memory":
        store = MemoryStore()
        opener = lambda: MemoryLog(store)  # noqa: E731
    elif request.param == "sqlite":
        opener = lambda: open_sqlite(tmp_path / "xce.db")  # noqa: E731
    else:
        url = request.getfixturevalue("postgres_url")
        opener = lambda: open_postgres(url)  # noqa: E731
    place = Place(request.param, opener)
    yield place
    place.close()
