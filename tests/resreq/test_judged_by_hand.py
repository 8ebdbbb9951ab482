"""Strings of every small language, judged by hand from the documents before the program was asked.

Each line of `judged/*.txt` is `+` or `-`, a blank, and the string; the program has to agree, for
requirements in strict mode. What the documents leave open is not in the files.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from xce.resreq.errors import ResreqError
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
