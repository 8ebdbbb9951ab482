"""What became of the jobs of a trace, in few bytes each; schedules; the header of a run."""

from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

import xce
from xce.model.config import Config
from xce.model.host import HostFacts
from xce.sim.readers.form import SECOND_US

COLUMNS = ("id", "submit_s", "start_s", "end_s", "procs")


class Row(Struct, frozen=True, gc=False):
    """One job that ended; times are of the trace. `overtook`: an earlier one waited then."""

    number: int
    submit_us: int
    start_us: int
    end_us: int
    processors: int
    overtook: int
    user: int
    queue: str


class Results:
    """One row per job that ended, in the order of their ends."""

    WIDTH = 8

    def __init__(self) -> None:
        self._numbers = array("q")
        self._queues: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """One more job has ended."""
        queue = self._queues.setdefault(row.queue, len(self._queues))
        self._numbers.extend(
            (
                row.number, row.submit_us, row.start_us, row.end_us, row.processors,
                row.overtook, row.user, queue,
            )
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._numbers) // self.WIDTH

    def __iter__(self) -> Iterator[Row]:
        names = list(self._queues)
        for at in range(0, len(self._numbers), self.WIDTH):
            one = self._numbers[at : at + self.WIDTH]
            yield Row(one[0], one[1], one[2], one[3], one[4], one[5], one[6], names[one[7]])

    def starts_digest(self) -> str:
        """The sha256 of "id start" lines by id, in whole seconds: how schedules are compared."""
        lines = sorted((row.number, row.start_us // SECOND_US) for row in self)
        return sha256("".join(f"{n} {at}\n" for n, at in lines).encode()).hexdigest()


class Header(Struct, frozen=True, kw_only=True):
    """What must be known of a run for its numbers to mean something. Hashes of the trace as it was
    unpacked, of the configuration, of the hosts and of the code; the seed; how time goes."""

    xce: str
    code: str
    trace: str
    trace_sha256: str
    config: str
    hosts: str
    processors: int
    policy: str
    seed: int
    cadence: str
    order: str
    on_limit: str
    estimates: str
    delays: str
    jobs: int


@lru_cache(maxsize=1)
def code_digest() -> str:
    """The hash of all source files of the package, by their paths."""
    total, root = sha256(), Path(xce.__file__).parent
    for path in sorted(root.rglob("*.py")):
        total.update(f"{path.relative_to(root).as_posix()}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def config_digest(config: Config) -> str:
    """The digest of a configuration, as `xce config check` names it."""
    return blake2b(msgspec.json.encode(config, order="sorted"), digest_size=16).hexdigest()


def hosts_digest(hosts: dict[str, HostFacts]) -> str:
    """The digest of what hosts say they are."""
    return blake2b(msgspec.json.encode(hosts, order="sorted"), digest_size=16).hexdigest()


def write_schedule(out: TextIO, header: Header, rows: Iterable[Row]) -> None:
    """A schedule as comma-separated lines by id, behind the header as comments."""
    for name, value in msgspec.to_builtins(header).items():
        out.write(f"# {name}: {value}\n")
    out.write(",".join(COLUMNS) + "\n")
    for row in sorted(rows, key=lambda row: row.number):
        times = (_seconds(at) for at in (row.submit_us, row.start_us, row.end_us))
        out.write(f"{row.number},{','.join(times)},{row.processors}\n")


def _seconds(at_us: int) -> str:
    """Whole seconds as they are, else with what is behind them."""
    whole, rest = divmod(at_us, SECOND_US)
    return f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole)


def read_schedule(path: Path) -> tuple[dict[str, Any], dict[int, tuple[str, str, str]]]:
    """The header of a schedule and, by id, what was written of submission, start and end."""
    header: dict[str, Any] = {}
    found: dict[int, tuple[str, str, str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            header[key] = value
        elif line[:1].isdigit():
            number, submit, start, end, _ = line.split(",")
            found[int(number)] = (submit, start, end)
    return header, found
