"""How fast a host's supervisor starts and ends work, and what a launch costs it.

`python -m bench agent [--launches N] [--window W] [--cgroup auto|none]`. A supervisor of its own,
in a folder of its own, is asked to prepare, let go and clean up N launches of `/bin/true`, at most
W at a time, over its unix socket, just as an agent does. CPU is the supervisor's own with its
reaped children counted apart (`child_cpu_ms`).
"""

import argparse
import os
import resource
import tempfile
import threading
import time
from typing import Any

import msgspec

from xce.agent.settings import AgentConfig, make_folder
from xce.agent.supervised import Supervised
from xce.dispatch.protocol import Task

TICKS = os.sysconf("SC_CLK_TCK")


class Driver:
    """Keeps a window of launches going and times each."""

    def __init__(self, folder: str, cgroup: str) -> None:
        config = AgentConfig(
            host="bench", home=folder, controllers=("unix:/none",), cgroup=cgroup, allow_root=True
        )
        make_folder(config)
        self.folder = config.folder
        self.latency_s: list[float] = []
        self._began_s: dict[int, float] = {}
        self._slots = threading.Semaphore(0)
        self.supervised = Supervised(config, "bench", self._heard, print)
        self.supervised.open()

    def _heard(self, event: dict[str, Any]) -> None:
        if event["event"] == "ended":
            launch = event["launch"]
            self.latency_s.append(time.perf_counter() - self._began_s.pop(launch))
            self.supervised.send({"do": "ack", "launches": [launch]})
            self._slots.release()

    def run(self, launches: int, window: int) -> float:
        """Seconds for so many launches."""
        task = msgspec.to_builtins(Task(job="1", command=("/bin/true",), cwd="/"))
        began_s = time.perf_counter()
        for launch in range(1, launches + 1):
            if launch > window:
                self._slots.acquire()
            self._began_s[launch] = time.perf_counter()
            order = {"do": "go", "launch": launch, "generation": 1, "go_env": {}, "task": task}
            self.supervised.send(order)
        for _ in range(min(window, launches)):
            self._slots.acquire()
        return time.perf_counter() - began_s

    def cpu_s(self) -> tuple[float, float]:
        """The supervisor's own CPU and that of its children."""
        with open(f"{self.folder}/supervisor.lock", encoding="ascii") as source:
            pid = source.read().strip()
        with open(f"/proc/{pid}/stat", encoding="ascii") as source:
            words = source.read().rpartition(")")[2].split()
        own, children = sum(map(int, words[11:13])), sum(map(int, words[13:15]))
        return own / TICKS, children / TICKS


def run(argv: list[str]) -> dict[str, Any]:
    """Measure and describe."""
    parser = argparse.ArgumentParser(prog="bench agent")
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--window", type=int, default=16)
    parser.add_argument("--cgroup", default="auto")
    wanted = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(folder, wanted.cgroup)
        wall_s = driver.run(wanted.launches, wanted.window)
        own_s, child_s = driver.cpu_s()
        journal_bytes = os.path.getsize(f"{driver.folder}/journal")
        driver.supervised.leave(drain=True)
        driver.supervised.wait_gone(10)
    spread = sorted(driver.latency_s)
    return {
        "figures": {
            "launches_per_s": round(wanted.launches / wall_s, 1),
            "cpu_ms": round(own_s / wanted.launches * 1000, 2),
            "child_cpu_ms": round(child_s / wanted.launches * 1000, 2),
            "p50_ms": round(spread[len(spread) // 2] * 1000, 2),
            "p99_ms": round(spread[len(spread) * 99 // 100] * 1000, 2),
        },
        "setting": {**vars(wanted), "processors": len(os.sched_getaffinity(0))},
        "durability": {
            "journal": "one fdatasync per turn",
            "journal_bytes": journal_bytes,
            "driver_rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        },
    }
