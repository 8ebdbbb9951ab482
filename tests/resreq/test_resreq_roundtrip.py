"""Printing and parsing undo each other, for every tree and for every spelling."""

from hypothesis import HealthCheck, given, settings

from tests.resreq.trees import EXPRESSIONS, TREES
from xce.resreq import canonical, canonical_select, parse, parse_select, tree

QUICK = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@QUICK
@given(TREES)
def test_parsing_the_printed_tree_gives_the_tree(made: tree.Tree) -> None:
    text = canonical(made)
    parsed = parse(text)
    assert parsed.tree == made
    assert parsed.warnings == ()
    assert canonical(parsed.tree) == text


@QUICK
@given(TREES)
def test_both_modes_read_a_printed_tree_alike(made: tree.Tree) -> None:
    text = canonical(made)
    assert parse(text, mode="compat").tree == parse(text).tree


@QUICK
@given(EXPRESSIONS)
def test_parsing_a_printed_expression_gives_the_expression(node: tree.Expr) -> None:
    assert parse_select(canonical_select(node)) == node


@QUICK
@given(TREES)
def test_equal_trees_have_equal_hashes(made: tree.Tree) -> None:
    again = parse(canonical(made)).tree
    assert hash(again) == hash(made)
    assert {again: 1}[made] == 1
