"""Plain jobs that run on one host: the tightest host, found without a search.

The same answer as the search gives (the tightest domain at the host level), from figures that a
class keeps per host. Only hosts that changed since the class was last looked at are figured
again, so the work does not grow with the hosts that nobody touched.
"""

import numpy as np

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps
from xce.scheduler.fit.demand import MemberNeed
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits
from xce.scheduler.snapshot import Column

NO_ROOM = np.iinfo(np.int64).max
SLOTS = "slots"
SLOTS_MAX = 1 << 24


class SerialRow:
    """A class's keys per host: free instances of its types, then free slots; NO_ROOM where its
    job does not fit. Equal keys go to the host that is first by name."""

    def __init__(self, work: Workspace, need: MemberNeed, hosts: Hosts) -> None:
        self._work = work
        self._need = need
        self._load = need.load(True, True)
        self._types = need.types()
        self._hosts = hosts
        self._place = np.full(len(work.hosts.names), -1, dtype=np.int64)
        self._place[hosts] = np.arange(len(hosts))
        self._read = len(work.ledger.journal)
        self._keys = self._figures(hosts)

    def place(self, salt: int) -> Cell | None:
        """The job laid on its tightest host and taken, None when it fits nowhere."""
        self._refresh()
        if not len(self._keys):
            return None
        while True:
            best = int(self._keys.argmin())
            if self._keys[best] == NO_ROOM:
                return None
            cell = blank(0, -1, int(self._hosts[best]), 0, 1, first=True, anchored=True)
            laid = lay(self._work, self._need, cell, Limits(), salt)
            if laid is not None:
                return laid
            self._keys[best] = NO_ROOM

    def _refresh(self) -> None:
        journal = self._work.ledger.journal
        if self._read == len(journal):
            return
        changed = np.array(sorted(set(journal[self._read :])), dtype=np.intp)
        self._read = len(journal)
        places = self._place[changed]
        places = places[places >= 0]
        if len(places):
            self._keys[places] = self._figures(self._hosts[places])

    def _figures(self, hosts: Hosts) -> Column:
        ledger = self._work.ledger
        keys = np.minimum(ledger.column(SLOTS)[hosts], SLOTS_MAX - 1)
        for type_ in self._types:
            keys = keys + ledger.count(type_)[hosts] * SLOTS_MAX
        return np.where(caps(self._work, self._load, hosts) > 0, keys, NO_ROOM)
