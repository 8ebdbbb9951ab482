"""What somebody has, in the ledger's own words: rows of hosts, bits of instances."""

from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.processors import CPU
from xce.scheduler.ledger import Taking
from xce.scheduler.snapshot import HostTable

PORT = "port"


def taking_of(work: Workspace, share: Share) -> Taking | None:
    """A share as the ledger counts it; None where its host is gone."""
    table = work.hosts
    host = table.index.get(share.host)
    if host is None:
        return None
    bits: dict[str, int] = {}
    ports = []
    for key in share.instances:
        _, type_, name = key.split("/", 2)
        if type_ == PORT:
            ports.append(int(name))
            continue
        number = int(name) if type_ == CPU else _numbers(table, host).get(key)
        if number is not None:
            bits[type_] = bits.get(type_, 0) | 1 << number
    counters = tuple(
        (plain, amount)
        for plain, amount in ((name.split("@")[0], amount) for name, amount in share.counters)
        if plain in table.totals or ("free", plain) in work.ledger.rows
    )
    return Taking(host, counters, tuple(sorted(bits.items())), tuple(ports))


def _numbers(table: HostTable, host: int) -> dict[str, int]:
    """The bit of each instance of a host, by its key."""
    memo: dict[int, dict[str, int]] = table.memo.setdefault("numbers", {})
    if host not in memo:
        memo[host] = {
            one.key: number
            for rows in table.instances.values()
            for number, one in rows[host].items()
        }
    return memo[host]
