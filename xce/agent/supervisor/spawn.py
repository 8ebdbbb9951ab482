"""From a task to parked processes: fork, become the user, open the files, wait for the go.

The supervisor is small and has one thread, so a plain fork is safe. Child and supervisor share a
socket: the child says `R` when it is parked or `E` with a reason, and then waits for one line of
JSON, the environment that completes its own. Closed without a line means: never run. Everything
that can fail for a user's mistake fails before the child parks, and is told in words.
"""

import contextlib
import json
import os
import pwd
import signal
import socket
import sys
from typing import Any, NamedTuple, NoReturn

from xce import crashpoint
from xce.agent.supervisor import kernel
from xce.agent.supervisor.processes.cgroup import Group
from xce.agent.supervisor.processes.tree import COOKIE

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BOUND = ("LSB_BIND_CPU_LIST", "LSB_BIND_MEM_LIST", "LSB_BIND_MEM_POLICY")
_CHANNEL = 3
_SIGNALS = tuple(sorted(signal.valid_signals()))


_OWN_FAULT = b"U"


class Unpreparable(Exception):
    """The task cannot be prepared, by its own fault; the text says why, for the user."""


class Recipe:
    """A task made ready for forking: whom to become, what to run."""

    def __init__(
        self, task: dict[str, Any], cookie: str, group: Group, *, allow_root: bool
    ) -> None:
        self.task = task
        self.group = group
        self.uid = _identity(task, allow_root)
        self.switch = self.uid != os.geteuid()
        self.cookie = cookie
        self.script_path = ""
        self.files: dict[str, str] = {}

    def write_files(self, base: str, paths: list[str]) -> None:
        """Write the script and the task's files, each named after `base`; `paths` gets what is to
        be removed with the launch, also what could only be begun."""
        if self.task["script"]:
            self.script_path = f"{base}.sh"
            self._write(self.script_path, self.task["script"], 0o500, paths)
        for variable, content in self.task.get("files", {}).items():
            self.files[variable] = f"{base}.{variable.lower()}"
            self._write(self.files[variable], content, 0o600, paths)

    def _write(self, path: str, text: str, mode: int, paths: list[str]) -> None:
        """A new file of the user's that nobody else can read or write."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, mode)
        paths.append(path)
        try:
            with open(handle, "w", encoding="utf-8", closefd=False) as out:
                out.write(text)
            os.fchmod(handle, mode)
            if self.switch:
                os.fchown(handle, self.uid, -1)
        finally:
            os.close(handle)

    def argv(self) -> list[str]:
        """What is executed; a script's first line names its interpreter, else it is a shell."""
        command = [str(word) for word in self.task["command"]]
        if not self.script_path:
            return command
        first = self.task["script"].partition("\n")[0]
        named = first[2:].split(None, 1) if first.startswith("#!") else []
        return [*(named or ["/bin/sh"]), self.script_path, *command]


def _identity(task: dict[str, Any], allow_root: bool) -> int:
    mine = os.geteuid()
    uid = int(task["uid"]) if task["uid"] >= 0 else mine
    if uid == 0 and not allow_root:
        raise Unpreparable("work of uid 0 is refused on this host; --allow-root lets it run")
    if uid != mine and mine != 0:
        raise Unpreparable(f"this agent runs as uid {mine} and cannot start work of uid {uid}")
    return uid


class Account(NamedTuple):
    """Whom a child becomes. Looked up by the child: a directory service may be slow."""

    name: str
    home: str
    gid: int


def _account(recipe: Recipe) -> Account:
    task, uid = recipe.task, recipe.uid
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        gid = uid if recipe.switch else os.getegid()
        found = Account(task["user"] or str(uid), "/", gid)
    else:
        found = Account(entry.pw_name, entry.pw_dir, entry.pw_gid)
    return found._replace(gid=task["gid"]) if task["gid"] >= 0 else found


class Process:
    """One main process of a launch, as its parent sees it."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel: socket.socket | None = channel
        self.is_parked = False
        self.complaint = ""
        self.is_own_fault = False
        self.status: int | None = None

    def hear(self) -> None:
        """Read what the child says while it gets ready."""
        if self.channel is None:
            return
        try:
            said = self.channel.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said[:1] == b"R":
            self.is_parked = True
        elif said:
            self.is_own_fault = said[:1] == _OWN_FAULT
            self.complaint = said[1:].decode(errors="replace")
        else:
            self.close()

    def let_go(self, go_env: dict[str, str]) -> None:
        """Send the go; a child that is dead already is found by its status."""
        if self.channel is not None:
            with contextlib.suppress(OSError):
                self.channel.setblocking(True)
                self.channel.settimeout(5)
                self.channel.sendall(json.dumps(go_env).encode() + b"\n")
            self.close()

    def close(self) -> None:
        """Close the channel; a parked child that gets no go ends itself."""
        if self.channel is not None:
            self.channel.close()
            self.channel = None


def fork_process(recipe: Recipe, index: int) -> Process:
    """Fork one child, which parks itself."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    crashpoint.reach("launch.before_fork")
    pid, born_inside = kernel.fork_into(recipe.group.birthplace)
    if pid == 0:
        _child(recipe, index, theirs.fileno(), (parent, born_inside))
    theirs.close()
    ours.setblocking(False)
    return Process(pid, ours)


