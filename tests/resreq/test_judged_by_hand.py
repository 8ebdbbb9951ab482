"""Strings of every small language, judged by hand from the documents before the program was asked.

Each line of `judged/*.txt` is `+` or `-`, a blank, and the string; the program has to agree, for
requirements in strict mode. What the documents leave open is not in the files.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from xce.resreq import canonical, parse
from xce.resreq.errors import ResreqError
from xce.resreq.merge import merge_requirements
from xce.resreq.options.arrays import parse_array
from xce.resreq.options.gpu import parse_gpu
from xce.resreq.options.script import read_script
from xcecli.checks import array, dependency, requirement

JUDGED = Path(__file__).with_name("judged")


def lines(name: str) -> Iterator[tuple[str, bool]]:
    """The strings of a file, each with whether it is right."""
    for line in (JUDGED / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            assert line[:2] in ("+ ", "- "), line
            yield line[2:], line[0] == "+"


def of_gpu(text: str) -> bool:
    try:
        parse_gpu(text)
    except ResreqError:
        return False
    return True


def judge(name: str, text: str) -> bool:
    """What the program says."""
    if name == "requirements":
        return bool(requirement(text, mode="strict")["valid"])
    if name == "arrays":
        return bool(array(text)["valid"])
    if name == "dependencies":
        return bool(dependency(text)["valid"])
    if name == "gpus":
        return of_gpu(text)
    return not read_script(f"#!/bin/sh\n{text}\ntrue\n").errors


@pytest.mark.parametrize("name", ["requirements", "arrays", "dependencies", "gpus", "headers"])
def test_the_program_agrees_with_what_was_judged_by_hand(name: str) -> None:
    found = [(text, right) for text, right in lines(name) if judge(name, text) != right]
    assert not found, f"{len(found)} lines of {name}"


def test_there_are_at_least_four_hundred() -> None:
    names = ("requirements", "arrays", "dependencies", "gpus", "headers")
    assert sum(len(list(lines(name))) for name in names) >= 400


def merges() -> Iterator[tuple[str, str]]:
    for line in (JUDGED / "merges.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            left, right = line.split(" => ")
            yield left, right


@pytest.mark.parametrize(("texts", "right"), list(merges()))
def test_several_requirements_come_to_what_was_judged_by_hand(texts: str, right: str) -> None:
    try:
        found = canonical(merge_requirements(texts.split(" ++ "), mode="compat").tree)
    except ResreqError:
        found = "REFUSED"
    assert found == (right if right == "REFUSED" else canonical(parse(right).tree))


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("a[1-10:3]", [1, 4, 7, 10], 0),
        ("a[1-5,7,9-20:3]%4", [1, 2, 3, 4, 5, 7, 9, 12, 15, 18], 4),
        ("a[2-10:2,1-9:2]", list(range(1, 11)), 0),
        ("a[10-10]", [10], 0),
        ("a[3,1]%2", [1, 3], 2),
        ("a[1-3,2-4]", [1, 2, 3, 4], 0),
    ],
)
def test_an_array_has_the_indices_that_were_counted_by_hand(
    text: str, indices: list[int], limit: int
) -> None:
    made = parse_array(text)
    assert (sorted(made.indices()), made.limit) == (indices, limit)
