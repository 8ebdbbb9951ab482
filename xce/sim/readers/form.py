"""The neutral form of a workload, and what all readers share: lines with numbers, faults."""

import gzip
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

SECOND_US = 1_000_000
FAULTS_KEPT = 100


class TraceJob(Struct, frozen=True, gc=False, kw_only=True):
    """One job of a trace. Times count from the trace's own zero; `run_us` below 0 is unknown and
    `limit_us` 0 unsaid. `tasks` are processors, or processes where each has `gpus` of its own.
    `members` above 1 makes it a gang of so many jobs of that shape."""

    number: int
    submit_us: int
    run_us: int
    tasks: int = 1
    limit_us: int = 0
    members: int = 1
    gpus: int = 0
    gpu_milli: int = 0
    gpu_models: tuple[str, ...] = ()
    cpu_milli: int = 0
    mem_bytes: int = 0
    wait_us: int = -1
    status: int = -1
    user: int = -1
    group: int = -1
    queue: str = ""
    project: str = ""
    name: str = ""
    after: int = 0
    think_us: int = 0


class Fault(Struct, frozen=True, kw_only=True):
    """A line that could not be read."""

    line: int
    message: str


class Trace(Struct, frozen=True, kw_only=True):
    """A workload: jobs by submission and number, what the file's header said, what was wrong.
    `unit` is what its processors are: slot or gpu."""

    name: str
    digest: str
    jobs: tuple[TraceJob, ...]
    header: dict[str, str] = {}
    faults: tuple[Fault, ...] = ()
    fault_count: int = 0
    unit: str = "slot"


class BrokenTrace(Exception):
    """A file, or with `strict` a line, of which nothing can be made."""


class Unread(Exception):
    """What is wrong with the line under way."""


class Reading:
    """One file being read."""

    def __init__(self, name: str, text: str, *, strict: bool) -> None:
        self.name = name
        self.header: dict[str, str] = {}
        self._text = text
        self._strict = strict
        self._jobs: list[TraceJob] = []
        self._seen: dict[int, int] = {}
        self._faults: list[Fault] = []
        self._count = 0

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that say something, numbered from 1."""
        for number, line in enumerate(self._text.splitlines(), 1):
            if line.strip():
                yield number, line

    def add(self, line: int, job: TraceJob) -> None:
        """One more job; its number and times must make sense."""
        if job.number in self._seen:
            raise Unread(f"job {job.number} was on line {self._seen[job.number]} already")
        if job.submit_us < 0:
            raise Unread(f"job {job.number} is submitted before the trace begins")
        if job.tasks < 1:
            raise Unread(f"job {job.number} asks for {job.tasks} processors")
        self._seen[job.number] = line
        self._jobs.append(job)

    def fault(self, line: int, message: str) -> None:
        """A line that is left out; the end of it all with `strict`."""
        if self._strict:
            raise BrokenTrace(f"{self.name}:{line}: {message}")
        self._count += 1
        if len(self._faults) < FAULTS_KEPT:
            self._faults.append(Fault(line=line, message=message))

    def trace(self, digest: str) -> Trace:
        """All that was read."""
        jobs = sorted(self._jobs, key=lambda job: (job.submit_us, job.number))
        return Trace(
            name=self.name, digest=digest, jobs=tuple(jobs), header=self.header,
            faults=tuple(self._faults), fault_count=self._count,
            unit="gpu" if "gpu" in self.header.get("Computer", "").lower() else "slot",
        )  # fmt: skip


def text_of(path: Path) -> tuple[str, str]:
    """A file's text, unpacked, and the sha256 of what was unpacked."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode(), sha256(data).hexdigest()
    except OSError as error:
        raise BrokenTrace(f"{path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise BrokenTrace(f"{path}: is cut off or no gzip: {error}") from error
    except UnicodeDecodeError as error:
        raise BrokenTrace(f"{path}: is not UTF-8 text") from error


def whole(word: str, what: str) -> int:
    """A number that may have a fraction, as some logs write them; the fraction is dropped."""
    try:
        return int(word) if word.lstrip("-").isdecimal() else int(float(word))
    except (ValueError, OverflowError):
        raise Unread(f"{what}: expected a number, found {word!r}") from None
