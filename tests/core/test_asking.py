"""What users ask: accepted, refused in one plain sentence, asked twice with one key."""

from typing import Any

import pytest

from tests.core.lab import lab
from tests.kit.words import (
    ANNA,
    BERT,
    BOSS,
    OPS,
    SETTINGS,
    gang,
    host_actor,
    job,
    port,
    role,
    settings,
)
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.actor import ADMIN, USER, Actor
from xce.model.group import Readiness
from xce.model.job import ClaimTemplate, Spec

ROOT = Actor(kind=USER, uid=0)


def refused(world: World, command: c.Command) -> c.Rejection:
    lsn = world.state.lsn
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection), answer
    assert world.state.lsn == lsn
    return answer


def test_a_submission_names_its_job_queue_and_state() -> None:
    world = lab()
    assert world.ask_body(job()) == {
        "job": "1", "queue": "normal", "default_queue": True, "state": "PENDING",
    }  # fmt: skip
    assert world.ask_body(job(queue="night", held=True)) == {
        "job": "2", "queue": "night", "default_queue": False, "state": "HELD",
    }  # fmt: skip
    found = world.state.jobs[1]
    assert (found.owner, found.priority) == (1000, 50)


def test_members_are_numbered_role_by_role_behind_the_last_job() -> None:
    world = lab()
    world.submit(job())
    body = world.ask_body(gang(role("a", 1), role("b", 2)))
    assert body == {"group": "g1", "queue": "normal", "jobs": ["2", "3", "4"]}
    found = [world.state.jobs[key] for key in (2, 3, 4)]
    assert [(one.role, one.rank, one.group) for one in found] == [
        ("a", 0, 1), ("b", 0, 1), ("b", 1, 1),
    ]  # fmt: skip
    assert world.submit(job()) == 5


def one_claim(**rest: Any) -> c.SubmitGroup:
    return gang(role("a", 1, claims=(ClaimTemplate(name="d", **rest),)))


BAD: tuple[tuple[c.Command, str, str], ...] = (
    (job(queue="nope"), "unknown_queue", "nope: No such queue."),
    (job(queue="shut"), "queue_closed", "shut: Queue has been closed."),
    (job(actor=ROOT), "root_refused", "jobs of root are refused here"),
    (job(actor=host_actor("n1")), "not_allowed", "host:n1 is no user and submits no work"),
    (job(-1), "invalid", "-n -1: the number of tasks must be from 1 to 65536"),
    (c.SubmitJob(actor=ANNA, spec=Spec(command=())), "invalid", "there is no command to run"),
    (gang(), "invalid", "a gang needs at least one role"),
    (gang(role("a", 16_385)), "too_large", "the gang has 16385 members; a group has at most 16384"),
    (gang(role("a", 1), role("a", 2)), "invalid", "two roles are named a"),
    (gang(role("a", 2, min=3)), "invalid", "role a: min must be from 1 to 2, not 3"),
    (gang(role("a", 0)), "invalid", "role a: min must be from 1 to 0, not 0"),
    (gang(role("a", 1, depends_on=("b",))), "invalid", "role a depends on b, which is no role"),
    (
        gang(role("a", 1, depends_on=("b",)), role("b", 1, depends_on=("a",))),
        "invalid",
        "roles a, b depend on each other",
    ),
    (
        gang(role("a", 1, ready=Readiness(kind="port", port="web")), claims=(port("www"),)),
        "invalid",
        "role a is ready by web, which is no port claim of it",
    ),
    (
        gang(role("a", 1, ready=Readiness(kind="x"))),
        "invalid",
        "role a is ready by x, which is no way to be ready",
    ),
    (gang(role("a", 1, run="x")), "invalid", "run: x is not one of once, host, task"),
    (one_claim(type="nope"), "invalid", "claim d: there is no resource type nope"),
    (one_claim(type="gpu", count=0), "invalid", "claim d: count must be from 1 to 65536"),
    (one_claim(type="gpu", count=1 << 70), "invalid", "claim d: count must be from 1 to 65536"),
    (
        one_claim(type="directory", size_bytes=-5),
        "invalid",
        f"claim d: size must be from 0 to {1 << 60} bytes",
    ),
    (
        one_claim(type="directory", size_bytes=1 << 70),
        "invalid",
        f"claim d: size must be from 0 to {1 << 60} bytes",
    ),
    (gang(role("a", 1), claims=(port(), port())), "invalid", "two claims are named rendezvous"),
)


