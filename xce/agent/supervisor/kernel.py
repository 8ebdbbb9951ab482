"""What the supervisor and its children ask of the kernel about themselves.

`prctl` is looked up once at import: a forked child must not load libraries. Failures raise OSError
with the call's name; nothing here decides anything. Each parked process costs the supervisor a
descriptor, so it takes all that it may; children get the usual limit back, because programs that
use select() rely on it. Time that decides is boot time, which no clock setting moves.

A child that must be in a control group is born there (clone3), where the kernel can: moving it in
afterwards waits for all processors and takes 10 ms on a quiet machine.
"""

import ctypes
import os
import resource
import signal
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SYS_CLONE3 = 435
_SYS_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
_MEMORY_POLICIES = {"localprefer": 1, "localonly": 2}
_NODES_MAX = 1024
_CLONE_INTO_CGROUP = 0x200000000
_CLONE_ARGS = 11
_EXIT_SIGNAL, _CGROUP = 4, 10
_files_before = resource.getrlimit(resource.RLIMIT_NOFILE)
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def _call(name: str, option: int, value: int) -> None:
    arguments = (ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    if _prctl(option, *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({name}) failed")


def become_subreaper() -> None:
    """Adopt every descendant that loses its parent."""
    _call("PR_SET_CHILD_SUBREAPER", _PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Be killed when the parent dies, or get another signal; end at once when it is dead."""
    _call("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def forbid_new_privileges() -> None:
    """No setuid program gives this process, or what it starts, more rights."""
    _call("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


# Keeps the interpreter's lock during the call: the child must find it taken, as after os.fork.
_syscall = ctypes.PyDLL(None, use_errno=True).syscall


def _clone_into(folder: int) -> int:
    """Fork as os.fork does, the child in the control group that `folder` is open on; -1: no."""
    arguments = (ctypes.c_uint64 * _CLONE_ARGS)()
    arguments[0] = _CLONE_INTO_CGROUP
    arguments[_EXIT_SIGNAL], arguments[_CGROUP] = signal.SIGCHLD, folder
    size = ctypes.c_size_t(ctypes.sizeof(arguments))
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = int(_syscall(ctypes.c_long(_SYS_CLONE3), ctypes.byref(arguments), size))
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def fork_into(cgroup: str) -> tuple[int, bool]:
    """Fork; the pid as os.fork has it, and whether the child was born in the control group."""
    if cgroup and os.uname().machine in ("x86_64", "aarch64"):
        folder = os.open(cgroup, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            pid = _clone_into(folder)
        finally:
            os.close(folder)
        if pid >= 0:
            return pid, True
    return os.fork(), False


def boot_id() -> str:
    """What tells one boot of this machine from the next."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
        return source.read().strip()


def raise_files() -> None:
    """Take the hard limit of open files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (_files_before[1], _files_before[1]))


def restore_files() -> None:
    """In a child: the limit of open files as it was."""
    resource.setrlimit(resource.RLIMIT_NOFILE, _files_before)


def clock_s() -> float:
    """Seconds since boot, time asleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def clock_us() -> int:
    """Microseconds since boot, time asleep included."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def run_on(cpus: set[int]) -> None:
    """Keep this process on these processors. An emulated host may name some that the machine
    does not have: then it stays where it is."""
    if cpus <= os.sched_getaffinity(0):
        os.sched_setaffinity(0, cpus)


def remember_on(nodes: set[int], policy: str) -> None:
    """Take memory from these nodes, only (`localonly`) or first (`localprefer`, which the kernel
    does for one node: the lowest). set_mempolicy(2) outlives exec. Nodes that the machine does
    not have, or a kernel without nodes, bind nothing."""
    number = _SYS_SET_MEMPOLICY.get(os.uname().machine)
    mode = _MEMORY_POLICIES.get(policy)
    if number is None or mode is None or not nodes or max(nodes) >= _NODES_MAX:
        return
    chosen = nodes if policy == "localonly" else {min(nodes)}
    mask = (ctypes.c_uint64 * (_NODES_MAX // 64))()
    for node in chosen:
        mask[node // 64] |= 1 << node % 64
    if not _nodes_here() >= chosen:
        return
    long = ctypes.c_long
    if _syscall(long(number), long(mode), ctypes.byref(mask), long(_NODES_MAX)) != 0:
        raise OSError(ctypes.get_errno(), "set_mempolicy failed")


def _nodes_here() -> set[int]:
    """The memory nodes of this machine; none where the kernel knows none."""
    try:
        with open("/sys/devices/system/node/has_memory", encoding="ascii") as source:
            text = source.read().strip()
    except FileNotFoundError:
        return set()
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
