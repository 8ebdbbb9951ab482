"""What the host journal says: per launch how far it got, the highest epoch and anchor, and the
log that all of it is of.

The ledger is the fold of the journal. Whoever wants to do something notes it here, commits, and
acts then. Order per launch: intent, started (before the go), exited, acked. `exited` without
`intent` is a launch that was wanted gone before it was prepared: it can never start. Outcomes are
kept for an hour after their acknowledgement, at most `ACKED_MAX` of them, and dropped when the
file is rewritten.
"""

import os
from typing import Any

from xce.agent.supervisor.journal import Entry, Journal

KEEP_US = 3_600_000_000
ACKED_MAX = 20_000
REWRITE_BYTES = 4 << 20


class Page:
    """One launch in the ledger."""

    __slots__ = (
        "acked_us", "freeze", "generation", "launch", "outcome", "signals", "started_us",
    )  # fmt: skip

    def __init__(self, launch: int, generation: int) -> None:
        self.launch = launch
        self.generation = generation
        self.started_us = 0
        self.outcome: Entry | None = None
        self.acked_us = 0
        self.signals: set[int] = set()
        self.freeze = 0

    def entry(self) -> Entry:
        """The page as one entry of a rewritten journal."""
        return {
            "k": "page",
            "l": self.launch,
            "g": self.generation,
            "started": self.started_us,
            "outcome": self.outcome,
            "acked": self.acked_us,
            "signals": sorted(self.signals),
            "freeze": self.freeze,
        }


class Ledger:
    """The open journal and its fold. `note_*` takes effect at once and is durable at `commit`."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.epoch = 0
        self.anchor = (0, "")
        self.boot_id = ""
        self.host_key = ""
        self.log_id = ""
        self.pages: dict[int, Page] = {}
        self._anchor_kept = (0, "")
        for entry in journal.entries:
            self._fold(entry)
        journal.entries = []
        self._anchor_kept = self.anchor
        self._rewritten_bytes = journal.size_bytes
        if not self.host_key:
            self._note({"k": "host", "key": os.urandom(8).hex()})

    def _fold(self, entry: Entry) -> None:
        kind = entry["k"]
        if kind == "host":
            self.host_key = entry["key"]
        elif kind == "boot":
            self.boot_id = entry["id"]
        elif kind == "epoch":
            self.epoch = max(self.epoch, entry["epoch"])
            self.log_id = entry.get("log") or self.log_id
        elif kind == "anchor":
            self.anchor = (entry["lsn"], entry["hash"])
        else:
            self._fold_launch(kind, entry)

    def _fold_launch(self, kind: str, entry: Entry) -> None:
        launch = entry["l"]
        page = self.pages.get(launch)
        if page is None:
            page = self.pages[launch] = Page(launch, entry.get("g", 0))
        if kind == "started":
            page.started_us = entry["at"]
        elif kind == "exited":
            page.outcome = entry["outcome"]
        elif kind == "acked":
            page.acked_us = entry["at"]
        elif kind == "signal":
            page.signals.add(entry["s"])
        elif kind == "freeze":
            page.freeze = max(page.freeze, entry["n"])
        elif kind == "page":
            page.started_us, page.outcome = entry["started"], entry["outcome"]
            page.acked_us, page.signals = entry["acked"], set(entry["signals"])
            page.freeze = entry.get("freeze", 0)

    def _note(self, entry: Entry, *, lazily: bool = False) -> None:
        self._fold(entry)
        self.journal.add(entry, lazily=lazily)

    def note_boot(self, boot_id: str) -> None:
        """This boot's supervisor is at work."""
        self._note({"k": "boot", "id": boot_id})

    def note_epoch(self, epoch: int, log_id: str = "") -> None:
        """A higher epoch was seen, or for the first time the log that it is of."""
        if epoch > self.epoch or (log_id and log_id != self.log_id):
            self._note({"k": "epoch", "epoch": epoch, "log": log_id or self.log_id})

    def note_anchor(self, lsn: int, digest: str) -> None:
        """An anchor was seen; the newest is written with the next commit."""
        if lsn > self.anchor[0]:
            self.anchor = (lsn, digest)

    def note_intent(self, launch: int, generation: int) -> Page:
        """A launch is about to be prepared."""
        self._note({"k": "intent", "l": launch, "g": generation})
        return self.pages[launch]

    def note_started(self, launch: int, at_us: int) -> None:
        """A launch is about to be let go."""
        self._note({"k": "started", "l": launch, "at": at_us})

    def note_exited(self, launch: int, generation: int, outcome: Entry) -> None:
        """A launch is over and its tree gone."""
        self._note({"k": "exited", "l": launch, "g": generation, "outcome": outcome})

    def note_acked(self, launch: int, at_us: int, generation: int = 0) -> None:
        """The controller has committed the outcome. Forgotten, it would only be told again."""
        page = self.pages.get(launch)
        if page is None or generation not in (0, page.generation):
            return
        if page.outcome is not None and not page.acked_us:
            self._note({"k": "acked", "l": launch, "at": at_us}, lazily=True)

    def note_frozen(self, launch: int, freeze: int) -> None:
        """A launch is to be frozen, or to go on."""
        self._note({"k": "freeze", "l": launch, "n": freeze})

    def note_signal(self, launch: int, seq: int) -> bool:
        """Whether signal `seq` is new; then it is used up."""
        page = self.pages.get(launch)
        if page is None or seq in page.signals:
            return False
        self._note({"k": "signal", "l": launch, "s": seq})
        return True

    def unacked(self) -> list[Page]:
        """Ended launches that the controller has not confirmed."""
        return [page for page in self.pages.values() if page.outcome and not page.acked_us]

    def commit(self, *, is_idle: bool = False) -> None:
        """Make everything noted durable; an anchor alone is worth a write only in idleness."""
        if not self.journal.is_dirty and not (is_idle and self.anchor != self._anchor_kept):
            return
        if self.anchor != self._anchor_kept:
            self._anchor_kept = self.anchor
            self.journal.add({"k": "anchor", "lsn": self.anchor[0], "hash": self.anchor[1]})
        self.journal.commit()

    def tidy(self, now_us: int) -> None:
        """Rewrite the journal without what nobody asks for any more, when it has grown enough."""
        if self.journal.size_bytes < 2 * self._rewritten_bytes + REWRITE_BYTES:
            return
        acked = [page for page in self.pages.values() if page.acked_us]
        acked.sort(key=lambda page: (page.acked_us, page.launch))
        for number, page in enumerate(acked):
            if len(acked) - number > ACKED_MAX or page.acked_us < now_us - KEEP_US:
                del self.pages[page.launch]
        self.journal.rewrite(self._entries())
        self._rewritten_bytes = self.journal.size_bytes

    def _entries(self) -> list[Entry]:
        head: list[dict[str, Any]] = [
            {"k": "host", "key": self.host_key},
            {"k": "boot", "id": self.boot_id},
            {"k": "epoch", "epoch": self.epoch, "log": self.log_id},
            {"k": "anchor", "lsn": self.anchor[0], "hash": self.anchor[1]},
        ]
        return head + [page.entry() for page in self.pages.values()]
