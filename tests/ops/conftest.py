"""A short home per test, and services that are ended with it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops.xce_up import ONE_HOST, Service


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that is not there yet; its path is short, as sockets want it."""
    folder = Path(tempfile.mkdtemp(prefix="xce-ops-", dir="/tmp"))
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def one_host(home: Path) -> Path:
    """A cluster file with one emulated host."""
    path = home.parent / "one.toml"
    path.write_text(ONE_HOST)
    return path


@pytest.fixture
def serve(home: Path, one_host: Path) -> Iterator[Callable[..., Service]]:
    """Start a cluster on the home with the one host, or another command."""
    started: list[Service] = []

    def start(*arguments: object, cluster: Path | None = one_host, **more: Any) -> Service:
        site = ("--cluster", cluster) if cluster else ()
        service = Service(home, *site, *arguments, **more)
        started.append(service)
        return service

    yield start
    for service in started:
        service.close()
