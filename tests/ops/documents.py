"""Runs the commands of a document: all its `sh` blocks in one shell, in order.

A `text` block after a `sh` block is what it prints: each of its lines must be found there, where
`...` stands for anything and blanks count as one. Blocks marked `sh install` are not run here.
With the parts apart, what a document calls `xce up` is a controller and agents of their own.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kit.cluster_process import APART, cluster_words, parts
from tests.ops.xce_up import processes_of

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```([a-z]+(?: [a-z]+)?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "== block"
_UP_APART = """xce() {{
  if [ "$1" = up ]; then shift; exec {apart} "$@"; fi
  command xce "$@"
}}
"""


def blocks(document: Path) -> list[tuple[str, str]]:
    """(kind, text) of every fenced block."""
    return [(found[1], found[2]) for found in _BLOCK.finditer(document.read_text())]


def prepare(folder: Path) -> None:
    """A folder that looks like an installed clone."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)


def run(document: Path, folder: Path, **env: str) -> None:
    """Run it in a folder of its own; every line it promises must be printed."""
    found = blocks(document)
    script = "set -eu\n"
    if parts() == APART:
        script += _UP_APART.format(apart=shlex.join(cluster_words()))
    for number, (kind, text) in enumerate(found):
        if kind == "sh":
            script += f"echo '{MARK} {number}'\n{text}"
    path = f"{folder}/.venv/bin:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "XCE_ALLOW_ROOT": "1", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    printed = {
        int(part.partition("\n")[0]): part.partition("\n")[2]
        for part in done.stdout.split(f"{MARK} ")[1:]
    }
    for number, (kind, text) in enumerate(found):
        if kind == "text":
            _compare(text, printed[number - 1])
    assert processes_of(folder) == []


def _compare(promised: str, printed: str) -> None:
    have = [" ".join(line.split()) for line in printed.splitlines()]
    for line in promised.splitlines():
        form = ".*".join(map(re.escape, re.split(r" ?\.\.\. ?", " ".join(line.split()))))
        assert any(re.fullmatch(form, one) for one in have), f"{line!r} is not in:\n{printed}"
