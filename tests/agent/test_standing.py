"""How an agent finds its controller, shows who it is, and is turned away."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController
from xce.agent.supervisor.processes.cgroup import Cgroups
from xce.dispatch.protocol import Ended, Reconciled


def said(host: Host) -> tuple[int, str]:
    assert host.agent is not None
    _, err = host.agent.communicate(timeout=10)
    return host.agent.returncode, err.decode()


def test_a_refused_identity_ends_the_agent_with_one_line(
    host: Host, controller: FakeController
) -> None:
    controller.refuse = (409, "host n1 is registered from another machine")
    host.start()
    code, text = said(host)
    assert code == 7
    assert text.startswith("xce agent n1: ")
    assert "(409): host n1 is registered from another machine" in text
    assert text.count("\n") == 1


def test_a_second_agent_of_a_host_is_refused_with_who_holds_it(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    first = host.agent
    host.start()
    code, text = said(host)
    assert (code, first is not None) == (1, True)
    assert f"an agent of this host runs already: process {first.pid}" in text
    host.agent = first


def test_the_token_is_sent_as_a_bearer(host: Host, controller: FakeController) -> None:
    (host.home / "token").write_text("s3cret\n")
    host.start(token_file=str(host.home / "token"))
    controller.await_report(Reconciled)
    assert set(controller.tokens) == {"Bearer s3cret"}


def test_a_bad_facts_file_is_one_clear_line(host: Host) -> None:
    (host.home / "facts.toml").write_text("slotz = 3\n")
    host.start(facts_file=str(host.home / "facts.toml"))
    code, text = said(host)
    assert code == 1
    assert "facts.toml: unknown field 'slotz'" in text


def test_a_damaged_journal_stops_the_host_with_the_place(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    for launch in (1, 2):
        controller.go(launch, host.shell("true"))
        controller.await_report(Ended, launch)
    assert host.leave() == 0
    path = host.folder / "journal"
    text = bytearray(path.read_bytes())
    text[40] ^= 1
    path.write_bytes(text)
    host.start()
    code, words = said(host)
    assert code == 1
    assert "journal: damaged at byte 0, with good entries behind it" in words


def test_the_next_address_is_tried_and_a_unix_socket_serves_as_well(
    host: Host, tmp_path: Path
) -> None:
    fake = FakeController(str(tmp_path / "api.sock"))
    try:
        host.controller = fake
        host.start(controllers=["http://127.0.0.1:9", fake.url])
        fake.await_report(Reconciled)
        fake.go(1, host.shell("echo unix"))
        fake.await_report(Ended, 1)
        assert host.text() == "unix\n"
    finally:
        fake.close()


def test_an_agent_waits_for_a_controller_that_is_not_there_yet(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "late.sock"
    host.start(controllers=[f"unix:{path}"], retry_cap_s=0.05)
    assert host.agent is not None
    try:
        host.agent.wait(0.4)
    except subprocess.TimeoutExpired:
        pass
    assert host.agent.poll() is None
    fake = FakeController(str(path))
    try:
        fake.await_report(Reconciled)
    finally:
        fake.close()


def test_a_real_host_tells_its_slots_memory_and_address(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_registered()
    facts = controller.registers[0].facts
    counters = dict(facts.counters)
    assert counters["slots"] >= 1
    assert counters["mem"] > 64 << 20
    assert facts.address == "127.0.0.1"
    assert json.dumps(sorted(counters)) == '["mem", "slots"]'


def test_root_work_is_refused_unless_the_host_allows_it(
    host: Host, controller: FakeController
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this agent is not root")
    host.start(allow_root=False)
    controller.await_report(Reconciled)
    controller.prepare(1, host.shell("true"))
    assert "uid 0 is refused" in controller.await_report(Ended, 1).message


def fake_groups(root: Path) -> Path:
    """What a machine with version 2 and its memory controller shows, as plain files."""
    group = root / "xce" / "key" / "1.7"
    group.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids\n")
    (root / "cgroup.subtree_control").write_text("")
    (root / "xce" / "key" / "cgroup.subtree_control").write_text("pids,io memory\n")
    for name, text in [
        ("memory.max", "max\n"),
        ("memory.oom.group", "0\n"),
        ("memory.events", "low 0\noom 3\noom_kill 2\n"),
        ("cgroup.events", "populated 1\nfrozen 0\n"),
        ("cgroup.kill", ""),
        ("cgroup.procs", "12\n13\n"),
    ]:
        (group / name).write_text(text)
    return group


def test_control_groups_of_version_2_track_limit_and_tell_of_memory(tmp_path: Path) -> None:
    folder = fake_groups(tmp_path)
    groups = Cgroups("auto", "key", str(tmp_path))
    assert (groups.driver, groups.memory) == ("v2", groups.tracking)
    assert groups.found() == ["1.7"]
    group = groups.make("1.7", 4096)
    assert (folder / "memory.max").read_text() == "4096"
    assert (folder / "memory.oom.group").read_text().startswith("1")
    assert (group.oom_kills(), group.is_empty(), group.pids()) == (2, False, [12, 13])
    assert group.kill()
    assert (folder / "cgroup.kill").read_text() == "1"
    assert not group.remove()


def test_without_control_groups_every_question_has_an_empty_answer(tmp_path: Path) -> None:
    groups = Cgroups("auto", "key", str(tmp_path))
    assert groups.driver == "none"
    group = groups.make("1.7", 4096)
    assert (group.pids(), group.kill(), group.oom_kills(), group.birthplace) == ([], False, 0, "")
    assert group.remove()
