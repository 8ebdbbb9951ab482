"""The writer: makes a step durable, in one transaction and then the anchor.

It also looks up what decide cannot see in memory (answers given under an idempotency key, records
that hosts name as their anchor) and
writes what leaves the state into the history. `reach` marks the named points at which kill runs
end the process; it does nothing elsewhere.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import json, structs

from xce.controller.core.arrays.elements import exit_code_of, jobs_of_array
from xce.controller.core.commands import (
    BEYOND,
    Command,
    Past,
    RegisterHost,
    Rejection,
    Request,
)
from xce.controller.core.decide import Outcome
from xce.controller.core.depending.past import past_from, past_of_group, past_of_job
from xce.controller.core.depending.terms import named_in
from xce.controller.core.fold.state import State
from xce.controller.cuts import Cutter
from xce.controller.recover import answer_body
from xce.controller.step import Step
from xce.model.ids import group_text, job_index, job_text, parse_group, parse_job
from xce.model.records import Record
from xce.model.tables import ENDED_GROUP, ENDED_JOB
from xce.model.waiting.array import DONE, EXITED, moved, runs_of
from xce.wal.anchor import Anchor
from xce.wal.port import Answer, Batch, Head, HistoryRow, Log

RECENT_MAX = 4_096
ANSWERS_KEPT = 5_000_000


class Writer:
    """The log and the anchor, as the loop writes to them."""

    def __init__(
        self,
        state: State,
        log: Log,
        anchor: Anchor | None,
        cutter: Cutter,
        reach: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.log = log
        self.head: Head = log.head()
        self.reach = reach
        self._state = state
        self._anchor = anchor
        self._cutter = cutter
        self._log_id = ""
        self._recent: OrderedDict[tuple[int, str], Answer] = OrderedDict()

    # -- idempotency -------------------------------------------------------------------------------
    def with_facts(self, command: Command) -> Command:
        """The command with the answer that its key got before, if it did; a registration with
        what this log has where the host has its anchor."""
        if isinstance(command, RegisterHost):
            at = self._hash_at(command.anchor_lsn)
            return structs.replace(command, own_log=self.log_id, anchor_at=at)
        if after := getattr(command, "after", ""):
            command = structs.replace(command, past=self.past_of(after))
        request = getattr(command, "request", None)
        if not isinstance(request, Request) or not request.key:
            return command
        owner = command.actor.uid
        seen = self._recent.get((owner, request.key)) or self.log.answer(owner, request.key)
        if seen is None:
            return command
        told = structs.replace(
            request,
            seen_digest=seen.digest,
            seen_answer=answer_body(seen.body),
            seen_lsn=seen.lsn,
        )
        return structs.replace(command, request=told)

    def past_of(self, after: str) -> tuple[Past, ...]:
        """How what a dependency names ended, as far as it is over: what retires in the step that
        decides was in the state when this was looked up, so that is told, too."""
        found = (self._past(name) for name in named_in(after))
        return tuple(one for one in found if one is not None)

    def _past(self, name: str) -> Past | None:
        group = self._state.groups.get(parse_group(name) or 0)
        job = self._state.jobs.get(parse_job(name) or 0)
        if group is not None:
            return past_of_group(name, group)
        if job is not None:
            return past_of_job(name, job)
        kept = self.finished(name)
        return past_from(name, kept) if kept is not None else None

    @property
    def log_id(self) -> str:
        """The log's identity: the hash of its first record, which says who began it and when.
        "" once that record was deleted; then only epochs and anchors are compared."""
        if not self._log_id:
            first = self.log.hash_at(1)
            self._log_id = first.hex() if first else ""
        return self._log_id

    def _hash_at(self, lsn: int) -> str:
        if lsn > self.head.lsn:
            return BEYOND
        found = self.log.hash_at(lsn) if lsn > 0 else None
        return found.hex() if found else ""

    def _answers(self, done: Step, commands: list[Command]) -> tuple[Answer, ...]:
        answers = []
        for command, outcome in zip(commands, done.answers, strict=False):
            request = getattr(command, "request", None)
            if isinstance(outcome, Rejection) or not isinstance(request, Request):
                continue
            if request.key and outcome.records:
                answers.append(_answer_row(command, request, outcome))
        return tuple(answers)

    # -- writing -----------------------------------------------------------------------------------
    def batch(self, done: Step, commands: list[Command]) -> Batch:
        """Everything that one transaction writes."""
        rows, close = self._cutter.next_slice() if self._cutter.under_way else ((), None)
        answers = self._answers(done, commands)
        for answer in answers:
            self._recent[answer.owner, answer.key] = answer
        while len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)
        return Batch(
            epoch=self._state.epoch,
            records=done.records,
            blobs=done.blobs,
            answers=answers,
            cut_rows=rows,
            cut_close=close,
            history=tuple(self._history(done.records)),
        )

    def commit(self, batch: Batch) -> None:
        """Durable when it returns. Runs on the writer thread; whatever it raises is final."""
        self.reach("before_append")
        self.head = self.log.append(batch)
        if batch.cut_close is not None and batch.cut_close.cut_lsn > ANSWERS_KEPT:
            self.log.forget_answers(batch.cut_close.cut_lsn - ANSWERS_KEPT)
        self.reach("after_commit")
        if self._anchor is not None:
            self._anchor.write(self.head)
        self.reach("after_anchor")

    # -- history -----------------------------------------------------------------------------------
    def _history(self, records: tuple[Record, ...]) -> list[HistoryRow]:
        rows = []
        for record in records:
            for change in record.body.then:
                state = (change.set or {}).get("state")
                if change.what == "job" and state in ENDED_JOB:
                    rows += self._ended_job(int(change.key), record)
                elif change.what == "array" and (change.set or {}).get("ended_us"):
                    rows += self._ended_array(int(change.key), record)
                elif change.what == "group" and state in ENDED_GROUP:
                    rows += self._ended_group(int(change.key), record)
        return rows

    def _ended_job(self, key: int, record: Record) -> list[HistoryRow]:
        job = self._state.jobs.get(key)
        if job is None:
            return []
        body = json.encode({"job": job, "spec": self._state.specs[job.spec]})
        return [
            HistoryRow(
                entity=job_text(key),
                finished_us=job.ended_us,
                owner=job.owner,
                lsn=record.lsn,
                body=body,
            )
        ]

    def _ended_array(self, number: int, record: Record) -> list[HistoryRow]:
        """The array as it is once its last elements have become letters."""
        array = self._state.arrays.get(number)
        if array is None:
            return []
        jobs = list(jobs_of_array(self._state, number))
        for letter, good in ((DONE, True), (EXITED, False)):
            mine = (job_index(job.key) for job in jobs if (job.state == "DONE") == good)
            array = moved(array, runs_of(mine), letter)
        array = structs.replace(array, exit_code=exit_code_of(self._state, number))
        body = json.encode({"array": array, "spec": self._state.specs[array.spec]})
        return [
            HistoryRow(
                entity=job_text(number),
                finished_us=array.ended_us,
                owner=array.owner,
                lsn=record.lsn,
                body=body,
            )
        ]

    def _ended_group(self, number: int, record: Record) -> list[HistoryRow]:
        group = self._state.groups.get(number)
        if group is None:
            return []
        body = json.encode({"group": group, "spec": self._state.group_spec(group)})
        return [
            HistoryRow(
                entity=group_text(number),
                finished_us=group.ended_us,
                owner=group.owner,
                lsn=record.lsn,
                body=body,
            )
        ]

    def finished(self, entity: str) -> Mapping[str, Any] | None:
        """Work that left the state, None when there was none of that name."""
        row = self.log.history(entity)
        return answer_body(row.body) if row is not None else None


def _answer_row(command: Command, request: Request, outcome: Outcome) -> Answer:
    return Answer(
        owner=command.actor.uid,
        key=request.key,
        digest=request.digest,
        lsn=outcome.records[-1].lsn,
        body=json.encode(outcome.body),
    )
