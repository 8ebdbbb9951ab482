"""The total order of what waits, and the line that a session takes asks from.

A key is (- queue priority, position, what the queue's policies say, submission, kind, number):
larger priorities first, then who was moved to the top, then the policies; the last two make it
total, since jobs and groups are numbered by counters of their own; a job's number is its place
among jobs and elements (`ids.place_of`). Pending work is kept in order as it comes and goes; a
session never sorts it.

Where a queue is shared fairly, keys order only the work of one account. Between accounts the line
looks at the share tree, level by level, and takes the node with the highest dynamic priority; what
is booked makes all nodes on the way heavier, so the next look may take another one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from msgspec import Struct

from xce.model.ids import place_of
from xce.scheduler.sharing.fairshare import Account, priority_of

Key = tuple[int, ...]
Item = TypeVar("Item")
ALWAYS = 2
"""Leading parts of each key that come before any policy: queue and position."""


def order_key(
    queue_priority: int,
    priority: int,
    submitted: int,
    *,
    group: int = 0,
    job: int = 0,
    position: int = 0,
) -> Key:
    """The key of one ask under the usual policies; `submitted` is the time of its submission."""
    return (
        -queue_priority,
        position,
        -priority,
        submitted,
        1 if group else 0,
        group or place_of(job),
    )


class Place(Struct, frozen=True, gc=False):
    """Where something waits: its key, its account in a share tree ("" for none), and how many
    leading parts of the key come before the account."""

    key: Key
    account: str = ""
    fixed: int = ALWAYS


class Line(Generic[Item]):
    """Items in turn. Given in the order of their keys; `booked` says what the last one took."""

    def __init__(
        self, items: Iterable[tuple[Place, Item]], accounts: Mapping[str, Account]
    ) -> None:
        self._lanes: dict[Key, dict[str, _Tree[Item]]] = {}
        self._plain: deque[tuple[Key, Item]] = deque()
        self._last: _Tree[Item] | None = None
        weights = {path: account.weight for path, account in accounts.items()}
        for place, item in items:
            if not place.account:
                self._plain.append((place.key, item))
                continue
            lane = self._lanes.setdefault(place.key[: place.fixed], {})
            name = place.account.partition("/")[0]
            if name not in lane:
                lane[name] = _Tree(accounts, weights)
            lane[name].put(place.account, place.key, item)
        self._prefixes = sorted(self._lanes, reverse=True)

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        self._last = None
        if not self._prefixes:
            if not self._plain:
                raise StopIteration
            return self._plain.popleft()[1]
        # Lanes behind are not looked at: what is booked before them counts there, too.
        prefix = self._prefixes[-1]
        if self._plain and self._plain[0][0] < prefix:
            return self._plain.popleft()[1]
        lane = self._lanes[prefix]
        first, name = min((tree.head(), name) for name, tree in lane.items())
        if self._plain and self._plain[0][0] < first:
            return self._plain.popleft()[1]
        self._last = lane[name]
        item = lane[name].take()
        if not lane[name]:
            del lane[name]
            if not lane:
                self._prefixes.pop()
        return item

    def booked(self, slots: int) -> None:
        """What came last was given that many slots."""
        if self._last is not None:
            self._last.booked(slots)


class _Node(Generic[Item]):
    """A node of a share tree: an account with its items, or a group with its nodes by priority."""

    __slots__ = ("account", "heap", "items", "nodes", "path")

    def __init__(self, path: str, account: Account) -> None:
        self.path = path
        self.account = account
        self.nodes: dict[str, _Node[Item]] = {}
        self.heap: list[tuple[int, str]] = []
        self.items: deque[tuple[Key, Item]] = deque()


class _Tree(Generic[Item]):
    """The accounts of one tree that have items in one lane."""

    def __init__(self, accounts: Mapping[str, Account], weights: dict[str, int]) -> None:
        self._accounts = accounts
        self._weights = weights
        self._root: _Node[Item] = _Node("", Account(shares=1, weight=1, slot_weight=0))
        self._way: list[_Node[Item]] | None = None
        self._taken: list[_Node[Item]] = []

    def __bool__(self) -> bool:
        return bool(self._root.nodes)

    def put(self, path: str, key: Key, item: Item) -> None:
        """Adds an item to an account; before the first look only."""
        node, names = self._root, path.split("/")
        for depth in range(2, len(names) + 1):
            below = "/".join(names[:depth])
            if below not in node.nodes:
                node.nodes[below] = _Node(below, self._accounts[below])
            node = node.nodes[below]
        node.items.append((key, item))

    def head(self) -> Key:
        """The key of the item whose turn it is."""
        return self._first()[-1].items[0][0]

    def take(self) -> Item:
        """Takes that item out."""
        way = self._first()
        _, item = way[-1].items.popleft()
        self._taken = way
        if not way[-1].items:
            self._way = None
            for above, node in zip(reversed(way[:-1]), reversed(way[1:]), strict=True):
                del above.nodes[node.path]
                heappop(above.heap)
                if above.nodes:
                    break
        return item

    def booked(self, slots: int) -> None:
        """The account that was taken from last, and all above it, use that many slots more."""
        self._way = None
        for above, node in zip(self._taken, self._taken[1:], strict=False):
            self._weights[node.path] += slots * node.account.slot_weight
            if above.heap and above.heap[0][1] == node.path:
                heapreplace(above.heap, self._rank(node))

    def _rank(self, node: _Node[Item]) -> tuple[int, str]:
        """Its place between its siblings: highest priority first, then by name."""
        return -priority_of(node.account.shares, self._weights[node.path]), node.path

    def _first(self) -> list["_Node[Item]"]:
        """From the root to the account whose turn it is."""
        if self._way is None:
            way = [self._root]
            while way[-1].nodes:
                node = way[-1]
                if len(node.heap) != len(node.nodes):
                    node.heap = [self._rank(each) for each in node.nodes.values()]
                    heapify(node.heap)
                way.append(node.nodes[node.heap[0][1]])
            self._way = way
        return self._way
