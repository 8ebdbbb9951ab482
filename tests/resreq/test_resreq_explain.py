"""A requirement in plain words."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.resreq.trees import TREES
from xce.model.resources import BUILT_IN, ResourceType, Scope
from xce.resreq import parse
from xce.resreq.explain import explain
from xce.resreq.tree import Tree

SITE = {**BUILT_IN, "lic": ResourceType(name="lic", scope=Scope.SHARED, consumable=True)}


@pytest.mark.parametrize(
    ("text", "tasks", "words"),
    [
        (
            "select[mem>4096] span[ptile=4] cu[type=rack:maxcus=1]",
            8,
            "8 tasks, 4 per host, on hosts with more than 4GB mem free, packed into one rack",
        ),
        (
            "select[type==X86_64 && maxmem>=1g && !bigmem]",
            1,
            "1 task, on hosts with type X86_64 and at least 1GB maxmem and not bigmem",
        ),
        (
            "select[(model!=A || ut<0.5) && defined(ssd)]",
            1,
            "1 task, on hosts with (model other than A or ut below 0.5) and a resource ssd",
        ),
        (
            "select[ncpus*2>mem && type==any]",
            1,
            "1 task, on hosts with ncpus*2>mem and any type",
        ),
        (
            "rusage[mem=4096:duration=30m:decay=1,lic=1]",
            2,
            ("2 tasks, reserving 4GB for 30m, falling to nothing, of mem per task "
            "and 1 of lic per job"),
        ),
        ("rusage[lic=1/host||mem=1]", 1,
         "1 task, reserving 1 of lic per host, or else 1MB of mem per task"),
        ("rusage[mem=(50 10):duration=(10)]", 1,
         "1 task, reserving 50MB for 10m, then 10MB of mem per task"),
        ("order[ut:-mem:slots]", 1,
         ("1 task, hosts with the least ut first, hosts with the least mem first, "
         "hosts with the most slots first")),
        ("span[hosts=1]", 3, "3 tasks, all on one host"),
        ("span[ptile='!',HP:8] same[type]", 3,
         "3 tasks, as many per host as it has slots, but 8 per HP, all hosts with the same type"),
        ("span[stripe=2]", 3, "3 tasks, spread evenly over hosts, at most 2 per host"),
        ("span[block=2]", 4, "4 tasks, in blocks of 2 on one host each"),
        ("cu[balance:excl]", 4,
         "4 tasks, equally many in each compute unit, with no other job in its compute units"),
        ("affinity[core(2,same=socket,exclusive=(numa,alljobs)):cpubind=core:membind=localonly]", 1,
         ("1 task, each task on 2 cores of one socket, no other job on its numa, "
         "bound to its core, memory from there only")),
        ("1*{mem>1g} + {span[hosts=1]}", 5,
         "1 task, on hosts with more than 1GB mem free; 4 tasks, all on one host"),
        ("{mem>1g} || {ut<1}@30", 1,
         ("either 1 task, on hosts with more than 1GB mem free; "
         "or after 30s of waiting, 1 task, on hosts with ut below 1")),
    ],
)  # fmt: skip
def test_a_requirement_is_said_in_plain_words(text: str, tasks: int, words: str) -> None:
    assert explain(parse(text).tree, types=SITE, tasks=tasks) == words


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(TREES)
def test_every_requirement_has_words(made: Tree) -> None:
    words = explain(made, types=SITE, tasks=4)
    assert "task" in words
    assert "None" not in words