def _child(recipe: Recipe, index: int, channel: int, born: tuple[int, bool]) -> NoReturn:
    try:
        parent, born_inside = born
        _isolate(channel)
        os.setsid()
        recipe.group.join(born_inside=born_inside)
        account = _account(recipe)
        _become(recipe, account, parent)
        argv, env = _furnish(recipe, account, index)
        os.write(_CHANNEL, b"R")
        go_env = _await_go()
        if go_env is not None:
            crashpoint.reach("launch.before_exec")
            _run(argv, {**env, **go_env, COOKIE: env[COOKIE]})
    except Unpreparable as error:
        _complain(str(error), _OWN_FAULT)
    except OSError as error:
        _complain(f"{error.filename or 'system call'}: {error.strerror}")
    except ValueError as error:
        _complain(f"the task cannot be understood: {error}", _OWN_FAULT)
    finally:
        os._exit(1)
    raise AssertionError


def _complain(text: str, mark: bytes = b"E") -> None:
    with contextlib.suppress(OSError):
        os.write(_CHANNEL, mark + text.encode()[:4000])


def _isolate(channel: int) -> None:
    """Drop everything inherited but the channel, and ordinary signal handling."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if channel != _CHANNEL:
        os.dup2(channel, _CHANNEL, inheritable=False)
    os.closerange(_CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
    kernel.restore_files()


def _become(recipe: Recipe, account: Account, parent: int) -> None:
    os.umask(recipe.task["umask"])
    if nice := recipe.task.get("nice", 0):
        os.nice(nice)
    if recipe.switch:
        try:
            os.initgroups(account.name, account.gid)
            os.setresgid(account.gid, account.gid, account.gid)
            os.setresuid(recipe.uid, recipe.uid, recipe.uid)
        except OSError as error:
            raise Unpreparable(f"cannot become uid {recipe.uid}: {error.strerror}") from error
        if os.getresuid() != (recipe.uid,) * 3 or os.getresgid() != (account.gid,) * 3:
            raise Unpreparable(f"did not become uid {recipe.uid}")
        kernel.forbid_new_privileges()
    kernel.die_with_parent(parent)


def _furnish(recipe: Recipe, account: Account, index: int) -> tuple[list[str], dict[str, str]]:
    """Directory, files, command, environment; done as the user."""
    task = recipe.task
    cwd = task["cwd"] or account.home
    try:
        os.chdir(cwd)
    except OSError as error:
        raise Unpreparable(f"working directory {cwd}: {error.strerror}") from error
    _open_files(task, is_first=task["first_rank"] + index == 0)
    env = {
        "PATH": DEFAULT_PATH,
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        **task["env"],
        **recipe.files,
        **_bind(task, index),
        "PWD": os.getcwd(),
        "XCE_RANK": str(task["first_rank"] + index),
        "XCE_LOCAL_RANK": str(index),
        COOKIE: recipe.cookie,
    }
    argv = recipe.argv()
    if not argv or not argv[0]:
        raise Unpreparable("there is no command")
    return [find_command(argv[0], env["PATH"]), *argv], env


def _bind(task: dict[str, Any], index: int) -> dict[str, str]:
    """The processors and memory nodes of the task, where each task has a process of its own, else
    those of all tasks here; set, and told to the process."""
    env = task["env"]
    text = task.get("files", {}).get("LSB_AFFINITY_HOSTFILE") or env.get("XCE_AFFINITY_HOSTS", "")
    lines = [line.split() for line in text.splitlines()]
    here = [words[1:] for words in lines if words[0] == env.get("XCE_HOST")]
    told = [env.get(name, "") for name in _BOUND]
    if len(here) == task["processes"]:
        told = (here[index] + ["", ""])[:3]
    cpus, nodes, policy = told
    if not cpus:
        return {}
    kernel.run_on(_numbers(cpus))
    kernel.remember_on(_numbers(nodes), policy)
    return {name: value for name, value in zip(_BOUND, told, strict=True) if value}


def _numbers(listed: str) -> set[int]:
    return {int(number) for number in listed.split(",") if number}


def _open_files(task: dict[str, Any], *, is_first: bool) -> None:
    source = _open("input", task["stdin"] or os.devnull, os.O_RDONLY)
    anew = task.get("anew", ()) if is_first else ()
    out = _open_output("output", task["stdout"], anew="stdout" in anew)
    err = out
    if task["stderr"]:
        err = _open_output("error output", task["stderr"], anew="stderr" in anew)
    for number, handle in enumerate((source, out, err)):
        os.dup2(handle, number, inheritable=True)
    for handle in {source, out, err}:
        os.close(handle)


def _open_output(what: str, path: str, *, anew: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if anew and path else 0)
    return _open(what, path or os.devnull, flags)


def _open(what: str, path: str, flags: int) -> int:
    """Open as the user. A symbolic link as last part is refused; a pipe must have a reader."""
    flags |= os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    if path != os.devnull:
        flags |= os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        is_link = os.path.islink(path)
        why = "is a symbolic link, which is not followed" if is_link else error.strerror
        raise Unpreparable(f"{what} file {path}: {why}") from error
    os.set_blocking(handle, True)
    return handle


def find_command(name: str, path: str) -> str:
    """The file that a command's name stands for; a name that PATH does not have gives "".

    What cannot be executed is found out at the exec, as a shell would, and is the job's exit
    code 127 or 126 with a line in its error output (LSF 10.1, "Exit values").
    """
    if "/" in name:
        return name
    for folder in path.split(":"):
        candidate = f"{folder or '.'}/{name}"
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return ""


def _await_go() -> dict[str, str] | None:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(_CHANNEL, 1 << 16)
        if not part:
            return None
        line += part
    found = json.loads(line)
    return {str(key): str(value) for key, value in found.items()}


def _run(argv: list[str], env: dict[str, str]) -> NoReturn:
    try:
        os.execve(argv[0], argv[1:], env)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        why = "command not found" if not argv[0] else error.strerror
        text = f"{argv[1]}: {why}\n"
    except ValueError as error:
        code, text = 126, f"{argv[0]}: {error}\n"
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="replace"))
    sys.stderr = None
    os._exit(code)
