"""What must hold at the end of a kill run. Every breach is one sentence; none means that it held.

Compared are four witnesses that do not share code: what clients were answered, the marks that
commands left, the log as it folds from its export, and the state that recovery gives.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from tests.kill.client import Acks
from tests.kill.tale import Tale, held, read_tale
from tests.kill.work import Piece
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.ids import group_text, job_text, parse_group, parse_job
from xce.model.job import Exit
from xce.model.tables import LIVE_LAUNCH
from xce.sim.replay import Replayed, replay
from xce.wal.anchor import Anchor
from xce.wal.open import HomeLock, open_log
from xce.wal.port import Log, LogError
from xce.wal.verify import verify

CLOCK_US = 5_000


class Mark(Struct, frozen=True):
    """One line that a command wrote first thing."""

    job: int
    attempt: int
    launch: int
    rank: int
    at_us: int
    pid: int


class Finding(Struct, kw_only=True):
    """What a run came to."""

    faults: list[str]
    records: int = 0
    marks: int = 0
    failed_starts: int = 0
    broken_starts: int = 0
    broken_again: int = 0
    broken_ended: int = 0
    leaders: int = 0
    retired: int = 0
    refused: list[str] = []


class Asked(Struct, kw_only=True):
    """What was submitted and answered. `spared`: no process of a user was in danger, so that
    every piece must come to the end that it was made for."""

    pieces: list[Piece]
    acks: Acks
    spared: bool


def read_marks(path: Path) -> tuple[list[Mark], list[str]]:
    """The marks, and lines that are none."""
    marks, torn = [], []
    for line in path.read_text().splitlines() if path.exists() else ():
        words = line.split()
        if len(words) != 7 or words[-1] != ".":
            torn.append(f"a torn mark: {line!r}")
            continue
        # A launch's cookie is HOSTKEY:LAUNCH.GENERATION.
        launch = words[2].rpartition(":")[2].partition(".")[0]
        attempt, number, rank, at_ns, pid = map(int, (words[1], launch, *words[3:6]))
        marks.append(Mark(parse_job(words[0]) or 0, attempt, number, rank, at_ns // 1000, pid))
    return marks, torn


def judge(home: Path, database: str, marks_file: Path, asked: Asked) -> Finding:
    """Everything, over a home that nobody uses any more."""
    finding = Finding(faults=[*asked.acks.faults])
    try:
        tale = _read(home, database, finding)
    except (LogError, OSError) as error:
        finding.faults.append(f"the log cannot be read: {error}")
        return finding
    marks, torn = read_marks(marks_file)
    finding.faults += [
        *torn,
        *_answers(tale, asked),
        *_ends(tale, asked),
        *_marks(tale, marks),
        *_whole(tale, marks),
        *_free(tale),
    ]
    finding.records, finding.marks, finding.leaders = tale.state.lsn, len(marks), tale.leaders
    finding.failed_starts, finding.broken_starts = len(tale.failed), len(tale.broken)
    finding.refused = tale.refused
    finding.retired = len(tale.ever["job"]) - len(tale.state.jobs)
    finding.faults += _broken(tale, finding)
    return finding


def _read(home: Path, database: str, finding: Finding) -> Tale:
    """Verify the log, recover from it, fold its export, compare."""
    lock = HomeLock(home)
    try:
        log = open_log(database, home)
        try:
            verify(log)  # type: ignore[arg-type]
            anchor = Anchor(home / "anchor")
            anchor.check(log)
            anchor.close()
            recovered, _ = recover(log)
            tale = read_tale(log)  # type: ignore[arg-type]
            finding.faults += _forgotten(log, tale)
            finding.faults += _decided_otherwise(replay(log))  # type: ignore[arg-type]
        finally:
            log.close()
    finally:
        lock.release()
    if digest(recovered) != tale.digest:
        finding.faults.append("recovery and the fold of the exported log differ")
    finding.faults += tale.faults[:5]
    finding.faults += [f"a report was refused: {one}" for one in tale.refused[:5]]
    return tale


def _decided_otherwise(done: Replayed) -> Iterator[str]:
    """Every record of the log is what would be decided again."""
    if done.difference is not None:
        found = done.difference
        yield f"record {found.lsn} is decided otherwise: {found.path}; asked {found.asked[:300]}"


def _forgotten(log: Log, tale: Tale) -> Iterator[str]:
    """What left the state is in the history."""
    gone = [job_text(key) for key in tale.ever["job"] if key not in tale.state.jobs]
    gone += [group_text(key) for key in tale.ever["group"] if key not in tale.state.groups]
    for entity in gone:
        if log.history(entity) is None:
            yield f"{entity} left the state and is not in the history"


def _answers(tale: Tale, asked: Asked) -> Iterator[str]:
    """What was answered is in the log, under its own name, once."""
    acks = asked.acks.ids
    for piece in asked.pieces:
        entity = acks.get(piece.key)
        if entity is None:
            yield f"{piece.key} was never answered"
            continue
        number = parse_group(entity) if piece.is_gang else parse_job(entity)
        found = tale.ever["group" if piece.is_gang else "job"].get(number or 0)
        if found is None:
            yield f"{piece.key} was answered with {entity}, which the log does not have"
        elif found.name != piece.key:
            yield f"{piece.key} was answered with {entity}, which is {found.name}"
    names = [job.name for job in tale.ever["job"].values() if not job.group]
    names += [group.name for group in tale.ever["group"].values()]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{name} was taken {count} times"
        if name not in acks:
            yield f"{name} is in the log and nobody asked for it"


def _ends(tale: Tale, asked: Asked) -> Iterator[str]:
    """Everything reached one end, and the right one."""
    jobs, groups = tale.ever["job"], tale.ever["group"]
    for key, job in sorted(jobs.items()):
        times = tale.ends.get(key, 0)
        if times != 1:
            yield f"job {job_text(key)} ({job.name}) ended {times} times: {job.state}"
    for number in sorted(groups):
        if tale.group_ends.get(number, 0) != 1:
            yield f"gang g{number} ended {tale.group_ends.get(number, 0)} times"
    pieces = {piece.key: piece for piece in asked.pieces}
    for job in jobs.values():
        piece = pieces.get(job.name)
        if not job.group and piece is not None and job.exit is not None:
            yield from _right_end(piece, job.exit, asked)
    for group in groups.values():
        piece = pieces.get(group.name)
        due = "EXITED" if piece is not None and piece.is_cut else "DONE"
        if asked.spared and group.state != due:
            yield f"{group.name} ended {group.state}: {group.reason} {group.last_failure}"


def _right_end(piece: Piece, ended: Exit, asked: Asked) -> Iterator[str]:
    """A plain job ended as it was made to, or, where processes were in danger, by a death."""
    told = f"{piece.key} ended {ended.how} {ended.code} {ended.reason}"
    if piece.is_cut:
        if asked.spared and ended.reason != "killed":
            yield f"{told}, not because it was killed"
    elif ended.how == "exited" and ended.code != piece.code:
        yield f"{told}, not with {piece.code}"
    elif asked.spared and ended.how != "exited":
        yield f"{told}, not by itself"


def _marks(tale: Tale, marks: list[Mark]) -> Iterator[str]:
    """No command ran twice within an attempt, none outside of a passed start."""
    for (job, attempt, rank), count in Counter(
        (mark.job, mark.attempt, mark.rank) for mark in marks
    ).items():
        if count > 1:
            yield f"job {job_text(job)} ran {count} times in attempt {attempt} (rank {rank})"
    for mark in marks:
        told = tale.job_of_launch.get(mark.launch)
        go = tale.gos.get(mark.launch)
        what = f"launch {mark.launch} of job {job_text(mark.job)}"
        if told is None or told[:2] != (mark.job, mark.attempt):
            yield f"{what} left a mark and was never planned"
        elif go is None:
            yield f"{what} left a mark and was never let go"
        elif mark.at_us < go.at_us - CLOCK_US:
            yield f"{what} left a mark {go.at_us - mark.at_us} us before it was let go"
        elif told[2] in tale.failed:
            yield f"{what} left a mark, its start {told[2]} failed before its pass"
        if tale.ran.get(mark.launch) == "no":
            yield f"{what} left a mark, and its host says that it never ran"


def _whole(tale: Tale, marks: Iterable[Mark]) -> Iterator[str]:
    """What ended well has a mark of each of its processes in its last attempt."""
    seen = Counter((mark.job, mark.attempt) for mark in marks)
    for key, job in tale.ever["job"].items():
        if job.state != "DONE" or job.exit is None or job.exit.how != "exited":
            continue
        due = sum(tale.ever["launch"][one].processes for one in job.launches)
        if seen[key, job.attempt] != due:
            left = seen[key, job.attempt]
            yield f"job {job_text(key)} is DONE; {left} of {due} processes left a mark"


def _free(tale: Tale) -> Iterator[str]:
    """Nothing is held, nothing lives."""
    state = tale.state
    for what in held(state):
        yield f"still held at the end: {what}"
    for number, launch in state.launches.items():
        if launch.state in LIVE_LAUNCH:
            yield f"launch {number} is {launch.state} at the end"


def _broken(tale: Tale, finding: Finding) -> Iterator[str]:
    """A start that broke ended whole or began again whole."""
    for number, record in tale.broken.items():
        start = tale.ever["start"][number]
        later = {
            next((one for one in tale.starts_of[job] if one > number), 0) for job in start.members
        }
        ended = all(tale.ends.get(job) for job in start.members)
        if len(later) == 1 and later != {0}:
            finding.broken_again += 1
        elif later == {0} and ended:
            finding.broken_ended += 1
        else:
            yield f"start {number}, broken at lsn {record.lsn}, went on in parts: {sorted(later)}"
