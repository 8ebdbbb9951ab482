"""A host keeps its journal while the log behind the controller is another one, or an older one.

What an older history did under a launch's number is never the outcome of this one's launch, and
what runs of it is neither signalled nor stopped by a stranger's orders.
"""

import pytest

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController
from xce.dispatch.protocol import (
    GONE,
    PREPARED,
    READY,
    RUNNING,
    AttachmentOrder,
    AttachmentResult,
    Ended,
    LaunchOrder,
    Reconciled,
    Started,
    Task,
)


@pytest.fixture
def up(host: Host, controller: FakeController) -> Host:
    host.start()
    controller.await_report(Reconciled)
    return host


def ordered(target: str, generation: int, task: Task | None = None) -> LaunchOrder:
    return LaunchOrder(
        launch=1, job=1, attempt=1, generation=generation, target=target, task=task, stop_reason="x"
    )


def told_of(controller: FakeController, generation: int) -> Ended:
    def found() -> list[Ended]:
        return [one for one in controller.of(Ended, 1) if one.generation == generation]

    controller.wait(found)
    return found()[0]


@pytest.mark.parametrize("target", [PREPARED, RUNNING, GONE])
def test_an_old_outcome_is_no_answer_to_an_order_of_another_generation(
    up: Host, controller: FakeController, target: str
) -> None:
    controller.go(1, up.shell("exit 0"))
    assert told_of(controller, 7).how == "exited"
    controller.order(ordered(target, 90, up.shell("echo ran", stdout="other")))
    other = told_of(controller, 90)
    assert (other.how, other.ran) == ("aborted", "no")
    assert other.message == "this host has launch 1 of generation 7, not of 90"
    assert other.cause_of_end == ("stopped" if target == GONE else "prepare_failed")
    assert up.text("other") == ""


def test_a_launch_that_is_let_go_elsewhere_and_unknown_here_may_have_run(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("exit 0"))
    told_of(controller, 7)
    controller.order(ordered(RUNNING, 90))
    other = told_of(controller, 90)
    assert (other.how, other.ran) == ("lost", "unknown")


def test_what_runs_is_not_stopped_by_another_history(up: Host, controller: FakeController) -> None:
    controller.go(1, up.shell("echo begin; while [ ! -e end ]; do sleep 0.01; done; exit 5"))
    controller.await_report(Started, 1)
    controller.order(ordered(GONE, 90))
    assert told_of(controller, 90).how == "aborted"
    (up.home / "end").touch()
    mine = told_of(controller, 7)
    assert (mine.how, mine.code) == ("exited", 5)


def test_an_order_about_what_the_log_does_not_know_means_whatever_is_there(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("sleep 60"))
    controller.await_report(Started, 1)
    controller.order(ordered(GONE, 0))
    assert told_of(controller, 7).how == "signalled"


def test_an_attachment_of_another_history_is_neither_given_nor_taken_down(
    up: Host, controller: FakeController
) -> None:
    def asked(target: str, generation: int) -> AttachmentResult:
        order = AttachmentOrder(
            attachment=1, claim=1, generation=generation, target=target, provider="port", name="p",
            parameters=(("address", "127.0.0.1"), ("port", "20001")),
        )  # fmt: skip
        controller.order(order)

        def found() -> list[AttachmentResult]:
            results = controller.of(AttachmentResult, 1)
            return [one for one in results if one.generation == generation]

        controller.wait(found)
        return found()[-1]

    assert asked(READY, 3).outcome == "ready"
    other = asked(READY, 90)
    assert (other.outcome, other.value) == ("failed", "")
    assert other.message == "this host has attachment 1 of generation 3"
    assert asked(GONE, 91).outcome == "released"
    question = 5
    controller.wants_reconcile = question
    found = controller.wait(lambda: [one for one in controller.of(Reconciled) if one.question == 5])
    assert [(one.attachment, one.generation, one.state) for one in found[0].attachments] == [
        (1, 3, "ready")
    ]
