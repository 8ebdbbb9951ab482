"""A host keeps its journal while the log behind the controller is another one, or an older one.

What an older history did under a launch's number is never the outcome of this one's launch, and
what runs of it is neither signalled nor stopped by a stranger's orders.
"""

import time

import pytest

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController
from xce.agent.link import Place
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


# -- which log the journal is of ------------------------------------------------------------------


def ended(host: Host) -> tuple[int, str]:
    assert host.agent is not None
    _, err = host.agent.communicate(timeout=20)
    return host.agent.returncode, err.decode()


def test_the_journal_remembers_its_log_and_tells_it_at_every_registration(
    host: Host, controller: FakeController
) -> None:
    controller.log_id = "aa" * 16
    host.start()
    controller.await_report(Reconciled)
    controller.go(1, host.shell("true"))
    controller.await_report(Ended, 1)
    assert host.leave() == 0
    host.start()
    controller.await_registered(2)
    first, second = controller.registers
    assert (first.log_id, first.epoch, first.anchor_lsn) == ("", 0, 0)
    assert (second.log_id, second.epoch) == ("aa" * 16, 1)
    assert second.anchor_lsn >= 1
    assert second.anchor_hash == f"hash{second.anchor_lsn}"
    assert (len(first.agent), second.agent) == (16, first.agent)


def test_an_agent_does_nothing_for_a_controller_of_another_log(
    host: Host, controller: FakeController
) -> None:
    controller.log_id = "aa" * 16
    host.start()
    controller.await_report(Reconciled)
    assert host.leave() == 0
    controller.log_id = "bb" * 16
    controller.go(1, host.shell("echo ran"))
    host.start()
    code, text = ended(host)
    assert code == 7
    assert "journal of this host is of log aaaaaaaa, and the controller has log bbbbbbbb" in text
    assert f"move {host.folder} away" in text
    assert host.text() == ""


def test_an_agent_of_a_journal_from_before_takes_on_the_log_it_meets(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    assert host.leave() == 0
    controller.log_id = "aa" * 16
    for count in (2, 3):
        host.start()
        controller.await_report(Reconciled, nth=count)
        assert host.leave() == 0
    assert [one.log_id for one in controller.registers] == ["", "", "aa" * 16]


def test_a_refusal_is_told_with_its_cure(host: Host, controller: FakeController) -> None:
    controller.refuse, controller.refuse_code = (
        (422, "the journal is of another log"),
        "foreign_log",
    )
    controller.refuse_hint = "move it away"
    host.start()
    code, text = ended(host)
    assert code == 7
    assert text.endswith("(422): the journal is of another log; move it away\n")


# -- two agents of one name -----------------------------------------------------------------------


def test_a_name_that_another_agent_has_is_asked_for_again_before_the_agent_ends(
    host: Host, controller: FakeController
) -> None:
    controller.refuse, controller.refuse_code = (422, "two agents"), "cloned_identity"
    host.start(clone_wait_s=1.0)
    code, text = ended(host)
    assert code == 7
    first, last = text.splitlines()
    assert first.endswith("(422): two agents; asking again for 1 s")
    assert last.endswith("(422): two agents")


def test_a_host_that_was_just_booted_gets_its_name_back(
    host: Host, controller: FakeController
) -> None:
    controller.refuse, controller.refuse_code = (422, "two agents"), "cloned_identity"
    host.start()
    controller.wait(lambda: len(controller.tokens) >= 3)
    controller.refuse = None
    controller.await_report(Reconciled)


def test_an_agent_that_is_put_out_again_and_again_asks_ever_later() -> None:
    place, now_s, waited = Place(30.0), 1000.0, []
    for _ in range(10):
        waited.append(place.pause_s(now_s))
        assert place.pause_s(now_s) == 0.0
        place.took(now_s)
        now_s += 0.01
    assert waited == [0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
    now_s += 60.0
    assert place.pause_s(now_s) == 0.0
    place.took(now_s)
    assert place.pause_s(now_s + 1.0) == 0.2


def test_registering_in_turns_with_another_comes_to_rest(
    host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    end_s = time.monotonic() + 1.5
    while time.monotonic() < end_s:
        seen = len(controller.registers)
        controller.new_incarnation()
        controller.await_registered(seen + 1)
    assert len(controller.registers) <= 5


# -- how often it is heard ------------------------------------------------------------------------


def test_polls_wait_no_longer_than_the_heartbeat_that_the_controller_asks_for(
    host: Host, controller: FakeController
) -> None:
    controller.heartbeat_us = 250_000
    host.start()
    controller.wait(lambda: len(controller.polls) >= 3)
    assert [poll.wait_ms for poll in controller.polls[:3]] == [250, 250, 250]
    controller.heartbeat_us = 60_000_000
    controller.new_incarnation()
    controller.await_registered(2)
    controller.wait(lambda: controller.polls[-1].wait_ms == 5_000)
