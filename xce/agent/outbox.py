"""Reports on their way: numbered, in order, kept until the controller lists their number.

A report that is waiting is not put in a second time; what is told again by the supervisor after a
restart therefore counts once. Numbers begin at the wall clock in microseconds, so that a restarted
agent does not use one again. Nothing here is durable: outcomes are, with the supervisor, and
attachments are, with their keeper; both are told to forget once an outcome was taken.
"""

import threading
from itertools import islice
from typing import Any

from xce.dispatch.protocol import Reconciled, Report

Key = tuple[str, int]


class Outbox:
    """The waiting reports."""

    def __init__(self, first_seq: int) -> None:
        self._next_seq = first_seq
        self._waiting: dict[int, Report] = {}
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._changed = threading.Condition()

    def put(self, kind: type[Any], number: int, **fields: Any) -> None:
        """Put a report about entity `number` in line, unless the same is waiting."""
        key = (kind.__name__, number)
        with self._changed:
            known = self._numbers.get(key)
            if known is not None and kind is not Reconciled:
                fresh = kind(seq=known, **fields)
                if fresh == self._waiting[known]:
                    return
            self._drop(key)
            seq = self._next_seq
            self._next_seq += 1
            self._waiting[seq] = kind(seq=seq, **fields)
            self._numbers[key], self._keys[seq] = seq, key
            self._changed.notify_all()

    def _drop(self, key: Key) -> None:
        seq = self._numbers.pop(key, None)
        if seq is not None:
            del self._waiting[seq], self._keys[seq]

    def batch(self, most: int, wait_s: float) -> tuple[Report, ...]:
        """The first `most` waiting reports, as soon as there are any; () after `wait_s`."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), wait_s)
            return tuple(islice(self._waiting.values(), most))

    def await_empty(self, wait_s: float) -> None:
        """Until everything was taken, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, wait_s)

    def took(self, seqs: tuple[int, ...]) -> list[Report]:
        """The controller has these: forget and return them."""
        with self._changed:
            found = [self._waiting[seq] for seq in seqs if seq in self._waiting]
            for seq in seqs:
                if seq in self._keys:
                    self._drop(self._keys[seq])
            self._changed.notify_all()
            return found
