"""Control groups of launches: one per launch, where the host lets us make them.

Two things are wanted: a *tracking* group, which holds every process of a launch whatever it does
(v2 anywhere on the machine, else v1 freezer), and a *memory* group, which limits and tells an
out-of-memory kill apart (v2 memory, else v1 memory). They may be one directory or two, or there
may be none: then `tree` finds processes by parents, sessions and cookies.

Groups live under `xce/HOSTKEY/` of each hierarchy; nothing else is ever looked at or changed.
"""

import contextlib
import os

ROOT = "/sys/fs/cgroup"


def _write(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as source:
            return source.read()
    except OSError:
        return ""


def _counter(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


def _make_base(hierarchy: str, host_key: str) -> str:
    """The directory for this host's launches in a hierarchy, "" where it cannot be made."""
    base = f"{hierarchy}/xce/{host_key}"
    try:
        os.makedirs(base, exist_ok=True)
        probe = f"{base}/probe"
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError:
        return ""
    return base


class Cgroups:
    """The hierarchies in use on this host. `driver`: auto, v2, v1 or none."""

    def __init__(self, driver: str, host_key: str, root: str = ROOT) -> None:
        self.tracking = ""
        self.memory = ""
        self.driver = "none"
        if driver in ("auto", "v2"):
            self._use_v2(root, host_key)
        if driver in ("auto", "v1"):
            self._use_v1(root, host_key)

    def _use_v2(self, root: str, host_key: str) -> None:
        for hierarchy in (root, f"{root}/unified"):
            if os.path.exists(f"{hierarchy}/cgroup.controllers"):
                self.tracking = _make_base(hierarchy, host_key)
                break
        if not self.tracking:
            return
        self.driver = "v2"
        if "memory" in _read(f"{hierarchy}/cgroup.controllers").split():
            for folder in (hierarchy, f"{hierarchy}/xce", self.tracking):
                with contextlib.suppress(OSError):
                    _write(f"{folder}/cgroup.subtree_control", "+memory")
            if "memory" in _read(f"{self.tracking}/cgroup.subtree_control").split():
                self.memory = self.tracking

    def _use_v1(self, root: str, host_key: str) -> None:
        if not self.tracking and os.path.exists(f"{root}/freezer/cgroup.procs"):
            self.tracking = _make_base(f"{root}/freezer", host_key)
            self.driver = "v1" if self.tracking else "none"
        if not self.memory and os.path.exists(f"{root}/memory/memory.limit_in_bytes"):
            self.memory = _make_base(f"{root}/memory", host_key)

    def make(self, name: str, mem_bytes: int) -> "Group":
        """The group of one launch, made where it can be made."""
        tracking = f"{self.tracking}/{name}" if self.tracking else ""
        memory = f"{self.memory}/{name}" if self.memory and mem_bytes > 0 else ""
        for folder in {tracking, memory} - {""}:
            os.makedirs(folder, exist_ok=True)
        group = Group(tracking, memory)
        if memory:
            group.limit_memory(mem_bytes)
        return group

    def found(self) -> list[str]:
        """Names of the launches that have groups, from this or an earlier supervisor."""
        names: set[str] = set()
        for base in {self.tracking, self.memory} - {""}:
            names |= {entry.name for entry in os.scandir(base) if entry.is_dir()}
        return sorted(names)

    def close(self) -> None:
        """Leave nothing of this host behind, unless something of it is still in use."""
        for base in {self.tracking, self.memory} - {""}:
            with contextlib.suppress(OSError):
                os.rmdir(base)

    def adopt(self, name: str) -> "Group":
        """The groups of that name as they are on the machine."""
        folders = [f"{base}/{name}" if base else "" for base in (self.tracking, self.memory)]
        return Group(*(folder if folder and os.path.isdir(folder) else "" for folder in folders))


class Group:
    """The control groups of one launch; with none every question has an empty answer."""

    def __init__(self, tracking: str = "", memory: str = "") -> None:
        self.tracking = tracking
        self.memory = memory
        self.folders = [folder for folder in dict.fromkeys((tracking, memory)) if folder]

    def limit_memory(self, mem_bytes: int) -> None:
        """Let the launch have that much memory and no swap beside it."""
        if os.path.exists(f"{self.memory}/memory.max"):
            _write(f"{self.memory}/memory.max", str(mem_bytes))
            with contextlib.suppress(OSError):
                _write(f"{self.memory}/memory.oom.group", "1")
        else:
            _write(f"{self.memory}/memory.limit_in_bytes", str(mem_bytes))

    @property
    def birthplace(self) -> str:
        """The group a child can be born in, "" where it has to join."""
        return self.tracking if os.path.exists(f"{self.tracking}/cgroup.events") else ""

    def join(self, *, born_inside: bool) -> None:
        """Put the calling process in; done by the child before it gives up its rights."""
        for folder in self.folders:
            if not (born_inside and folder == self.tracking):
                _write(f"{folder}/cgroup.procs", "0")

    def pids(self) -> list[int]:
        """Processes in the tracking group."""
        return [int(word) for word in _read(f"{self.tracking}/cgroup.procs").split()]

    def kill(self) -> bool:
        """Kill all processes at one stroke; False where the kernel cannot."""
        try:
            _write(f"{self.tracking}/cgroup.kill", "1")
        except OSError:
            return False
        return True

    def freeze(self) -> bool:
        """Let none of its processes run; whether the kernel says that none does."""
        try:
            if self._is_v1:
                _write(f"{self.tracking}/freezer.state", "FROZEN")
                return _read(f"{self.tracking}/freezer.state").strip() == "FROZEN"
            _write(f"{self.tracking}/cgroup.freeze", "1")
        except OSError:
            return False
        return _counter(_read(f"{self.tracking}/cgroup.events"), "frozen") == 1

    def thaw(self) -> None:
        """Let its processes go on."""
        with contextlib.suppress(OSError):
            if self._is_v1:
                _write(f"{self.tracking}/freezer.state", "THAWED")
            else:
                _write(f"{self.tracking}/cgroup.freeze", "0")

    @property
    def can_freeze(self) -> bool:
        """Whether the kernel can freeze it: version 2 since 5.2, or a v1 freezer."""
        return bool(self.tracking) and (
            self._is_v1 or os.path.exists(f"{self.tracking}/cgroup.freeze")
        )

    @property
    def _is_v1(self) -> bool:
        return os.path.exists(f"{self.tracking}/freezer.state")

    def oom_kills(self) -> int:
        """How many processes of the launch the kernel killed for memory."""
        if not self.memory:
            return 0
        events = _read(f"{self.memory}/memory.events") or _read(f"{self.memory}/memory.oom_control")
        return _counter(events, "oom_kill")

    def is_empty(self) -> bool:
        """Whether no process is left in it."""
        events = _read(f"{self.tracking}/cgroup.events")
        if events:
            return _counter(events, "populated") == 0
        return not self.pids()

    def remove(self) -> bool:
        """Remove the directories; False while something keeps them."""
        removed = True
        for folder in self.folders:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                continue
            except OSError:
                removed = False
        return removed
