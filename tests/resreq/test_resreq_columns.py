"""All hosts at once: the same answers as asking them one by one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xce.model.resources import BUILT_IN, Kind, Layer, ResourceType
from xce.resreq import match, parse_select, tree
from xce.resreq.columns import HostColumns, columns_of, first_failing, matching
from xce.resreq.match import first_failing as slow_first_failing

MB = 2**20
TYPES = {
    **BUILT_IN,
    "ssd": ResourceType(name="ssd", layer=Layer.ATTRIBUTE, kind=Kind.BOOLEAN),
}
NUMBERS = ["mem", "swp", "ncpus", "ut", "rack"]
NAMES = [*NUMBERS, "ssd", "type", "hname", "none", "swap", "X86"]


def host(**extra: object) -> dict[str, object]:
    return {"mem": 4000 * MB, "ncpus": 8, "type": "X86", **extra}


HOSTS = [
    host(),
    host(mem=5000 * MB, ssd=True, ut=250),
    host(type="ARM", ncpus=16, ut=750),
    host(mem=None, ssd=False),
    host(type=None),
    {"ncpus": 4},
]


def hosts_of(text: str, hosts: list[dict[str, object]] = HOSTS) -> list[int]:
    return np.flatnonzero(matching(parse_select(text), columns_of(hosts), TYPES)).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mem>4000", [1]),
        ("mem>=4000", [0, 1, 2, 4]),
        ("!(mem>4000)", [0, 2, 4]),
        ("4000<=mem", [0, 1, 2, 4]),
        ("mem==4000MB", [0, 2, 4]),
        ("mem!=4000.5", [0, 1, 2, 4]),
        ("ssd", [1]),
        ("!ssd", [0, 2, 3, 4, 5]),
        ("type==X86", [0, 1, 3]),
        ("type!=X86", [2]),
        ("type==any", [0, 1, 2, 3]),
        ("type<'B'", [2]),
        ("defined(mem) && defined(type)", [0, 1, 2, 3, 4]),
        ("ut<0.5 || ncpus==16", [1, 2]),
        ("ncpus*500>=mem", [0, 2, 4]),
        ("mem/ncpus==500", [0, 4]),
        ("mem-4000==0 && ncpus+ncpus==32", [2]),
        ("mem>99999999999999999999", []),
        ("mem<99999999999999999999", [0, 1, 2, 4]),
        ("mem*1000000000000000000000>1", [0, 1, 2, 4]),
        ("1", [0, 1, 2, 3, 4, 5]),
        ("nosuch || ncpus<5", [5]),
    ],
)
def test_the_hosts_that_match_are_found(text: str, expected: list[int]) -> None:
    assert hosts_of(text) == expected


def test_for_each_host_the_first_failing_condition_is_known() -> None:
    node = parse_select("ncpus>4 && mem>4000 && ssd")
    assert first_failing(node, columns_of(HOSTS), TYPES).tolist() == [1, -1, 1, 1, 1, 0]


def test_no_hosts_are_no_trouble() -> None:
    assert hosts_of("mem>1 && ncpus*2>mem/1024 && type==X86", []) == []


VALUES = {
    "mem": st.integers(0, 2**45),
    "swp": st.integers(0, 4 * MB),
    "ncpus": st.integers(0, 4),
    "ut": st.integers(0, 1000),
    "rack": st.integers(-3, 3),
    "ssd": st.booleans(),
    "type": st.sampled_from(["X86", "ARM", ""]),
    "hname": st.sampled_from(["a", "b"]),
}
ROWS = st.lists(
    st.fixed_dictionaries({}, optional={n: st.none() | v for n, v in VALUES.items()}), max_size=8
)
LEAVES = st.one_of(
    st.sampled_from(NAMES).map(lambda name: tree.Name(name=name)),
    st.sampled_from(NAMES).map(lambda name: tree.Defined(name=name)),
    st.builds(tree.Number, digits=st.integers(0, 30), places=st.just(0)),
    st.builds(tree.Number, digits=st.just(25), places=st.integers(1, 3)),
    st.builds(tree.Size, size_bytes=st.sampled_from([0, 1, MB, 3 * MB, 2**44, 2**70])),
    st.sampled_from(["X86", "a", ""]).map(lambda text: tree.Text(text=text)),
)


@st.composite
def _infix(draw: st.DrawFn, parts: st.SearchStrategy[tree.Expr]) -> tree.Expr:
    level = draw(st.sampled_from(tree.LEVELS))
    ops = draw(st.lists(st.sampled_from(sorted(level)), min_size=1, max_size=2))
    terms = draw(st.lists(parts, min_size=len(ops) + 1, max_size=len(ops) + 1))
    return tree.infix(tuple(ops), tuple(terms))


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map(tree.conjunction),
        st.lists(parts, min_size=2, max_size=3).map(tree.disjunction),
        parts.map(lambda part: tree.Not(term=part)),
        parts.map(lambda part: tree.Neg(term=part)),
        _infix(parts),
    ),
    max_leaves=8,
)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(EXPRESSIONS, ROWS)
def test_columns_answer_as_the_slow_evaluator_does(
    node: tree.Expr, rows: list[dict[str, object]]
) -> None:
    columns = columns_of(rows)
    assert matching(node, columns, TYPES).tolist() == [match(node, row, TYPES) for row in rows]
    terms = node.terms if isinstance(node, tree.And) else (node,)
    slow = [slow_first_failing(node, row, TYPES) for row in rows]
    expected = [-1 if term is None else terms.index(term) for term in slow]
    assert first_failing(node, columns, TYPES).tolist() == expected


def test_ten_thousand_hosts_are_answered_without_asking_each() -> None:
    rows = [host(mem=i * MB, ncpus=i % 64, ut=i % 1000) for i in range(10_000)]
    columns: HostColumns = columns_of(rows)
    node = parse_select("mem>4000 && type==X86 && !ssd && (ut<0.5 || ncpus*200>mem/16)")
    found = matching(node, columns, TYPES)
    assert found.tolist() == [match(node, row, TYPES) for row in rows]
