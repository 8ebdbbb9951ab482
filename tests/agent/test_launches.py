"""The life of a launch, with a real agent, a real supervisor and real processes."""

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController
from xce.dispatch.protocol import Armed, Ended, Reconciled, Started


def test_a_launch_is_armed_let_go_and_its_exit_reported(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    controller.prepare(1, host.shell("echo hello $XCE_RENDEZVOUS; exit 3"))
    controller.await_report(Armed, 1)
    assert host.text() == ""
    controller.go(1, XCE_RENDEZVOUS="n2:99")
    started = controller.await_report(Started, 1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.ran, ended.cause_of_end) == ("exited", 3, "yes", "")
    assert ended.started_us == started.at_us <= ended.ended_us
    assert ended.generation == 7
    assert host.text() == "hello n2:99\n"
