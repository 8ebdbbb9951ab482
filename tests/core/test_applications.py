"""Job over application profile over queue: what counts, what is kept, what is refused."""

import pytest

from tests.core.lab import lab
from tests.kit.words import BOSS, SETTINGS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US, ApplicationConfig, QueueConfig, TypeConfig
from xce.resreq import canonical, parse

QUEUE = "select[mem>1GB] order[ut] rusage[mem=8GB,swp=2GB] span[hosts=1] same[type]"
PROFILES = (
    ApplicationConfig(
        name="solver",
        resreq="select[ncpus>=4] order[mem] rusage[mem=4GB,tmp=1GB] span[ptile=2] same[model]",
    ),
    ApplicationConfig(name="greedy", resreq="rusage[mem=9GB]"),
    ApplicationConfig(name="parts", resreq="1*{rusage[mem=1GB]} + 1*{rusage[mem=2GB]}"),
    ApplicationConfig(name="odd", resreq="select[nosuch>1]"),
    ApplicationConfig(name="bare", description="asks for nothing"),
)


def world_with(queue: str = QUEUE, hosts: int = 1) -> World:
    """Hosts under the profiles, with one queue that asks for `queue`."""
    queues = (QueueConfig(name="normal", default_resreq=queue),)
    fields = {name: getattr(SETTINGS, name) for name in ("levels", "start_retries")}
    config = type(SETTINGS)(queues=queues, applications=PROFILES, **fields)
    return lab(hosts, config=config)


def same(text: str) -> str:
    return canonical(parse(text).tree)


# What a job of that profile and that requirement asks for, by the table of LSF 10.1.
MERGED = [
    (
        # Conditions of all three; of each resource the highest level that has it; the job has no
        # order and no span, so the profile's count; keys of both levels that have some.
        "solver",
        "select[tmp>2GB] rusage[mem=2GB]",
        (
            "select[tmp>2GB && ncpus>=4 && mem>1GB] order[mem] rusage[mem=2GB,tmp=1GB,swp=2GB] "
            "span[ptile=2] same[model:type]"
        ),
    ),
    (
        "solver",
        "",
        (
            "select[ncpus>=4 && mem>1GB] order[mem] rusage[mem=4GB,tmp=1GB,swp=2GB] "
            "span[ptile=2] same[model:type]"
        ),
    ),
    (
        "solver",
        "order[swp] span[ptile=4]",
        (
            "select[ncpus>=4 && mem>1GB] order[swp] rusage[mem=4GB,tmp=1GB,swp=2GB] "
            "span[ptile=4] same[model:type]"
        ),
    ),
    # A profile that asks for nothing leaves the queue's, with its order if the job has no -R.
    ("bare", "", QUEUE),
    (
        "bare",
        "rusage[mem=2GB]",
        "select[mem>1GB] rusage[mem=2GB,swp=2GB] span[hosts=1] same[type]",
    ),
    ("", "rusage[mem=2GB]", "select[mem>1GB] rusage[mem=2GB,swp=2GB] span[hosts=1] same[type]"),
    # The profile's compound is ignored as soon as the job has a requirement of its own.
    (
        "parts",
        "rusage[mem=3GB]",
        "select[mem>1GB] rusage[mem=3GB,swp=2GB] span[hosts=1] same[type]",
    ),
    # The job is within the queue's 8 GB, and the profile's 9 GB do not count.
    (
        "greedy",
        "rusage[mem=8GB]",
        "select[mem>1GB] rusage[mem=8GB,swp=2GB] span[hosts=1] same[type]",
    ),
]


@pytest.mark.parametrize(("application", "resreq", "merged"), MERGED)
def test_a_job_goes_over_its_profile_and_that_over_the_queue(
    application: str, resreq: str, merged: str
) -> None:
    world = world_with()
    key = world.submit(job(2, resreq, application=application))
    spec = world.state.specs[world.state.jobs[key].spec]
    assert spec.resreq == same(merged)
    assert spec.application == application


def test_the_queue_is_merged_into_each_term_of_a_profile_and_the_terms_give_the_tasks() -> None:
    world = world_with("rusage[swp=2GB] same[type]")
    key = world.submit(job(1, application="parts"))
    spec = world.state.specs[world.state.jobs[key].spec]
    one, two = ("rusage[mem=1GB,swp=2GB] same[type]", "rusage[mem=2GB,swp=2GB] same[type]")
    assert spec.resreq == same(f"1*{{{one}}} + 1*{{{two}}}")
    assert spec.tasks == 2


