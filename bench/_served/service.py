"""A whole XCE for a benchmark: `xce up` as its own process on a fresh home, and how to reach it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

READY_S = 60.0


class Service:
    """A running `xce up`."""

    def __init__(self, home: Path, cluster: str = "", database: str = "") -> None:
        self.home = home
        command = [sys.executable, "-m", "xce.ops.main", "up", "--home", str(home), "--port", "0"]
        command += ["--allow-root"]
        if cluster:
            file = home.parent / f"{home.name}.toml"
            file.write_text(cluster)
            command += ["--cluster", str(file)]
        if database:
            command += ["--database", database]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    @property
    def socket_path(self) -> str:
        """Where the API answers."""
        return str(self.home / "api.sock")

    def wait_ready(self, hosts: int = 0) -> float:
        """Wait until the API is ready and `hosts` hosts are UP; the seconds it took."""
        began = time.monotonic()
        while time.monotonic() - began < READY_S:
            if self.process.poll() is not None:
                assert self.process.stderr is not None
                raise RuntimeError(self.process.stderr.read().decode())
            with contextlib.suppress(OSError, ValueError):
                if get(self.socket_path, "/readyz").get("status") == "ok":
                    found = get(self.socket_path, "/v1/hosts")["items"] if hosts else []
                    if sum(one["liveness"] == "UP" for one in found) >= hosts:
                        return time.monotonic() - began
            time.sleep(0.005)
        raise RuntimeError("the service was not ready in time")

    def rss_bytes(self) -> int:
        """Resident memory of the controller process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """End it as kill -9 does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=60)
        if self.process.stderr is not None:
            self.process.stderr.close()


def get(socket_path: str, path: str) -> Any:
    """One GET over the unix socket, decoded."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(socket_path)
        link.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        data = b""
        while chunk := link.recv(1 << 16):
            data += chunk
    return json.loads(data.partition(b"\r\n\r\n")[2])


@contextlib.contextmanager
def service(cluster: str = "", hosts: int = 0, database: str = "") -> Iterator[Service]:
    """A service on a fresh home that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="xce-bench-"))
    running = Service(folder / "home", cluster, database)
    try:
        running.wait_ready(hosts)
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


NOTHING_STARTS = """levels = ["host"]
[[queues]]
name = "normal"
active = false
"""


def cluster_of(hosts: int, slots: int) -> str:
    """An emulated cluster of equal hosts."""
    return (
        'levels = ["host"]\n\n[[emulate.hosts]]\n'
        f'name = "n%d"\ncount = {hosts}\nslots = {slots}\nmem = "64GB"\n'
    )


def durability(socket_path: str) -> dict[str, Any]:
    """What the log read back of its own settings."""
    told: dict[str, Any] = get(socket_path, "/version")
    return told.get("log", told)
