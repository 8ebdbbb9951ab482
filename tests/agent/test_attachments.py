"""Attachments: the keeper by itself, and through an agent that is killed."""

import threading
from collections.abc import Callable
from pathlib import Path

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController, until
from xce.agent.attachments import Attachment, Keeper
from xce.dispatch.protocol import GONE, READY, AttachmentOrder, AttachmentResult, Reconciled
from xce.providers.contract import Provider, ProviderFailed, Request


class Scripted(Provider):
    """A provider that does what the test says and counts what it is asked."""

    name = "scripted"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.at_once = 0
        self.provisioning: Callable[[Request], str] = lambda request: f"v{request.attachment}"
        self.releases_fail = 0

    def provision(self, request: Request) -> str:
        self.calls.append("provision")
        self.at_once += 1
        assert self.at_once == 1
        try:
            return self.provisioning(request)
        finally:
            self.at_once -= 1

    def release(self, request: Request) -> None:
        assert self.at_once == 0
        self.calls.append("release")
        if self.releases_fail:
            self.releases_fail -= 1
            raise ProviderFailed("busy")


class Bench:
    """A keeper with a scripted provider, and what it told."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "attachments")
        self.provider = Scripted()
        self.told: list[tuple[int, str, str, str]] = []
        self.keeper = self.fresh()

    def fresh(self) -> Keeper:
        self.told = []
        self.keeper = Keeper(self.path, {"scripted": self.provider}, self._tell)
        self.keeper.start()
        return self.keeper

    def _tell(self, one: Attachment) -> None:
        facts = one.facts
        self.told.append((one.number, str(one.state), facts["value"], facts["message"]))

    def want(self, target: str, provider: str = "scripted") -> None:
        order = AttachmentOrder(
            attachment=4, claim=2, generation=9, target=target, provider=provider
        )
        self.keeper.want(order)
        self.keeper.commit()

    def await_told(self, count: int = 1) -> tuple[int, str, str, str]:
        until(lambda: len(self.told) >= count)
        return self.told[count - 1]


def test_an_attachment_is_made_ready_once_and_released_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.want(READY)
    assert bench.await_told() == (4, "ready", "v4", "")
    bench.want(READY)
    assert bench.await_told(2) == (4, "ready", "v4", "")
    bench.want(GONE)
    assert bench.await_told(3)[1] == "released"
    bench.want(GONE)
    bench.want(READY)
    assert bench.await_told(5)[1] == "released"
    assert bench.provider.calls == ["provision", "release"]


def test_gone_before_ready_means_that_it_is_never_made(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.want(GONE)
    assert bench.await_told()[1] == "released"
    bench.want(READY)
    assert bench.await_told(2)[1] == "released"
    assert bench.provider.calls == ["release"]


def test_a_restarted_keeper_answers_as_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.want(READY)
    bench.await_told()
    bench.fresh()
    bench.want(READY)
    assert bench.await_told() == (4, "ready", "v4", "")
    assert bench.provider.calls == ["provision"]
    assert [(one.attachment, one.state) for one in bench.keeper.found()] == [(4, "ready")]


def test_what_was_under_way_is_provisioned_again_by_a_restarted_keeper(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    held = threading.Event()

    def hold(_request: Request) -> str:
        held.wait(5)
        return "late"

    bench.provider.provisioning = hold
    bench.want(READY)
    until(lambda: bench.provider.calls == ["provision"])
    first = bench.provider
    bench.provider = Scripted()
    bench.fresh()
    assert bench.await_told() == (4, "ready", "v4", "")
    held.set()
    until(lambda: first.at_once == 0)


def test_wanted_gone_while_provisioning_releases_after_the_call_returned(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def hang(request: Request) -> str:
        request.cancelled.wait(5)
        raise ProviderFailed("cancelled")

    bench.provider.provisioning = hang
    bench.want(READY)
    until(lambda: bench.provider.calls == ["provision"])
    bench.want(GONE)
    assert bench.await_told()[1] == "released"
    assert len(bench.told) == 1
    assert bench.provider.calls == ["provision", "release"]


def test_a_failure_is_kept_and_told_with_its_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def fail(_request: Request) -> str:
        raise ProviderFailed("no room")

    bench.provider.provisioning = fail
    bench.want(READY)
    assert bench.await_told() == (4, "failed", "", "no room")
    bench.want(READY)
    assert bench.await_told(2)[1] == "failed"
    assert bench.provider.calls == ["provision"]


def test_a_call_that_takes_too_long_fails_and_its_late_result_is_ignored(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    held = threading.Event()

    def hold(_request: Request) -> str:
        held.wait(5)
        return "late"

    bench.provider.provisioning = hold
    bench.provider.limit_s = 0.05
    bench.want(READY)
    until(lambda: bench.keeper.expire() or bool(bench.told))
    assert bench.told[0][1] == "failed"
    assert bench.told[0][3] == "provider scripted gave no result within 0.05 s"
    held.set()
    until(lambda: bench.provider.at_once == 0)
    assert [one.state for one in bench.keeper.found()] == ["failed"]


def test_a_release_that_fails_is_tried_until_it_succeeds(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("xce.agent.attachments.RELEASE_RETRY_S", 0.01)
    bench = Bench(tmp_path)
    bench.provider.releases_fail = 2
    bench.want(READY)
    bench.await_told()
    bench.want(GONE)
    assert bench.await_told(2)[1] == "released"
    assert bench.provider.calls == ["provision", "release", "release", "release"]


def test_an_unknown_provider_fails_and_can_be_released(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.want(READY, provider="ceph")
    assert bench.await_told()[3] == "this host has no provider 'ceph'"
    bench.want(GONE)
    assert bench.await_told(2)[1] == "released"


def test_attachments_outlive_a_killed_agent(host: Host, controller: FakeController) -> None:
    host.start()
    controller.await_report(Reconciled)
    controller.attach(1, READY, "directory")
    controller.attach(2, READY, "static", hang="1")
    controller.attach(3, READY, "static", fail="no licence")
    path = Path(controller.await_report(AttachmentResult, 1).value)
    assert controller.await_report(AttachmentResult, 3).message == "no licence"
    assert path == host.folder / "scratch" / "c1-3"
    (path / "data").write_text("x")
    host.kill_agent()
    host.start()
    found = controller.await_report(Reconciled, nth=2)
    assert [(one.attachment, one.state) for one in found.attachments] == [
        (1, "ready"),
        (2, "provisioning"),
        (3, "failed"),
    ]
    assert (path / "data").read_text() == "x"
    for number in (1, 2, 3):
        controller.attach(number, GONE)
        controller.wait(
            lambda n=number: [
                one for one in controller.of(AttachmentResult, n) if one.outcome == "released"
            ]
        )
    assert not path.exists()
