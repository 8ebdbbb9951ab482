"""RESRSV_LIMIT: the range within which a queue's jobs may reserve a resource."""

import pytest

from tests.core.lab import lab
from tests.kit.words import ANNA, SETTINGS, job
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome, decide
from xce.model.config import QueueConfig
from xce.model.units import parse_size
from xce.resreq.allowed import ranges_of
from xce.resreq.errors import Code, ResreqError
from xce.resreq.merge import merge_levels
from xce.resreq.parse import parse
from xce.resreq.print import canonical


def merged(job: str, queue: str, ranges: str, application: str = "") -> str:
    made = merge_levels(
        job=parse(job).tree if job else None,
        application=parse(application).tree if application else None,
        queue=parse(queue).tree if queue else None,
        ranges=ranges_of(ranges),
    )
    return canonical(made) if made is not None else ""


@pytest.mark.parametrize(
    ("job", "ranges"),
    [
        ("rusage[mem=1000]", "mem=1000,8000"),
        ("rusage[mem=8000]", "mem=1000,8000"),
        ("rusage[mem=8GB]", "mem=1GB,8GB"),
        ("rusage[mem=0]", "mem=8GB"),
        ("rusage[tmp=99TB]", "mem=8GB"),
        ("select[a]", "mem=1GB,8GB"),
        ("2*{rusage[mem=1GB]} + 1*{rusage[mem=8GB]}", "[mem=1GB,8GB]"),
    ],
)
def test_what_lies_within_its_range_is_taken(job: str, ranges: str) -> None:
    assert merged(job, "", ranges) == merged(job, "", "")


@pytest.mark.parametrize(
    ("job", "ranges", "hint"),
    [
        ("rusage[mem=999]", "mem=1000,8000", "ask for from 1000 to 8000"),
        ("rusage[mem=8001]", "mem=1000,8000", "ask for from 1000 to 8000"),
        ("rusage[mem=8GB]", "mem=7GB", "ask for up to 7GB"),
        ("rusage[mem=1GB||mem=9GB]", "mem=8GB", "ask for up to 8GB"),
        ("1*{a} + 1*{rusage[mem=9GB]}", "mem=8GB", "ask for up to 8GB"),
        ("{a} || {rusage[mem=9GB]}", "mem=8GB", "ask for up to 8GB"),
    ],
)
def test_what_lies_outside_is_refused_with_the_range(job: str, ranges: str, hint: str) -> None:
    with pytest.raises(ResreqError) as caught:
        merged(job, "", ranges)
    assert caught.value.code is Code.OUT_OF_RANGE
    assert caught.value.hint == f"{hint}, or submit to another queue"
    assert "outside the range set by RESRSV_LIMIT" in caught.value.lsf_text
    assert job[caught.value.column - 1 :].startswith("mem=")


def test_the_profile_counts_where_the_job_says_nothing() -> None:
    with pytest.raises(ResreqError):
        merged("select[a]", "", "mem=8GB", application="rusage[mem=9GB]")
    assert merged("rusage[mem=1GB]", "", "mem=8GB", "rusage[mem=9GB]") == "rusage[mem=1GB]"


def test_with_a_range_the_queue_s_own_amount_is_only_what_counts_by_default() -> None:
    with pytest.raises(ResreqError) as caught:
        merged("rusage[mem=6GB]", "rusage[mem=4GB]", "")
    assert caught.value.code is Code.OVER_QUEUE
    assert merged("rusage[mem=6GB]", "rusage[mem=4GB]", "mem=8GB") == "rusage[mem=6GB]"
    assert merged("a", "rusage[mem=4GB]", "mem=8GB") == "select[a] rusage[mem=4GB]"


def test_a_range_is_of_the_type_s_own_scope() -> None:
    with pytest.raises(ResreqError) as caught:
        merged("rusage[mem=6GB/host]", "", "mem=8GB")
    assert caught.value.code is Code.RANGE_SCOPE
    assert caught.value.message == "mem has a range in this queue: /host cannot be said"


@pytest.mark.parametrize(
    ("text", "column"),
    [("mem", 1), ("mem=1GB mem=2GB", 9), ("mem=1XB", 5), ("mem=1GB,2XB", 9), ("=3", 1)],
)
def test_a_bad_range_is_told_with_its_column(text: str, column: int) -> None:
    with pytest.raises(ResreqError) as caught:
        ranges_of(text)
    assert caught.value.column == column


def test_a_queue_s_range_refuses_at_submission() -> None:
    queue = QueueConfig(name="normal", reservation_ranges="mem=1GB,2GB")
    world = lab(1, config=type(SETTINGS)(queues=(queue,)))
    taken = decide(world.state, job(1, "rusage[mem=2GB]", ANNA), world.now_us)
    assert isinstance(taken, Outcome)
    refused = decide(world.state, job(1, "rusage[mem=3GB]", ANNA), world.now_us)
    assert isinstance(refused, c.Rejection)
    assert (refused.code, refused.column, refused.message) == (
        "resreq_out_of_range",
        8,
        "Bad resource requirement: mem=3GB is outside the queue's range",
    )
    assert parse_size("2GB") == 2 * 1024**3
