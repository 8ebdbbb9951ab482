"""Array names: ranges, steps, limits; never expanded, always counted."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resreq.cases import load, sure
from xce.resreq.options.arrays import (
    ArrayError,
    ArrayName,
    Range,
    canonical_array,
    is_array,
    parse_array,
)


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("J[1-10:2]%3", [1, 3, 5, 7, 9], 3),
        ("J[1,3,5-9]", [1, 3, 5, 6, 7, 8, 9], 0),
        ("J[7]", [7], 0),
        ("J[10-20:5]", [10, 15, 20], 0),
        ("J[10-12:5]", [10], 0),
        ("J[5,1-2]", [1, 2, 5], 0),
        ("J[1-3,2-5]", [1, 2, 3, 4, 5], 0),
        ("J[ 1 - 3 ] % 2", [1, 2, 3], 2),
    ],
)
def test_an_array_has_these_indices(text: str, indices: list[int], limit: int) -> None:
    made = parse_array(text)
    assert (made.name, list(made.indices()), made.limit) == ("J", indices, limit)
    assert made.count == len(indices)


def test_a_name_may_hold_almost_anything_but_brackets() -> None:
    assert parse_array("x-y.z_1 a[3]").name == "x-y.z_1 a"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("J[1-10:2, 20]%3", "J[1-9:2,20]%3"),
        ("J[1-5:1]", "J[1-5]"),
        ("J[3-3]", "J[3]"),
        ("J[3-4:9]", "J[3]"),
    ],
)
def test_an_array_prints_in_one_way(text: str, printed: str) -> None:
    assert canonical_array(parse_array(text)) == printed


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("a", 2, "no list of indices", "name[1-10]"),
        ("a[]", 3, "the list of indices is empty", ""),
        ("a[1-]", 5, "the end of the range is missing", ""),
        ("a[5-1]", 5, "ends at 1, before it begins at 5", ""),
        ("a[0-3]", 3, "an index is at least 1", ""),
        ("a[1-4:0]", 7, "a step is at least 1", ""),
        ("a[1.5]", 4, "'.' is no index", "whole numbers"),
        ("a[1-{count}]", 5, "a template's variable", "put the number"),
        ("a[-3]", 3, "not negative", ""),
        ("a[1-5]%", 8, "the limit is missing", ""),
        ("a[1-5]%0", 8, "the limit is at least 1", ""),
        ("a[1-2147483648]", 5, "at most 2147483647", ""),
        (f"a[{'9' * 5000}]", 3, "at most 2147483647", ""),
    ],
)
def test_a_wrong_array_name_is_refused_with_its_column(
    text: str, column: int, message: str, hint: str
) -> None:
    with pytest.raises(ArrayError) as caught:
        parse_array(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.column == column
    assert caught.value.lsf_text == "Job array index error"
    assert "^" in caught.value.caret()


def test_a_huge_array_is_counted_without_being_expanded() -> None:
    began = time.perf_counter()
    assert parse_array("a[1-2147483647]").count == 2**31 - 1
    assert parse_array("a[1-1000000000,1000000001-2000000000:2]").count == 1_500_000_000
    with pytest.raises(ArrayError):
        parse_array("a[1-1000000000,5-2000000000]")
    assert time.perf_counter() - began < 1


def test_brackets_tell_an_array_from_a_plain_name() -> None:
    assert is_array("a[1]")
    assert not is_array("a-1")


RANGES = st.builds(
    lambda first, times, step: Range(
        first=first, last=first + times * step, step=step if times else 1
    ),
    st.integers(1, 500),
    st.integers(0, 20),
    st.integers(1, 9),
)


@given(st.lists(RANGES, min_size=1, max_size=4), st.integers(0, 50))
def test_a_printed_array_reads_as_the_same_array(ranges: list[Range], limit: int) -> None:
    made = ArrayName(name="J", ranges=tuple(ranges), limit=limit)
    assert parse_array(canonical_array(made)) == made
    expanded = sorted({i for r in ranges for i in range(r.first, r.last + 1, r.step)})
    assert list(made.indices()) == expanded
    assert made.count == len(expanded)


def test_collected_array_names_are_judged_as_recorded() -> None:
    for record in load("arrays.jsonl"):
        try:
            made = parse_array(record["s"])
        except ArrayError:
            made = None
        if sure(record):
            assert (made is not None) == record["valid"], record
        if made is None or not record["valid"]:
            continue
        assert (made.name, made.count) == (record["name"], record["count"])
        assert (made.limit or None) == record["limit"]
        shown = [index for index in record["indices"] if index != "..."]
        assert set(shown) <= set(made.indices())
