"""Records and batches for the tests of the log."""

from xce.model.records import GroupSealed, HostChanged, Record
from xce.wal.port import Answer, Batch, CutClose, CutRow, HistoryRow

SECOND_US = 1_000_000


def sealed(lsn: int, epoch: int, group: int = 7) -> Record:
    """A small record that names one group."""
    return Record(
        lsn=lsn,
        epoch=epoch,
        at_us=1000 + lsn,
        kind="GroupSealed",
        v=1,
        cause=f"seal-{lsn}",
        actor="user:1000",
        entities=(f"g{group}",),
        body=GroupSealed(group=group),
    )


def host_changed(lsn: int, epoch: int, host: str, why: str = "") -> Record:
    """A small record that names a host, and the host again."""
    return Record(
        lsn=lsn,
        epoch=epoch,
        at_us=1000 + lsn,
        kind="HostChanged",
        v=1,
        cause="report",
        actor=f"host:{host}",
        entities=(f"host:{host}", f"host:{host}"),
        body=HostChanged(host=host, event="miss", why=why),
    )


def batch(epoch: int, first: int, count: int = 1) -> Batch:
    """`count` records from lsn `first` on."""
    return Batch(
        epoch=epoch, records=tuple(sealed(lsn, epoch) for lsn in range(first, first + count))
    )


def answer(key: str, lsn: int, body: bytes = b"{}", owner: int = 1000) -> Answer:
    """An answer of user 1000."""
    return Answer(owner=owner, key=key, digest="d1", lsn=lsn, body=body)


def cut_row(kind: str, entity: str, cut_lsn: int, body: bytes | None) -> CutRow:
    """An entity at a cut."""
    return CutRow(kind=kind, id=entity, cut_lsn=cut_lsn, body=body, state="PENDING", owner=1000)


def close_cut(cut_lsn: int, count: int, digest: str = "0" * 32) -> CutClose:
    """The end of a cut."""
    return CutClose(cut_lsn=cut_lsn, count=count, digest=digest)


def finished(entity: str, finished_us: int, owner: int = 1000) -> HistoryRow:
    """Finished work."""
    body = f'{{"id":"{entity}"}}'.encode()
    return HistoryRow(entity=entity, finished_us=finished_us, owner=owner, lsn=1, body=body)
