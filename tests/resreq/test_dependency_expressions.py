"""Dependency expressions: what is waited for, and what is known of it."""

import time

import pytest

from tests.resreq.cases import load, sure
from xce.resreq.options.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobReference,
    Negated,
    Verdict,
    canonical_dependency,
    parse_dependency,
    verdict,
)


def job(number: int, index: str = "") -> JobReference:
    return JobReference(job=number, index=index)


def done(number: int) -> Condition:
    return Condition(word="done", of=job(number))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("210", done(210)),
        ("JobB", Condition(word="done", of=JobReference(name="JobB"))),
        ("done(5[3-4])", Condition(word="done", of=job(5, "3-4"))),
        ("done(5[*])", Condition(word="done", of=job(5, "*"))),
        ('done("arr[3]")', Condition(word="done", of=JobReference(name="arr", index="3"))),
        ("ended(chgres*)", Condition(word="ended", of=JobReference(name="chgres*"))),
        ("exit(5)", Condition(word="exit", of=job(5))),
        ("exit(5, 12)", Condition(word="exit", of=job(5), op="==", number=12)),
        ("exit(5,>=3)", Condition(word="exit", of=job(5), op=">=", number=3)),
        ("numdone(5, > 3)", Condition(word="numdone", of=job(5), op=">", number=3)),
        ("numhold(5, *)", Condition(word="numhold", of=job(5), op="*")),
        ('external(5, "ready")', Condition(word="external", of=job(5), text="ready")),
        ("time(5:18:30-1:8:30  20:00-8:00)",
         Condition(word="time", text="5:18:30-1:8:30 20:00-8:00")),
        ("done(1) && done(2) || done(3)",
         AnyOf(terms=(AllOf(terms=(done(1), done(2))), done(3)))),
        ("!done(1) && !(done(2) || 3)",
         AllOf(terms=(Negated(term=done(1)), Negated(term=AnyOf(terms=(done(2), done(3))))))),
    ],
)  # fmt: skip
def test_an_expression_becomes_this_tree(text: str, node: object) -> None:
    made = parse_dependency(text)
    assert made == node
    assert parse_dependency(canonical_dependency(made)) == made


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("done(a)&&(done(b)&&1)", 'done("a") && done("b") && done(1)'),
        ("(done(1)||2)&&!!3", "(done(1) || done(2)) && !!done(3)"),
        ("exit( 5,==0 )", "exit(5, 0)"),
        ("done('it\"s')", "done('it\"s')"),
    ],
)
def test_two_spellings_print_alike(text: str, printed: str) -> None:
    assert canonical_dependency(parse_dependency(text)) == printed


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "the expression is empty", ""),
        ("()", 2, "( ) is empty", ""),
        ("done(1) done(2)", 9, "no operator before 'done'", "&&"),
        ("done(1),done(2)", 8, "','", "write `&&`"),
        ("done(1) and done(2)", 9, "'and'", "write `&&`"),
        ("Done(1)", 5, "'Done'", "did you mean `done`?"),
        ("done(-5)", 6, "not negative", ""),
        ("done(99job)", 6, "begins with a digit", '"99job"'),
        ("done(a*b)", 6, "wildcard", ""),
        ('done("a*b")', 6, "wildcard", ""),
        ("done(0)", 6, "job ids begin at 1", ""),
        ("done(5[4-1])", 10, "before it begins", ""),
        ("ended(JOB0))", 12, "`)` without `(`", "take it away"),
        ("ended(a", 8, "`)` is missing", ""),
        ('done("a)', 6, "a quote that is not closed", ""),
        ("numdone(5)", 10, "a part is missing", ""),
        ("afterok:123", 1, "written with ( )", "done(JOB)"),
        ("done(99999999999)", 6, "at most 2147483647", ""),
        ("done(1) &&", 11, "a condition is missing at the end", ""),
    ],
)
def test_a_wrong_expression_is_refused_with_its_column(
    text: str, column: int, message: str, hint: str
) -> None:
    with pytest.raises(DependencyError) as caught:
        parse_dependency(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.column == column
    assert caught.value.lsf_text == "Dependency condition syntax error"


KNOWN = {1: Verdict.HOLDS, 2: Verdict.WAITS, 3: Verdict.NEVER}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "holds"),
        ("1 && 2", "waits"),
        ("1 && 3", "never"),
        ("2 && 3", "never"),
        ("3 || 2", "waits"),
        ("3 || 1", "holds"),
        ("3 || 3", "never"),
        ("!3", "holds"),
        ("!2", "holds"),
        ("!1", "never"),
        ("!started(1)", "waits"),
        ("!(1 && 3)", "holds"),
        ("!(1 || 2)", "never"),
        ("!!1", "holds"),
        ("1 || 9", "unknown_job"),
        ("3 && 9", "unknown_job"),
        ("!9", "unknown_job"),
    ],
)
def test_a_whole_expression_has_one_of_four_verdicts(text: str, value: str) -> None:
    def lookup(condition: Condition) -> Verdict:
        return KNOWN.get(condition.of.job, Verdict.UNKNOWN_JOB)

    assert verdict(parse_dependency(text), lookup) == value


def test_long_and_deep_expressions_are_answered_in_time() -> None:
    began = time.perf_counter()
    made = parse_dependency(" && ".join(["done(1)"] * 3000))
    assert isinstance(made, AllOf)
    assert len(made.terms) == 3000
    for text in ("(" * 100_000, "!" * 100_000 + "1", "(" * 201 + "1" + ")" * 201):
        with pytest.raises(DependencyError):
            parse_dependency(text)
    parse_dependency("(" * 150 + "1" + ")" * 150)
    assert time.perf_counter() - began < 5


def test_collected_expressions_are_judged_as_recorded() -> None:
    for record in load("deps.jsonl"):
        try:
            made = parse_dependency(record["s"])
        except DependencyError:
            accepted = False
        else:
            accepted = parse_dependency(canonical_dependency(made)) == made
        if sure(record):
            assert accepted == record["valid"], record
