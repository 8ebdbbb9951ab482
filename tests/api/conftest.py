"""A served engine for one test: a real uvicorn on a unix socket in a fresh home."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.engine import MemoryEngine, run, served

Test = Callable[[MemoryEngine, httpx.AsyncClient], Coroutine[Any, Any, None]]


@pytest.fixture
def over_socket(tmp_path: Path) -> Callable[[Test], None]:
    """Runs a test's coroutine with the engine and a client of its unix socket."""

    def call(test: Test) -> None:
        async def main() -> None:
            async with served(tmp_path) as (engine, _):
                transport = httpx.AsyncHTTPTransport(uds=str(tmp_path / "api.sock"))
                async with httpx.AsyncClient(transport=transport, base_url="http://xce") as client:
                    await test(engine, client)

        run(main())

    return call
