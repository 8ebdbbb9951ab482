"""The tape: the log of a simulation. Every record is encoded and chained as in any other log, and
then forgotten, or written to a file in the form of `xce db export`."""

from pathlib import Path
from typing import BinaryIO

from xce import __version__
from xce.controller.step import Step
from xce.wal import codec
from xce.wal.export import blob_line, header_line, record_line
from xce.wal.port import GENESIS


class Tape:
    """Takes records in order; keeps the head of the chain."""

    version = __version__

    def __init__(self, path: Path | None = None) -> None:
        self.hash = GENESIS
        self.lsn = 0
        self._file: BinaryIO | None = None
        self._blobs: set[str] = set()
        if path is not None:
            self._file = path.open("xb")
            self._file.write(header_line(0))

    def write(self, done: Step) -> None:
        """One more step."""
        if self._file is not None:
            for name, blob in done.blobs.items():
                if name not in self._blobs:
                    self._blobs.add(name)
                    self._file.write(blob_line(name, blob))
        for record in done.records:
            row = codec.encode(record, self.hash)
            self.hash, self.lsn = row.hash, row.lsn
            if self._file is not None:
                self._file.write(record_line(row))

    def close(self) -> None:
        """The first line says how long it became."""
        if self._file is not None:
            self._file.seek(0)
            self._file.write(header_line(self.lsn))
            self._file.close()
            self._file = None
