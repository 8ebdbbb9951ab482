"""Every example of docs/reference/scripts.md is true."""

import re
from pathlib import Path

import pytest

from xce.resreq.options.bsub import BSUB, Support
from xce.resreq.options.gpu import canonical_gpu, parse_gpu
from xce.resreq.options.script import read_script

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scripts.md"
ROW = re.compile(r"^\| `(?P<left>.+?)` \| (?P<right>.+) \|$", re.MULTILINE)
ACTED_ON = {
    Support.HONOURED: "yes",
    Support.KEPT: "kept",
    Support.SITE: "site",
    Support.LINE_ONLY: "line",
    Support.NO_JOB: "no job",
}


def rows(head: str) -> list[tuple[str, str]]:
    """The rows of the table under that head."""
    table = PAGE.read_text().split(f"| {head} |\n", 1)[1].split("\n\n", 1)[0]
    return [(match["left"], match["right"]) for match in ROW.finditer(table)]


@pytest.mark.parametrize(("line", "right"), rows("written | read"))
def test_an_example_is_read_as_the_page_says(line: str, right: str) -> None:
    reading = read_script(f"{line}\n")
    assert reading.errors == ()
    shown = (f"`{f'{given.option} {given.means}'.strip()}`" for given in reading.options)
    assert (" · ".join(shown) or "nothing") == right


@pytest.mark.parametrize(("line", "right"), rows("written | warning"))
def test_a_warning_is_the_one_of_the_page(line: str, right: str) -> None:
    reading = read_script(f"{line}\n")
    assert reading.errors == ()
    assert right in [str(one) for one in reading.warnings]


@pytest.mark.parametrize(("line", "right"), rows("written | told"))
def test_a_refusal_says_what_the_page_says(line: str, right: str) -> None:
    assert str(read_script(f"{line}\n").errors[0]) == right


@pytest.mark.parametrize(("text", "right"), rows("gpu | printed"))
def test_a_gpu_string_prints_as_the_page_says(text: str, right: str) -> None:
    assert f"`{canonical_gpu(parse_gpu(text))}`" == right


def test_the_page_lists_the_table_of_options() -> None:
    told = {
        name: [part.strip() for part in right.split(" | ")]
        for name, right in rows("option | value | acted on | what it is")
    }
    assert list(told) == list(BSUB)
    for name, option in BSUB.items():
        about = f"{option.about}; {option.lacks}" if option.lacks else option.about
        value = option.value.value if option.takes_value else ""
        assert told[name] == [value, ACTED_ON[option.support], about]
