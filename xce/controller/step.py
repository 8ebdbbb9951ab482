"""One step: the only way anything happens. Shared by the controller and the simulator.

Take the commands that are there, fire overdue timers, decide and apply one after the other,
append in one transaction, and only then publish and answer. What a step wrote is invisible until
`commit` returned: no reader sees, no answer tells and no order carries an uncommitted record.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from xce.controller.core.commands import Command, Rejection, Request, StartLeading, TimerDue
from xce.controller.core.decide import Outcome, decide_and_apply
from xce.controller.core.fold.state import State
from xce.model.actor import CONTROLLER
from xce.model.records import Record

Answer = Outcome | Rejection


class Step(Struct, frozen=True, gc=False, kw_only=True):
    """What a step decided: all records in order, the blobs they name, an answer per command.
    `timers` are the deadlines that were due."""

    records: tuple[Record, ...]
    blobs: dict[str, bytes]
    answers: tuple[Answer, ...]
    timers: tuple[str, ...] = ()


def decide_all(
    state: State, commands: Sequence[Command], now_us: int, *, timers: bool = True
) -> Step:
    """Decide and apply every command, overdue timers first. The state moves; nothing is durable
    yet, so nobody may look at it before the records are committed.

    At a takeover timers wait for the next step: they are to be judged by the new leader, behind
    its first record, so that a deadline that passed without a leader is known as one. Without
    `timers` they wait, too: whoever asks so has an order of its own for one instant.
    """
    if any(isinstance(command, StartLeading) for command in commands):
        timers = False
    fired = [
        TimerDue(actor=CONTROLLER, what=what, key=key)
        for _, what, key in (state.index.timers.due(now_us) if timers else ())
    ]
    records: list[Record] = []
    blobs: dict[str, bytes] = {}
    answers: list[Answer] = []
    answered: dict[tuple[int, str], tuple[str, Outcome]] = {}
    for command in (*fired, *commands):
        answer = decide_and_apply(state, _seen_here(command, answered), now_us)
        answers.append(answer)
        if isinstance(answer, Outcome):
            request = getattr(command, "request", None)
            if isinstance(request, Request) and request.key:
                answered[command.actor.uid, request.key] = (request.digest, answer)
            blobs.update(answer.blobs)
            records.extend(answer.records)
    return Step(
        records=tuple(records),
        blobs=blobs,
        answers=tuple(answers[len(fired) :]),
        timers=tuple(timer.what for timer in fired),
    )


def _seen_here(command: Command, answered: dict[tuple[int, str], tuple[str, Outcome]]) -> Command:
    """The command with the answer that its key got earlier in this very step: a client that asks
    again may find both of its requests in one step, where the log has no answer yet."""
    request = getattr(command, "request", None)
    if not isinstance(request, Request) or request.seen_answer is not None:
        return command
    found = answered.get((command.actor.uid, request.key))
    if found is None:
        return command
    digest, first = found
    lsn = first.records[-1].lsn if first.records else first.lsn
    told = structs.replace(request, seen_digest=digest, seen_answer=first.body, seen_lsn=lsn)
    return structs.replace(command, request=told)
