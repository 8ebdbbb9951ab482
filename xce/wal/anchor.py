"""The anchor: the last lsn that was acknowledged, kept outside the database.

After every durable append the controller writes the head here, before it answers anybody. At a
start the log must reach the anchor and have its hash there; a database that was truncated, rolled
back by a damaged file, or restored from an older copy does not, and is refused with what is
missing. The file has two slots, written in turn and each with a checksum, so that a torn write
leaves the one before. It is as long as it will ever be from the beginning: a write changes no
metadata. Nothing but this file and the log's head is known here.
"""

import os
import struct
import zlib
from pathlib import Path

from msgspec import Struct

from xce.wal.port import Head, LogBroken, LogCorrupt, LogReader, LogUnfit, RecordsMissing

SLOT_BYTES = 2048
_MAGIC = b"XCEANCH1"
_FIELDS = struct.Struct(">8sQQQ16s")
_SUM = struct.Struct(">I")


class _Slot(Struct, frozen=True, gc=False, kw_only=True):
    """One slot: the `turn`-th write of the anchor."""

    turn: int
    head: Head


class Anchor:
    """The anchor file of one controller; made when it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writes = 0
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._newest = self._read()
            except BaseException:
                os.close(self._handle)
                raise
        except OSError as error:
            raise LogUnfit(f"cannot use the anchor {path}: {error.strerror}") from error

    @property
    def head(self) -> Head | None:
        """What was written last; None when nothing ever was."""
        return self._newest.head if self._newest else None

    def write(self, head: Head) -> None:
        """Makes `head` the anchor, durably. A failure is `LogBroken`: nothing may be answered."""
        turn = self._newest.turn + 1 if self._newest else 1
        data = _pack(_Slot(turn=turn, head=head))
        try:
            if os.pwrite(self._handle, data, turn % 2 * SLOT_BYTES) != len(data):
                raise LogBroken(f"the anchor {self.path} took only a part of what was written")
            os.fdatasync(self._handle)
        except OSError as error:
            raise LogBroken(f"the anchor {self.path} failed: {error.strerror}") from error
        self._newest = _Slot(turn=turn, head=head)
        self.writes += 1

    def check(self, log: LogReader) -> None:
        """Raises `RecordsMissing` unless the log holds what the anchor names."""
        anchor, head = self.head, log.head()
        if anchor is None or anchor.lsn == 0:
            return
        if head.lsn < anchor.lsn:
            raise RecordsMissing(
                f"acknowledged records missing: {anchor.lsn - head.lsn} (head {head.lsn}, anchor "
                f"{anchor.lsn}); the database was truncated or is an older copy"
            )
        if anchor.lsn < log.floor():
            return
        if log.hash_at(anchor.lsn) != anchor.hash:
            raise RecordsMissing(
                f"record {anchor.lsn} is not the one that was acknowledged: the database holds "
                f"another history (head {head.lsn}, anchor {anchor.lsn})"
            )

    def close(self) -> None:
        """Gives the file back."""
        os.close(self._handle)

    def _read(self) -> _Slot | None:
        """The newest slot that is whole; None in a new file."""
        size = os.fstat(self._handle).st_size
        if size == 0:
            self._make()
            return None
        found = [_unpack(os.pread(self._handle, SLOT_BYTES, place)) for place in (0, SLOT_BYTES)]
        whole = [slot for slot in found if slot is not None]
        if whole:
            return max(whole, key=lambda slot: slot.turn)
        if os.pread(self._handle, 2 * SLOT_BYTES, 0).strip(b"\0"):
            raise LogCorrupt(f"the anchor {self.path} is damaged: neither of its slots is whole")
        return None

    def _make(self) -> None:
        """Gives a new file its length, durably."""
        os.pwrite(self._handle, bytes(2 * SLOT_BYTES), 0)
        os.fsync(self._handle)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _pack(slot: _Slot) -> bytes:
    head = slot.head
    data = _FIELDS.pack(_MAGIC, slot.turn, head.lsn, head.epoch, head.hash)
    return data + _SUM.pack(zlib.crc32(data))


def _unpack(data: bytes) -> _Slot | None:
    """The slot, None when it is not whole."""
    end = _FIELDS.size
    if len(data) < end + _SUM.size or _SUM.unpack_from(data, end)[0] != zlib.crc32(data[:end]):
        return None
    magic, turn, lsn, epoch, digest = _FIELDS.unpack_from(data)
    if magic != _MAGIC:
        return None
    return _Slot(turn=turn, head=Head(lsn=lsn, hash=digest, epoch=epoch))
