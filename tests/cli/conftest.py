"""A served engine in a thread, and the command run in this process against it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.api.engine import MemoryEngine
from xce.api.serve import Service
from xcecli.main import main


class Live:
    """A controller's stand-in at `home`; `engine` is what is behind it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.engine: MemoryEngine = self.call(self._make())
        self._service = Service(self.engine, home)
        self.call(self._service.start())

    async def _make(self) -> MemoryEngine:
        return MemoryEngine()

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(20)

    def put(self, what: str, key: int | str, **fields: Any) -> None:
        """Change an entity, and let those who wait look again."""

        async def change() -> None:
            self.engine.put(what, key, **fields)
            self.engine.state.lsn += 1
            async with self.engine._grown:
                self.engine._grown.notify_all()

        self.call(change())

    def stop(self) -> None:
        self.call(self._service.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """A controller that the command finds by XCE_HOME."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XCE_HOME", str(home))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("XCE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    served = Live(home)
    yield served
    served.stop()


Told = tuple[int, str, str]


@pytest.fixture
def xcecli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Runs a command line; its exit code, stdout and stderr."""

    def call(*argv: str) -> Told:
        capsys.readouterr()
        code = main(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return call
