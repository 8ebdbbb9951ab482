"""A process that is killed while it appends: what it acknowledged is there, and nothing is torn."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wal import kit
from xce.wal.anchor import Anchor
from xce.wal.open import HomeLock, open_log
from xce.wal.port import Batch

_APPENDER = """
import os, pathlib, signal, sys
from tests.wal import kit
from xce.wal.anchor import Anchor
from xce.wal.open import HomeLock, open_log
home, point, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
reached = 0

def reach(name):
    global reached
    if name == point:
        reached += 1
        if reached == count:
            os.kill(os.getpid(), signal.SIGKILL)

lock = HomeLock(home)
log = open_log("sqlite", home, at_point=reach)
anchor = Anchor(home / "anchor")
anchor.check(log)
epoch = log.lead("home", 0, 1)
while True:
    head = log.append(kit.batch(epoch, log.head().lsn + 1, 3))
    reach("before_anchor")
    anchor.write(head)
    print(head.lsn, flush=True)
"""

POINTS = ("log.begun", "log.written", "log.committed", "before_anchor")


def killed(home: Path, point: str, count: int) -> int:
    """Runs the appender until it dies at the point; gives the last lsn it acknowledged."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _APPENDER, str(home), point, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        timeout=60,
    )
    assert done.returncode == -9
    lines = done.stdout.split()
    return int(lines[-1]) if lines else 0


@pytest.mark.processes
@pytest.mark.kill
def test_what_was_acknowledged_survives_a_kill_at_every_named_point(tmp_path: Path) -> None:
    home, acknowledged = tmp_path / "home", 0
    for round_number, point in enumerate(POINTS, 1):
        acknowledged = max(acknowledged, killed(home, point, 2 + round_number))
        lock = HomeLock(home)
        log, anchor = open_log("sqlite", home), Anchor(home / "anchor")
        anchor.check(log)
        head = log.head()
        assert anchor.head is not None
        assert acknowledged <= anchor.head.lsn <= head.lsn <= acknowledged + 3
        assert head.lsn % 3 == 0
        assert [record.lsn for record in log.read(1)] == list(range(1, head.lsn + 1))
        assert log.leader().epoch == 2 * round_number - 1
        epoch = log.lead("home", 0, 1)
        log.append(Batch(epoch=epoch, answers=(kit.answer(f"k{round_number}", head.lsn),)))
        log.close()
        anchor.close()
        lock.release()
    assert acknowledged >= 3 * (2 + 3 + 4 + 5)
