"""What `xce sim replay` does: decides an exported log again and tells what came of it."""

import gzip
from pathlib import Path
from typing import Any

import msgspec

from xce.ops.sim.running import Refused
from xce.sim.replay import replay
from xce.wal.export import import_lines
from xce.wal.memory import MemoryLog, MemoryStore
from xce.wal.port import LogError

SHOWN = 600


def replay_file(path: Path) -> dict[str, Any]:
    """The log of a file decided again; as plain values."""
    store = _store(path)
    if store.floor:
        said = f"{path} begins behind record {store.floor}"
        raise Refused(f"{said}: only a log from its first record on can be decided again")
    try:
        return {"log": str(path), **msgspec.to_builtins(replay(MemoryLog(store)))}
    except LogError as error:
        raise Refused(f"{path}: {error}") from error


def _store(path: Path) -> MemoryStore:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return import_lines(data.splitlines(keepends=True))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}") from error
    except LogError as error:
        raise Refused(f"{path}: {error}") from error


def show_replay(told: dict[str, Any]) -> str:
    """A replay for people: counts, or the first difference from both sides."""
    counts = f"{told['records']} records of {told['commands']} commands"
    runs = f"{told['sessions']} sessions, {told['timers']} deadlines"
    lines = [f"{told['log']}: {counts} decided again, {runs}"]
    if told["folded"]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(told["folded"].items()))
        lines.append(f"taken as they are, for their inputs are not in the log: {kinds}")
    if told["digests"]:
        lines.append(f"{told['digests']} plans decide the same and have another digest")
    found = told["difference"]
    if found is None:
        lines.append("every record is the same")
        return "\n".join(lines)
    lines.append(f"the first difference is at record {found['lsn']}: {found['path']}")
    lines.append(f"asked    {found['asked'][:SHOWN]}")
    for side in ("logged", "decided"):
        lines += [f"{side:8} {text[:SHOWN]}" for text in found[side] or ["nothing"]]
    return "\n".join(lines)
