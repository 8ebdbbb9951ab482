"""Every collected expression is taken by the core, or refused in one sentence with its place."""

from tests.core.lab import lab
from tests.kit.words import array, job
from tests.resreq.cases import load, sure
from xce.controller.core import commands as c
from xce.controller.core.depending.terms import conditions_of, tree_of
from xce.resreq.options.dependency import DependencyError

REFUSED = {"bad_dependency", "unknown_job", "unsupported", "too_large"}


def test_every_collected_expression_is_taken_or_refused_in_one_sentence() -> None:
    world = lab()
    world.submit(array((1, 9, 1), name="arr"))
    taken = 0
    for case in load("deps.jsonl"):
        try:
            names = {one.of.name.rstrip("*") for one in conditions_of(tree_of(case["s"]))}
        except DependencyError:
            names = set()
        for name in sorted(filter(None, names)):
            world.submit(job(name=name))
        answer = world.ask(job(after=case["s"])) if case["s"] else None
        if isinstance(answer, c.Rejection):
            assert answer.code in REFUSED, case
            assert "\n" not in answer.message
            assert answer.column or answer.code != "bad_dependency", case
        elif answer is not None:
            taken += 1
            assert case["valid"] or not sure(case), case
        if case["valid"] and sure(case) and isinstance(answer, c.Rejection):
            assert not answer.message.startswith("Dependency condition syntax error"), case
    assert taken >= 15, "names are there; most ids are of other clusters"
