"""What a host knows of this log, compared with it: whether acknowledged records are missing.

A host remembers the last record that it was told of. A log that lacks it was truncated or is an
older copy, although the controller's own anchor may fit, when the whole home was put back. Then
numbers would be given out again, so the controller ends. Hosts of another log say nothing here.
"""

from xce.wal.port import Head, LogReader


def missing(log: LogReader, head: Head, host: str, seen: tuple[int, str]) -> str:
    """What the log lacks of what the host has `seen` (lsn, hash); "" when nothing."""
    lsn, digest = seen
    if lsn > head.lsn:
        return (
            f"acknowledged records missing: {lsn - head.lsn} (head {head.lsn}, host {host} has "
            f"seen {lsn}); the home is an older copy"
        )
    if lsn <= 0 or lsn < log.floor():
        return ""
    found = log.hash_at(lsn)
    if found is not None and found.hex() == digest:
        return ""
    return (
        f"record {lsn} is not the one that host {host} has seen: the home holds another history "
        f"(head {head.lsn})"
    )
