"""A hard bound on the number of a reporter's processes, where control groups can give one.

A group of the `pids` controller holds the whole tree of one keeper, so that a fork bomb fails by
itself long before the keeper's next look. It lives under `xce/reporters/` of the hierarchy (v1
`pids`, or v2); without it the keeper's looks are the only bound. Nothing else is touched.
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


def make_group(name: str, processes_max: int, root: str = ROOT) -> str:
    """The folder of a new group with that bound, "" where none can be made."""
    for hierarchy in (f"{root}/pids", root):
        base = f"{hierarchy}/xce/reporters"
        try:
            os.makedirs(base, exist_ok=True)
            for folder in (hierarchy, f"{hierarchy}/xce", base):
                with contextlib.suppress(OSError):
                    _write(f"{folder}/cgroup.subtree_control", "+pids")
            os.mkdir(f"{base}/{name}")
        except OSError:
            continue
        try:
            _write(f"{base}/{name}/pids.max", str(processes_max))
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(f"{base}/{name}")
            continue
        return f"{base}/{name}"
    return ""


def join(group: str) -> None:
    """Put the calling process, and all that it will fork, into the group."""
    _write(f"{group}/cgroup.procs", "0")


def remove(group: str) -> None:
    """Remove it, and what nobody uses of the folders around it; `xce` is others' elsewhere."""
    base = os.path.dirname(group)
    own = os.path.dirname(base)
    for folder in (group, base, *([own] if own.endswith("/pids/xce") else [])):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
