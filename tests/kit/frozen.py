"""Processes that SIGKILL does not end: frozen by a control group of the first kind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.fake_controller import until

FREEZER = Path("/sys/fs/cgroup/freezer")


class Frozen:
    """A control group of the first kind: what is frozen in it takes no signal, SIGKILL neither."""

    def __init__(self, name: str) -> None:
        self.folder = FREEZER / name
        self.folder.mkdir()

    def take(self, pid: int) -> None:
        """Freeze a process."""
        (self.folder / "cgroup.procs").write_text(str(pid))
        (self.folder / "freezer.state").write_text("FROZEN")
        until(lambda: (self.folder / "freezer.state").read_text().strip() == "FROZEN")

    def thaw(self) -> None:
        """Let it go on; signals that came meanwhile act."""
        (self.folder / "freezer.state").write_text("THAWED")

    def remove(self) -> None:
        """Thaw, and go when nothing is in it any more."""
        self.thaw()
        until(lambda: not (self.folder / "cgroup.procs").read_text().strip())
        self.folder.rmdir()


@contextmanager
def freezer(name: str) -> Iterator[Frozen]:
    """A group for a test, which is skipped where there is none of that kind."""
    try:
        one = Frozen(name)
    except OSError:
        pytest.skip("no freezer of the first kind here: nothing else makes a process unkillable")
    try:
        yield one
    finally:
        one.remove()