def test_what_the_profile_says_decides_where_the_job_runs() -> None:
    profile = ApplicationConfig(name="spread", resreq="span[ptile=2]")
    queues = (QueueConfig(name="normal", default_resreq="span[hosts=1]"),)
    world = lab(2, config=type(SETTINGS)(queues=queues, applications=(profile,)))
    spread = world.submit(job(4, application="spread"))
    packed = world.submit(job(4))
    world.run_until(lambda: all(world.state.jobs[key].allocation for key in (spread, packed)))
    shares = {
        key: [
            share.tasks
            for share in world.state.allocations[world.state.jobs[key].allocation].shares
        ]
        for key in (spread, packed)
    }
    assert shares == {spread: [2, 2], packed: [4]}


def refusal(world: World, command: c.SubmitJob) -> c.Rejection:
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection)
    assert world.state.jobs == {}
    return answer


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("slover", "did you mean 'solver'?"),
        ("zzz", "application profiles here: solver, greedy, parts, odd, bare"),
    ],
)
def test_an_unknown_profile_is_refused_as_lsf_does_with_what_was_meant(
    name: str, hint: str
) -> None:
    told = refusal(world_with(), job(application=name))
    assert (told.code, told.field) == ("unknown_application", "application")
    assert (told.message, told.hint) == (f"{name}: No such application profile.", hint)


def test_where_there_are_no_profiles_the_refusal_says_so() -> None:
    assert refusal(lab(1), job(application="x")).hint == "there are none here"


def test_a_profile_that_reserves_more_than_the_queue_does_is_the_one_at_fault() -> None:
    told = refusal(world_with(), job(application="greedy"))
    assert (told.code, told.field, told.text) == (
        "resreq_over_queue", "application", "rusage[mem=9GB]",
    )  # fmt: skip
    assert told.message == (
        "Bad resource requirement of the application profile greedy: mem exceeds the queue's 8GB"
    )
    own = refusal(world_with(), job(1, "rusage[mem=10GB]", application="greedy"))
    assert (own.field, own.text) == ("resreq", "rusage[mem=10GB]")


def test_a_profile_with_a_name_that_is_no_resource_is_told_by_its_own_text() -> None:
    told = refusal(world_with(), job(1, "rusage[mem=1GB]", application="odd"))
    assert (told.code, told.field, told.column) == ("resreq_unknown_name", "application", 8)
    assert told.text == "select[nosuch>1]"


def test_a_job_keeps_its_merge_when_the_profile_goes() -> None:
    world = world_with()
    key = world.submit(job(2, application="solver"))
    before = world.state.specs[world.state.jobs[key].spec]
    world.ask_body(c.LoadConfig(actor=BOSS, config=SETTINGS, digest="other"))
    assert world.state.config.applications == ()
    assert world.state.specs[world.state.jobs[key].spec] == before
    again = world.ask(job(2, application="solver"))
    assert isinstance(again, c.Rejection)


def test_a_type_that_a_profile_names_is_not_taken_away() -> None:
    world = lab(
        1,
        config=type(SETTINGS)(
            applications=(ApplicationConfig(name="cfd", resreq="rusage[seats=1]"),)
        ),
    )
    add = c.AddType(actor=BOSS, type=TypeConfig(name="seats"))
    world.ask_body(add)
    told = world.ask(c.RemoveResource(actor=BOSS, name="seats"))
    assert isinstance(told, c.Rejection)
    assert told.message.endswith("used by application profile cfd")


def test_a_job_that_cancels_its_queues_span_lies_on_several_hosts() -> None:
    world = world_with("span[hosts=1]", hosts=2)
    world.submit(job(10))
    world.run(SECOND_US)
    assert world.state.jobs[1].state == "PENDING", "10 tasks and 8 slots on a host"
    world.submit(job(10, "span[hosts=-1]"))
    world.run(SECOND_US)
    shares = world.state.allocations[1].shares
    assert sorted((share.host, share.tasks) for share in shares) == [("n1", 8), ("n2", 2)]
