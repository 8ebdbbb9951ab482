"""The short way of a plain job that asks for nothing but amounts: found, booked, written down.

What it comes to is, byte for byte, what the search and the general way of laying and writing
come to; a test compares them. It serves a class whose one member runs on one host, asks for
amounts and for whole instances by type only, and makes no claim; nothing that it books is ever put
back.
"""

from collections.abc import Mapping, Sequence

from xce.model.host import Instance
from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts
from xce.scheduler.fit.demand import MARK, Item, MemberNeed
from xce.scheduler.fit.picks import bits_of, groups_of
from xce.scheduler.ledger import Bits, Ledger
from xce.scheduler.plan import PlacedMember, Placement
from xce.scheduler.serial.row import Plain, SerialRow
from xce.scheduler.serial.shelf import GAVE_UP, SLOTS, SLOTS_MAX, Shelf, Shelves, Wanted

Choices = dict[tuple[object, int], int]


class Quick:
    """One class's short way. `slots` is what each of its jobs takes of them."""

    def __init__(
        self, work: Workspace, need: MemberNeed, row: SerialRow, shelf: Shelf, plain: Plain
    ) -> None:
        self._work = work
        self._need = need
        self._row = row
        self._shelf = shelf
        rows = [int(one) for one in plain.rows[:, 0]]
        wanted = [int(one) for one in plain.wanted[:, 0]]
        self._wanted = [pair for pair in zip(rows, wanted, strict=True) if pair[1]]
        slots = dict(self._wanted).get(work.ledger.rows["free", SLOTS], 0)
        self._slots = slots
        load = need.load(True, True)
        self._items = tuple(sorted((*load.unit_items, *load.fixed_items), key=lambda i: i.type))
        self._least = sum(item.count for item in self._items) * SLOTS_MAX + slots
        self._besides = _besides(work.ledger, self._wanted, self._items)
        told = next((amount for name, amount in need.whole if name == SLOTS), None)
        self.slots = need.tasks if told is None else told
        self._finer = bool(work.hosts.finer())
        self._chosen: list[Choices] = [{} for _ in self._items]
        self._ledger = work.ledger
        self._names = work.hosts.names

    def place(self, job: int, versions: list[int]) -> Placement | None:
        """The job on its tightest host, booked; None where it fits nowhere."""
        if not self._shelf.is_made and not self._row.has_room(self._wanted):
            return None
        host = self._shelf.tightest(self._besides, self._least, self._slots)
        if host == GAVE_UP:
            host = self._row.best_host()
        if host < 0:
            return None
        instances: tuple[str, ...] = ()
        bits: Bits = ()
        if self._items:
            bits, instances = self._pick(host)
        self._ledger.draw(host, self._wanted, bits)
        name, need = self._names[host], self._need
        version = versions[host]
        versions[host] = version + 1
        share = Share(host=name, tasks=need.tasks, counters=need.whole, instances=instances)
        return Placement(
            group=0,
            members=(PlacedMember(job=job, role="", rank=0, shares=(share,)),),
            host_versions=((name, version),),
            steps=1,
        )

    def _pick(self, host: int) -> tuple[Bits, tuple[str, ...]]:
        """Bits per type, and the keys of their instances, sorted."""
        bits: list[tuple[str, int]] = []
        keys: list[str] = []
        for item, chosen in zip(self._items, self._chosen, strict=True):
            free = self._ledger.masks[item.type][host]
            groups = groups_of(self._work.hosts, item.type, host) if self._finer else ()
            mask = chosen.get((groups, free))
            if mask is None:
                mask = chosen[groups, free] = bits_of(self._work, item, free, groups)
            bits.append((item.type, mask))
            keys += _keys(self._work.hosts.instances[item.type][host], mask)
        if len(keys) > 1:
            keys.sort()
        return tuple(bits), tuple(keys)


def _besides(ledger: Ledger, wanted: Wanted, items: Sequence[Item]) -> Wanted:
    """What is to be looked at on a host of the shelf: its place there tells how many instances it
    has where they are of one type, and mostly its slots, which come last."""
    slots = ledger.rows["free", SLOTS]
    told = ledger.rows["count", items[0].type] if len(items) == 1 else -1
    return sorted((pair for pair in wanted if pair[0] != told), key=lambda pair: pair[0] == slots)


def _keys(row: Mapping[int, Instance], mask: int) -> list[str]:
    found = []
    while mask:
        low = mask & -mask
        found.append(row[low.bit_length() - 1].key)
        mask ^= low
    return found


def quick_way(
    work: Workspace, shelves: Shelves, need: MemberNeed, row: SerialRow, hosts: Hosts
) -> Quick | None:
    """The short way of a class, None where it needs the general one."""
    plain = row.plain
    load = need.load(True, True)
    if plain is None or need.part.order or need.own.templates or need.anchor.templates:
        return None
    items: Sequence[Item] = (*load.unit_items, *load.fixed_items)
    types = [item.type for item in items]
    names = [name for name, _ in (*load.unit, *load.fixed)]
    pooled = any(name in work.snapshot.pools or MARK in name for name in names)
    if pooled or len(set(types)) < len(types) or any(not item.count for item in items):
        return None
    shelf = shelves.of(need.types(), hosts)
    return None if shelf is None else Quick(work, need, row, shelf, plain)
