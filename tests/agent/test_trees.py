"""Whole process trees end with their launch, whatever they do to get away."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.agent.conftest import ENV, Host, is_alive
from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import Ended, Reconciled, Started

ESCAPE = """
import os, sys, time
def note(name):
    with open(name + ".new", "w") as out: out.write(str(os.getpid()))
    os.rename(name + ".new", name)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        note("double-fork")
        time.sleep(60)
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sh", ["sh", "-c", "echo $$ > wiped.new; mv wiped.new wiped; sleep 60; :"],
                  {"PATH": "/usr/bin:/bin"})
    os._exit(0)
if os.fork() == 0:
    note("child")
    time.sleep(60)
MORE
"""
NAMES = ("double-fork", "wiped", "child")


def escape(host: Host, more: str, **fields: object) -> object:
    program = ESCAPE.replace("MORE", more)
    return host.task(sys.executable, "-I", "-S", "-c", program, **fields)


def pids(host: Host) -> list[int]:
    until(lambda: all((host.home / name).exists() for name in NAMES))
    return [int((host.home / name).read_text()) for name in NAMES]


def drivers() -> list[str]:
    return ["auto", "none"]


@pytest.mark.parametrize("driver", drivers())
def test_escapees_are_gone_when_a_launch_is_stopped(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    controller.go(1, escape(host, "time.sleep(60)", kill_grace_us=100_000))
    found = pids(host)
    assert all(map(is_alive, found))
    controller.gone(1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", signal.SIGTERM, "killed")
    assert not any(map(is_alive, found))


@pytest.mark.parametrize("driver", drivers())
def test_escapees_are_gone_when_the_main_process_ends(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    wait = "while not all(os.path.exists(n) for n in ('double-fork', 'wiped', 'child')): "
    controller.go(1, escape(host, f"{wait}time.sleep(0.01)\nsys.exit(4)"))
    found = pids(host)
    assert controller.await_report(Ended, 1).code == 4
    assert not any(map(is_alive, found))


@pytest.mark.parametrize("driver", drivers())
def test_other_launches_live_on_when_one_is_cleaned_up(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    controller.go(1, host.shell("sleep 30 & sleep 0.1", stdout="one"))
    controller.go(2, host.shell("(setsid sleep 0.5; echo lived) & wait", stdout="two"))
    controller.await_report(Ended, 1)
    assert controller.await_report(Ended, 2).code == 0
    assert host.text("two") == "lived\n"


def test_a_stop_lets_work_end_itself_within_the_grace(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    script = "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.02; done"
    controller.go(1, host.shell(script, kill_grace_us=5_000_000))
    until(lambda: "up" in host.text())
    controller.gone(1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("exited", 5, "killed")
    assert host.text().splitlines()[-1] == "saved"


def test_what_ignores_the_stop_is_killed_after_the_grace(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    script = "trap '' TERM; echo up; while :; do sleep 0.02; done"
    controller.go(1, host.shell(script, kill_grace_us=200_000))
    until(lambda: "up" in host.text())
    asked_s = time.monotonic()
    controller.gone(1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("signalled", signal.SIGKILL)
    assert 0.19 < time.monotonic() - asked_s < 3


@pytest.mark.parametrize("driver", drivers())
def test_a_small_fork_bomb_is_brought_down(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    bomb = (
        "import os, time\n"
        "end = time.time() + 20\n"
        "open('up', 'w').close()\n"
        "while time.time() < end:\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(0.05)\n"
        "    elif os.path.exists('up'):\n"
        "        time.sleep(0.05)\n"
    )
    task = host.task(sys.executable, "-I", "-S", "-c", bomb, kill_grace_us=0)
    controller.go(1, task)
    until((host.home / "up").exists)
    time.sleep(0.2)
    controller.gone(1)
    controller.await_report(Ended, 1, nth=1)
    cookie = f"{controller_cookie(host)}:1.7".encode()
    assert carriers(cookie) == []


def controller_cookie(host: Host) -> str:
    text = (host.folder / "journal").read_text()
    return text.split('"key": "')[1].split('"')[0]


def carriers(cookie: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if cookie in path.read_bytes() and is_alive(int(path.parent.name)):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    reason="needs a memory control group of version 1",
)
def test_running_out_of_memory_is_told_apart(host: Host, controller: FakeController) -> None:
    host.start()
    controller.await_report(Reconciled)
    eater = "x = bytearray(200 << 20)"
    task = host.task(sys.executable, "-I", "-S", "-c", eater, mem_bytes=40 << 20)
    controller.go(1, task)
    controller.await_report(Started, 1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", signal.SIGKILL, "oom")


def test_what_a_launch_used_is_reported(host: Host, controller: FakeController) -> None:
    host.start()
    controller.await_report(Reconciled)
    burn = "import time\nx = bytearray(50 << 20)\nwhile time.process_time() < 0.1: pass"
    controller.go(1, host.task(sys.executable, "-I", "-S", "-c", burn))
    ended = controller.await_report(Ended, 1)
    assert 100_000 <= ended.cpu_us < 2_000_000
    assert 50 << 20 < ended.max_rss_bytes < 200 << 20


def bound(*lines: str, **more: str) -> dict[str, str]:
    return {**ENV, "XCE_HOST": "n1", "XCE_AFFINITY_HOSTS": "\n".join(lines), **more}


def test_a_process_runs_on_the_processors_of_its_task(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    mine = str(max(os.sched_getaffinity(0)))
    show = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['LSB_BIND_CPU_LIST'])"
    env = bound("n2 0", f"n1 {mine}", LSB_BIND_CPU_LIST=mine)
    controller.go(1, host.task(sys.executable, "-I", "-S", "-c", show, env=env))
    controller.await_report(Ended, 1)
    assert host.text() == f"[{mine}] {mine}\n"


@pytest.mark.parametrize(
    ("policy", "told"), [("localonly", "bind:0"), ("localprefer", "prefer:0"), ("", "default")]
)
def test_memory_comes_from_the_nodes_of_the_task(
    host: Host, controller: FakeController, policy: str, told: str
) -> None:
    """Judged by the kernel: /proc/PID/numa_maps names the policy of the process's memory."""
    if not Path("/proc/self/numa_maps").exists():
        pytest.skip("this kernel knows no memory nodes")
    host.start()
    controller.await_report(Reconciled)
    mine = str(max(os.sched_getaffinity(0)))
    show = (
        "maps = open('/proc/self/numa_maps').read().splitlines()\n"
        "print({line.split()[1] for line in maps if 'stack' in line}.pop())"
    )
    line = f"n1 {mine} 0 {policy}" if policy else f"n1 {mine}"
    env = bound(line, LSB_BIND_CPU_LIST=mine)
    controller.go(1, host.task(sys.executable, "-I", "-S", "-c", show, env=env))
    controller.await_report(Ended, 1)
    assert host.text() == f"{told}\n"


def test_memory_nodes_that_the_machine_does_not_have_bind_nothing(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    mine = str(max(os.sched_getaffinity(0)))
    env = bound(f"n1 {mine} 900 localonly", LSB_BIND_CPU_LIST=mine)
    show = "import os; print(os.environ['LSB_BIND_MEM_LIST'], len(bytearray(1 << 20)))"
    controller.go(1, host.task(sys.executable, "-I", "-S", "-c", show, env=env))
    controller.await_report(Ended, 1)
    assert host.text() == "900 1048576\n"


def test_processors_that_the_machine_does_not_have_bind_nothing(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    show = "import os; print(len(os.sched_getaffinity(0)))"
    env = bound("n1 4000", LSB_BIND_CPU_LIST="4000")
    controller.go(1, host.task(sys.executable, "-I", "-S", "-c", show, env=env))
    controller.await_report(Ended, 1)
    assert host.text() == f"{len(os.sched_getaffinity(0))}\n"
