"""The Standard Workload Format: 18 numbers a line, comments that begin with a semicolon.

1 job, 2 submitted, 3 waited, 4 ran, 5 processors used, 6 processor time used, 7 memory used,
8 processors asked for, 9 time asked for, 10 memory asked for, 11 status, 12 user, 13 group,
14 program, 15 queue, 16 partition, 17 job before, 18 think time behind it. -1 is unknown.
Lines may stop early: what is missing is unknown. Memory is in KB per processor.
"""

from xce.sim.readers.form import SECOND_US, Reading, TraceJob, Unread, whole

FIELDS = (
    "job", "submit", "wait", "run", "processors used", "processor time", "memory used",
    "processors asked", "time asked", "memory asked", "status", "user", "group", "program",
    "queue", "partition", "job before", "think time",
)  # fmt: skip
NEEDED = 5
KB = 1024


def parse(reading: Reading) -> None:
    """All jobs of an SWF text."""
    for number, line in reading.lines():
        if line.lstrip().startswith(";"):
            _header(reading, line.lstrip("; \t"))
            continue
        try:
            reading.add(number, job_of(line.split()))
        except Unread as error:
            reading.fault(number, str(error))


def _header(reading: Reading, line: str) -> None:
    key, colon, value = line.partition(":")
    if colon and key.strip() and " " not in key.strip():
        reading.header.setdefault(key.strip(), value.strip())


def job_of(words: list[str]) -> TraceJob:
    """The job of one line."""
    if not NEEDED <= len(words) <= len(FIELDS):
        raise Unread(f"expected 18 fields, at least {NEEDED} of them, found {len(words)}")
    known = [whole(word, what) for word, what in zip(words, FIELDS, strict=False)]
    known += [-1] * (len(FIELDS) - len(known))
    (
        job, submit, wait, run, used, _cpu, memory_used, asked, limit, memory_asked, status, user,
        group, program, queue, _partition, before, think,
    ) = known  # fmt: skip
    memory = memory_asked if memory_asked > 0 else memory_used
    return TraceJob(
        number=job,
        submit_us=submit * SECOND_US,
        run_us=run * SECOND_US if run >= 0 else -1,
        tasks=asked if asked > 0 else used,
        limit_us=max(0, limit) * SECOND_US,
        mem_bytes=max(0, memory) * KB,
        wait_us=wait * SECOND_US if wait >= 0 else -1,
        status=status,
        user=user,
        group=group,
        queue=str(queue) if queue >= 0 else "",
        name=f"program-{program}" if program >= 0 else "",
        after=max(0, before),
        think_us=max(0, think) * SECOND_US,
    )