@pytest.mark.parametrize(("command", "code", "message"), BAD)
def test_a_bad_submission_is_refused_and_leaves_nothing(
    command: c.Command, code: str, message: str
) -> None:
    answer = refused(lab(1), command)
    assert (answer.code, answer.message) == (code, message)


def test_a_bad_requirement_is_shown_with_its_column() -> None:
    answer = refused(lab(1), job(resreq="rusage[mem=]"))
    assert answer.code.startswith("resreq_")
    assert (answer.line, answer.text) == (1, "rusage[mem=]")
    assert answer.column > 0


def test_a_bad_requirement_of_a_role_names_the_role() -> None:
    answer = refused(lab(1), gang(role("a", 1), role("b", 1, resreq="rusage[mem=]")))
    assert answer.field == "roles[b].resreq"


def test_only_an_admin_submits_for_another_user() -> None:
    world = lab()
    spec = Spec(command=("true",))
    answer = refused(world, c.SubmitJob(actor=ANNA, spec=spec, owner=BERT.uid))
    assert answer.message == "uid 1000 may not submit for uid 1001"
    refused(world, c.SubmitJob(actor=OPS, spec=spec, owner=BERT.uid))
    world.ask_body(c.SubmitJob(actor=BOSS, spec=spec, owner=BERT.uid))
    assert world.state.jobs[1].owner == BERT.uid


def test_root_may_submit_where_the_site_says_so() -> None:
    world = lab(config=settings(allow_root=True))
    assert world.submit(job(actor=ROOT)) == 1


def test_only_administrators_change_the_settings() -> None:
    world = lab()
    load = c.LoadConfig(actor=OPS, config=SETTINGS, digest="x")
    assert refused(world, load).code == "not_allowed"
    load = c.LoadConfig(actor=Actor(kind=ADMIN, uid=5), config=SETTINGS, digest="x")
    assert world.ask_body(load)["changed"] is True
    assert world.ask_body(load)["changed"] is False


def test_equal_specs_are_kept_once() -> None:
    world = lab()
    for _ in range(3):
        world.submit(job())
    assert len(world.state.specs) == 1


# -- idempotency ----------------------------------------------------------------------------------


def keyed(digest: str = "d", key: str = "k", **rest: Any) -> c.SubmitJob:
    return job(request=c.Request(key=key, digest=digest), **rest)


def test_the_same_request_with_the_same_key_is_answered_once_more_and_not_done_again() -> None:
    world = lab()
    first = world.ask(keyed())
    lsn = world.state.lsn
    again = world.ask(keyed())
    assert world.state.lsn == lsn
    assert first.body == again.body  # type: ignore[union-attr]
    assert list(world.state.jobs) == [1]


def test_a_key_holds_also_under_the_next_leader() -> None:
    world = lab()
    first = world.ask_body(keyed())
    world.change_leader()
    assert world.ask_body(keyed())["job"] == first["job"]
    assert list(world.state.jobs) == [1]


def test_a_key_that_is_used_for_something_else_is_refused() -> None:
    world = lab()
    world.ask_body(keyed())
    answer = refused(world, keyed(digest="other"))
    assert (answer.code, answer.field) == ("key_reused", "Idempotency-Key")


def test_keys_of_two_users_do_not_meet() -> None:
    world = lab()
    world.ask_body(keyed())
    assert world.ask_body(keyed(actor=BERT))["job"] == "2"


def test_a_refused_request_does_not_use_its_key_up() -> None:
    world = lab()
    refused(world, keyed(queue="nope"))
    assert world.ask_body(keyed())["job"] == "1"


def test_one_step_with_the_same_key_twice_does_it_once() -> None:
    world = lab()
    world.inbox += [(keyed(), None), (keyed(), None)]
    world.turn()
    assert list(world.state.jobs) == [1]
