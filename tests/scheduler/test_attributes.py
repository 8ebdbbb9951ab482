"""Expressions asked of all rows at once: the same answers as asked one by one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.resreq.test_resreq_columns import EXPRESSIONS, TYPES
from xce.resreq import match, parse_select, tree
from xce.scheduler.attributes import holding, rows_of
from xce.scheduler.snapshot import Observed

MB = 2**20
ROWS = [
    {"mem": 4000 * MB, "type": "X86", "tag": "a"},
    {"mem": True, "type": 7, "tag": "b", "login": 3},
    {"mem": 2**70, "tag": "a", "ls": 3},
]


def all_known(column: list[int]) -> Observed:
    return Observed(values=np.array(column, np.int64), known=np.ones(len(column), dtype=bool))


def answers(text: str, free: dict[str, list[int]] | None = None) -> list[bool]:
    over = {name: all_known(column) for name, column in (free or {}).items()}
    return holding(parse_select(text), rows_of(ROWS, TYPES), TYPES, over).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tag==a", [True, False, True]),
        ("mem>3000", [True, False, True]),
        ("type==X86", [True, False, False]),
        ("type==7", [False, True, False]),
        ("login==3", [False, True, True]),
        ("ls==3", [False, False, True]),
    ],
)
def test_what_columns_cannot_tell_is_asked_one_by_one(text: str, expected: list[bool]) -> None:
    assert answers(text) == expected


def test_what_is_free_stands_over_what_a_host_says_of_itself() -> None:
    assert answers("mem>=10", {"mem": [10 * MB, 9 * MB, 0]}) == [True, False, False]
    assert answers("tag==a", {"tag": [1, 2, 3]}) == [False, False, False]
    assert answers("login==3", {"ls": [3, 4, 5]}) == [True, True, False]


def test_what_was_not_reported_is_unknown_and_so_is_its_opposite() -> None:
    stale = {"mem": Observed(values=np.array([9, 9, 9]), known=np.array([True, False, True]))}
    rows = rows_of(ROWS, TYPES)
    for text in ("mem<1", "!(mem>=1)"):
        assert holding(parse_select(text), rows, TYPES, stale).tolist() == [True, False, True]


VALUES = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([MB, 3 * MB, 2**44, 2**62, 2**70]),
    st.booleans(),
    st.sampled_from(["X86", "a", ""]),
)
NAMES = ["mem", "swp", "swap", "ncpus", "ut", "ssd", "type", "hname"]
TABLES = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUES)), min_size=1, max_size=6
)
FREE = st.dictionaries(st.sampled_from(["mem", "swp", "ncpus"]), st.integers(0, 2**40), max_size=2)


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(EXPRESSIONS, TABLES, FREE)
def test_rows_answer_together_as_they_do_one_by_one(
    node: tree.Expr, table: list[dict[str, object]], free: dict[str, int]
) -> None:
    columns = {name: all_known([amount] * len(table)) for name, amount in free.items()}
    found = holding(node, rows_of(table, TYPES), TYPES, columns)
    assert found.tolist() == [match(node, {**row, **free}, TYPES) for row in table]
