"""An append-only file of entries that survives kill -9 and power loss.

One commit is one frame: a header line with length and checksum, then one line of JSON per entry.
`add` only collects; `commit` writes all collected entries as one frame and returns when they are
on the disk. Only the last frame can be torn, because none is begun before the one before it is
durable: a bad frame at the end is cut off, a bad frame with good ones behind it is damage, and
the file is refused. The journal knows nothing of what its entries mean.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Iterable
from typing import Any

from xce import crashpoint

Entry = dict[str, Any]
_MAGIC = b"XJ1"


class JournalDamaged(Exception):
    """The journal has a bad frame before good ones; its host must not start anything by it."""


def _frame(entries: Iterable[Entry]) -> bytes:
    body = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
    return b"%s %d %08x\n" % (_MAGIC, len(body), zlib.crc32(body)) + body


def _frame_at(data: bytes, offset: int) -> tuple[list[Entry], int] | None:
    """The entries of the frame at `offset` and where it ends; None when it is not whole."""
    end = data.find(b"\n", offset, offset + 64)
    head = data[offset:end].split() if end >= 0 else []
    if len(head) != 3 or head[0] != _MAGIC or not head[1].isdigit():
        return None
    start, stop = end + 1, end + 1 + int(head[1])
    body = data[start:stop]
    if len(body) != stop - start or b"%08x" % zlib.crc32(body) != head[2]:
        return None
    return [json.loads(line) for line in body.splitlines()], stop


def _has_frame_after(data: bytes, offset: int) -> bool:
    at = data.find(_MAGIC + b" ", offset + 1)
    while at >= 0:
        if _frame_at(data, at) is not None:
            return True
        at = data.find(_MAGIC + b" ", at + 1)
    return False


def sync_folder(path: str) -> None:
    """Make names created, renamed or removed in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class JournalFull(Exception):
    """The disk took no more; nothing was written, the entries wait for the next commit."""


class Journal:
    """One open journal file. `entries` holds what it had when it was opened."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._waiting: list[Entry] = []
        self.is_urgent = False
        fresh = not os.path.exists(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if fresh:
            sync_folder(os.path.dirname(path))
        self.entries, self.size_bytes = self._read()

    def _read(self) -> tuple[list[Entry], int]:
        with open(self.path, "rb") as source:
            data = source.read()
        entries: list[Entry] = []
        offset = 0
        while (found := _frame_at(data, offset)) is not None:
            entries += found[0]
            offset = found[1]
        if offset < len(data):
            if _has_frame_after(data, offset):
                raise JournalDamaged(
                    f"{self.path}: damaged at byte {offset}, with good entries behind it; "
                    "move the file away only when nothing of this host runs any more"
                )
            os.ftruncate(self._file, offset)
            os.fsync(self._file)
        return entries, offset

    def add(self, entry: Entry, *, lazily: bool = False) -> None:
        """Collect an entry for the next commit, which nothing waits for when it comes `lazily`."""
        self._waiting.append(entry)
        self.is_urgent = self.is_urgent or not lazily

    @property
    def is_dirty(self) -> bool:
        """Whether entries wait for a commit."""
        return bool(self._waiting)

    def commit(self) -> None:
        """Write what was collected, as one frame, and wait until it is durable."""
        if not self._waiting:
            return
        frame = _frame(self._waiting)
        crashpoint.reach("journal.before_write")
        try:
            _write_all(self._file, frame)
        except OSError as error:
            os.ftruncate(self._file, self.size_bytes)
            raise JournalFull(f"{self.path}: {error.strerror}") from error
        crashpoint.reach("journal.after_write")
        os.fdatasync(self._file)
        crashpoint.reach("journal.after_sync")
        self.size_bytes += len(frame)
        self._waiting.clear()
        self.is_urgent = False

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the whole file by these entries; either the old or the new one is found."""
        fresh = self.path + ".new"
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        handle = os.open(fresh, flags, 0o600)
        try:
            frame = _frame(entries)
            _write_all(handle, frame)
            os.fsync(handle)
            os.rename(fresh, self.path)
        except OSError:
            os.close(handle)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh)
            raise
        sync_folder(os.path.dirname(self.path))
        os.close(self._file)
        self._file, self.size_bytes = handle, len(frame)

    def close(self) -> None:
        """Close the file; what was not committed is gone."""
        os.close(self._file)


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
