"""Every example of docs/reference/resreq.md is true."""

import re
from pathlib import Path

import pytest

from xce.resreq import ResreqError, canonical, parse

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "resreq.md"
ROW = re.compile(r"^\| `(?P<written>.+?)` \| (?P<right>.+) \|$", re.MULTILINE)


def rows(heading: str) -> list[tuple[str, str]]:
    """The rows of all tables under `| written | <heading> |`, with `\\|` read as `|`."""
    tables = re.findall(
        rf"^\| written \| {heading} \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE
    )
    found = [
        (match["written"].replace("\\|", "|"), match["right"].replace("\\|", "|"))
        for table in tables
        for match in ROW.finditer(table)
    ]
    assert sum(table.count("\n") for table in tables) == len(found)
    return found


@pytest.mark.parametrize(("written", "printed"), rows("printed"))
def test_an_example_prints_as_the_page_says(written: str, printed: str) -> None:
    assert f"`{canonical(parse(written).tree)}`" == printed


@pytest.mark.parametrize(("written", "printed"), rows("printed by compat"))
def test_an_example_that_compat_takes_prints_as_the_page_says(written: str, printed: str) -> None:
    assert f"`{canonical(parse(written, mode='compat').tree)}`" == printed


@pytest.mark.parametrize(("written", "told"), rows("told"))
def test_a_refusal_says_what_the_page_says(written: str, told: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(written)
    assert str(caught.value) == told


def test_the_page_has_an_example_of_every_section() -> None:
    text = " ".join(written for written, _ in rows("printed"))
    for section in ("select", "order", "rusage", "span", "same", "cu", "affinity"):
        assert f"{section}[" in text
    assert len(rows("printed")) > 35
