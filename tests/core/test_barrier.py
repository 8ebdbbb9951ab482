"""The barrier: values in, the missing out; nothing missing means that it passes."""

from xce.dispatch.barrier import AttachmentSeen, HostSeen, LaunchSeen, complete, missing

UP = [HostSeen("n1", "UP", True), HostSeen("n2", "UP", True)]
ARMED = [LaunchSeen("worker[0]", "ARMED", "n1"), LaunchSeen("worker[1]", "ARMED", "n2")]
READY = [AttachmentSeen("claim rendezvous (c1)", "READY", "n1")]


def test_it_passes_when_nothing_is_missing() -> None:
    assert missing(ARMED, READY, UP) == ()
    assert missing(ARMED, [], UP) == ()


def test_every_launch_that_is_not_armed_is_named_with_its_state_and_host() -> None:
    launches = [LaunchSeen("a[0]", "PREPARING", "n1"), LaunchSeen("a[1]", "RUNNING", "n2")]
    assert missing(launches, READY, UP) == (
        "a[0] on n1 is PREPARING, not ARMED",
        "a[1] on n2 is RUNNING, not ARMED",
    )


def test_every_attachment_that_is_not_ready_is_named_with_what_its_provider_said() -> None:
    attachments = [
        AttachmentSeen("claim a (c1)", "PROVISIONING", "n1"),
        AttachmentSeen("claim b (c2)", "FAILED", "n2", "no room"),
    ]
    assert missing(ARMED, attachments, UP) == (
        "claim a (c1) on n1 is PROVISIONING, not READY",
        "claim b (c2) on n2 is FAILED, not READY: no room",
    )


def test_hosts_must_be_up_and_have_listed_their_work_to_this_leader() -> None:
    assert missing([], [], [HostSeen("n1", "UP", True, leased=False)]) == (
        "host n1 does not keep the lease (stop_after) of this work",
    )
    hosts = [HostSeen("n1", "SUSPECT", True), HostSeen("n2", "UP", False)]
    assert missing(ARMED, READY, hosts) == (
        "host n1 is SUSPECT, not UP",
        "host n2 has not listed its work to this leader",
    )


def test_all_that_is_missing_is_named_at_once() -> None:
    launches = [LaunchSeen("a[0]", "PREPARING", "n1")]
    attachments = [AttachmentSeen("claim a (c1)", "FAILED", "n1")]
    assert len(missing(launches, attachments, [HostSeen("n1", "DOWN", False)])) == 3


def test_tallies_tell_whether_a_judgement_is_worth_its_cost() -> None:
    assert complete(2, 2, 1, 1)
    assert complete(1, 1, 0, 0)
    assert not complete(1, 2, 1, 1)
    assert not complete(2, 2, 0, 1)
