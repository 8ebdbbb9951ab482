"""LSF's accounting file lsb.acct: its JOB_FINISH lines, up to the command.

Words are numbers, or texts in double quotes where a quote inside is doubled. Events of other
kinds are passed over. Times are seconds of 1970; the first submission becomes the zero.
"""

import re

from xce.sim.readers.form import SECOND_US, Reading, TraceJob, Unread, whole

WORD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
FINISH = "JOB_FINISH"
STATES = {32: 0, 64: 1}
"""LSF's EXIT and DONE as SWF's failed and completed."""


def parse(reading: Reading) -> None:
    """All jobs that a file tells the end of."""
    found: list[tuple[int, TraceJob]] = []
    for number, line in reading.lines():
        if line.lstrip().startswith("#"):
            continue
        try:
            words = split(line)
            if words[0] == FINISH:
                found.append((number, _job(words)))
        except Unread as error:
            reading.fault(number, str(error))
    zero_us = min((job.submit_us for _, job in found), default=0)
    reading.header["UnixStartTime"] = str(zero_us // SECOND_US)
    for number, job in found:
        try:
            reading.add(number, _moved(job, zero_us))
        except Unread as error:
            reading.fault(number, str(error))


def _moved(job: TraceJob, zero_us: int) -> TraceJob:
    from msgspec import structs

    return structs.replace(job, submit_us=job.submit_us - zero_us)


def split(line: str) -> list[str]:
    """The words of a line."""
    words, at = [], 0
    for found in WORD.finditer(line):
        if line[at : found.start()].strip() or (found.group(2) and '"' in found.group(2)):
            raise Unread("a quote is not closed")
        quoted = found.group(1)
        words.append(found.group(2) if quoted is None else quoted.replace('""', '"'))
        at = found.end()
    return words


class _Words:
    """Words taken one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._words, self._at = words, 0

    def text(self, what: str) -> str:
        if self._at >= len(self._words):
            raise Unread(f"the line ends before {what}")
        self._at += 1
        return self._words[self._at - 1]

    def number(self, what: str) -> int:
        return whole(self.text(what), what)

    def skip(self, *names: str) -> None:
        for name in names:
            self.text(name)


def _job(words: list[str]) -> TraceJob:
    left = _Words(words)
    left.skip("event", "version")
    ended, job, uid = left.number("event time"), left.number("job"), left.number("user")
    left.skip("options")
    asked, submitted = left.number("processors"), left.number("submit time")
    left.skip("begin time", "termination time")
    started, name, queue = left.number("start time"), left.text("user name"), left.text("queue")
    left.skip(*["texts"] * 9)
    left.skip(*["asked host"] * left.number("number of asked hosts"))
    hosts = left.number("number of execution hosts")
    left.skip(*["execution host"] * hosts)
    state = left.number("job status")
    left.skip("host factor")
    job_name, _command = left.text("job name"), left.text("command")
    ran = ended - started if started > 0 else -1
    if ran < 0 < started:
        raise Unread(f"job {job} ends before it starts")
    return TraceJob(
        number=job,
        submit_us=submitted * SECOND_US,
        run_us=ran * SECOND_US if ran >= 0 else -1,
        wait_us=(started - submitted) * SECOND_US if started > 0 else -1,
        tasks=max(1, asked, hosts),
        status=STATES.get(state, -1),
        user=uid,
        queue=queue,
        name=job_name,
        project=name,
    )
