"""What a real agent tells of its host with its polls: load indices, and what a reporter says."""

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController, until


def told(controller: FakeController) -> dict[str, tuple[object, int]]:
    """Values and ages of the newest poll."""
    last = controller.polls[-1].observed if controller.polls else None
    return {name: (value, age_us) for name, value, age_us in last.values} if last else {}


def reporter(text: str, **more: object) -> dict[str, object]:
    return {"name": "elim", "command": ["/bin/sh", "-c", text], "types": ["seats"], **more}


def test_polls_carry_load_indices_and_what_reporters_say(
    host: Host, controller: FakeController
) -> None:
    text = "while :; do echo 1 seats 7; sleep 0.2; done"
    host.start(poll_wait_ms=50, reporters=[reporter(text)], load_interval_us=500_000)
    until(lambda: "seats" in told(controller) and "ut" in told(controller), 20)
    found = told(controller)
    assert found["seats"][0] == 7
    assert {"r15s", "r1m", "r15m", "mem", "swp", "tmp", "ls", "it"} <= found.keys()
    assert 0 <= found["seats"][1] < 5_000_000
    assert host.leave() == 0


def test_a_failing_reporter_is_one_line_in_the_log_and_nothing_else(
    host: Host, controller: FakeController
) -> None:
    host.start(poll_wait_ms=50, reporters=[reporter("exit 5")], load_interval_us=0)
    assert host.agent is not None
    until(lambda: len(controller.polls) > 10, 20)
    assert told(controller) == {}
    host.agent.terminate()
    _, said = host.agent.communicate(timeout=20)
    lines = [line for line in said.decode().splitlines() if "reporter" in line]
    assert lines == [
        "xce agent n1: reporter elim: exited: it ended with code 5; it is started again in 1 s"
    ]
    assert host.agent.returncode == 0


def test_a_reporter_of_another_host_does_not_run_here(
    host: Host, controller: FakeController
) -> None:
    text = "while :; do echo 1 seats 7; sleep 0.2; done"
    host.start(poll_wait_ms=50, reporters=[reporter(text, hosts=["~n1"])], load_interval_us=0)
    until(lambda: len(controller.polls) > 5, 20)
    assert told(controller) == {}
