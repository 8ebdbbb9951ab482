"""The process tree of a launch: who belongs to it, signalling it, killing it whole.

With a tracking group the kernel knows. Without one a process belongs to a launch when it descends
from one of its main processes, carries the launch's cookie in its environment, or is in a session
of it or below a process that is; one that wiped every trace goes with the last launch. The
supervisor is a subreaper, so whatever loses its parent becomes its child: main processes gone and
no adopted child left means that nothing is left.

Only pidfds signal. A pid read from /proc is opened first and looked at again through what made it
ours before the signal goes, so a number that was given to a stranger meanwhile is never hit.
"""

import contextlib
import os
import signal

from xce.agent.supervisor.processes.cgroup import Group

COOKIE = "XCE_LAUNCH"
_STANDING = frozenset({b"T", b"t", b"Z", b"X"})


def _stat(pid: int) -> tuple[int, int, str] | None:
    """Parent, session and start time of a living process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as source:
            words = source.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if words[0] in (b"Z", b"X"):
        return None
    return int(words[1]), int(words[3]), words[19].decode()


def _stands(pid: int) -> bool:
    """Whether all threads of a process are stopped (or it is gone or traced)."""
    return _states(pid) <= _STANDING


def _states(pid: int) -> set[bytes]:
    """The states of its threads; none of what is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return set()
    return {_state(f"/proc/{pid}/task/{thread}/stat") for thread in threads}


def _state(path: str) -> bytes:
    try:
        with open(path, "rb") as source:
            return source.read().rpartition(b")")[2].split()[0]
    except OSError:
        return b"X"


def _carries(pid: int, cookie: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as source:
            return f"{COOKIE}={cookie}".encode() in source.read().split(b"\0")
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Direct children of a process, of all its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as source:
                found += [int(word) for word in source.read().split()]
    except OSError:
        return found
    return found


def _below(pids: list[int]) -> list[int]:
    """The processes and all that descend from them."""
    found = list(dict.fromkeys(pids))
    seen = set(found)
    for pid in found:
        fresh = [child for child in children(pid) if child not in seen]
        seen.update(fresh)
        found += fresh
    return found


def all_pids() -> list[int]:
    """Every process of the machine."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def carriers(cookie: str) -> list[int]:
    """Every process of the machine that carries the cookie, with what descends from it."""
    return _below([pid for pid in all_pids() if pid != os.getpid() and _carries(pid, cookie)])


def send(pid: int, number: int, start_time: str) -> None:
    """Signal a process through a pidfd, unless its number has been given to another."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        now = _stat(pid)
        if now is not None and now[2] == start_time:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


class Tree:
    """The tree of one launch. `mains` are its living main processes (unreaped children)."""

    def __init__(self, cookie: str, group: Group) -> None:
        self.cookie = cookie
        self.group = group
        self.mains: set[int] = set()
        self.sessions: set[int] = set()

    def add_main(self, pid: int) -> None:
        """A main process was forked; it leads a session of its own."""
        self.mains.add(pid)
        self.sessions.add(pid)

    def _adopted(self, others: set[int]) -> list[int]:
        """Children the supervisor got from dead parents and that are of this launch."""
        strays = [
            pid
            for pid in children(os.getpid())
            if pid not in self.mains and pid not in others and _stat(pid) is not None
        ]
        # What wiped every trace can only be told apart while a single launch is there.
        return [pid for pid in strays if not others or self._is_ours(pid)]

    def _is_ours(self, top: int) -> bool:
        for pid in _below([top]):
            stat = _stat(pid)
            if (stat is not None and stat[1] in self.sessions) or _carries(pid, self.cookie):
                return True
        return False

    def members(self, others: set[int]) -> list[tuple[int, str]]:
        """Living processes of the launch with their start times. `others`: mains of others."""
        if self.group.tracking:
            pids = list(dict.fromkeys([*self.mains, *self.group.pids()]))
        else:
            pids = _below([*self.mains, *self._adopted(others)])
        found = [(pid, _stat(pid)) for pid in pids]
        return [(pid, stat[2]) for pid, stat in found if stat is not None]

    def signal(self, number: int, others: set[int]) -> None:
        """Signal every process of the launch once."""
        for pid, start_time in self.members(others):
            send(pid, number, start_time)

    def freeze(self, others: set[int]) -> bool:
        """Let none of it run; whether none does, else come again."""
        if self.group.can_freeze:
            return self.group.freeze()
        start_times = dict(self.members(others))
        moving = [pid for pid in start_times if not _stands(pid)]
        for pid in moving:
            send(pid, signal.SIGSTOP, start_times[pid])
        # A vfork waits, deaf to signals, until its child has begun another program: so let it.
        for pid in moving:
            if b"D" in _states(pid):
                for child in children(pid):
                    if child in start_times and child not in moving:
                        send(child, signal.SIGCONT, start_times[child])
        return not moving

    def thaw(self, others: set[int]) -> None:
        """Let all of it go on."""
        if self.group.can_freeze:
            self.group.thaw()
        else:
            self.signal(signal.SIGCONT, others)

    def kill(self, others: set[int]) -> None:
        """Kill whatever is there now, frozen or not; ask `is_empty` and come again."""
        if self.group.tracking and self.group.kill():
            return
        self._kill_each(others)
        # What is frozen in a group dies when it is let go, before it does anything.
        if self.group.can_freeze:
            self.group.thaw()

    def _kill_each(self, others: set[int]) -> None:
        stopped: set[int] = set()
        # Stop first, so that a bomb cannot fork faster than it is killed; a few rounds will do.
        for _ in range(8):
            fresh = [member for member in self.members(others) if member[0] not in stopped]
            if not fresh:
                break
            for pid, start_time in fresh:
                send(pid, signal.SIGSTOP, start_time)
                stopped.add(pid)
        self.signal(signal.SIGKILL, others)

    def is_empty(self, others: set[int]) -> bool:
        """Whether no process of the launch is left."""
        if self.mains:
            return False
        if self.group.tracking:
            return self.group.is_empty()
        return not self._adopted(others)


class Orphans(Tree):
    """What an earlier supervisor's launch left behind: nobody's children, so all are looked at."""

    def members(self, others: set[int]) -> list[tuple[int, str]]:
        """Processes of the group and all that carry the cookie."""
        pids = [*self.group.pids(), *carriers(self.cookie)] if self.cookie else self.group.pids()
        found = [(pid, _stat(pid)) for pid in dict.fromkeys(pids)]
        return [(pid, stat[2]) for pid, stat in found if stat is not None]

    def kill(self, others: set[int]) -> None:
        """Kill the group at one stroke and the carriers one by one, frozen or not."""
        self.group.kill()
        self.signal(signal.SIGKILL, others)
        if self.group.can_freeze:
            self.group.thaw()

    def is_empty(self, others: set[int]) -> bool:
        """Whether nothing is left."""
        return not self.members(others) and self.group.is_empty()
