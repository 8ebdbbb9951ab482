"""The collected script headers are read as was worked out by hand from their text.

`expected/scripts.txt` says what each option is and means, line by line.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
from msgspec import Struct, field

from tests.resreq.cases import load
from xce.resreq.options.script import Reading, read_script

EXPECTED = Path(__file__).parent / "expected" / "scripts.txt"
HONOURED = {
    "-J", "-n", "-R", "-gpu", "-q", "-app", "-o", "-e", "-i", "-H", "-K", "-sp", "-env", "-cwd",
    "-W", "-We", "-b", "-t", "-P", "-Jd", "-r", "-rn", "-Q", "-M", "-oo", "-eo",
    "-w", "-g", "-G", "-ti", "-x", "-U",
}  # fmt: skip


class Expected(Struct):
    interpreter: str
    options: list[tuple[int, str, str, str]] = field(default_factory=list)
    resreq: str = ""
    errors: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[tuple[int, str]] = field(default_factory=list)
    lacks: list[int] = field(default_factory=list)
    commented: tuple[int, ...] = ()


def expected() -> dict[str, Expected]:
    blocks = EXPECTED.read_text().split("\n\n")[2:]
    return dict(block_of(block) for block in blocks)


def block_of(block: str) -> tuple[str, Expected]:
    first, *lines = block.strip().split("\n")
    name, interpreter = first.split()
    made = Expected(interpreter=interpreter)
    for line in lines:
        word, _, rest = line.partition(" ")
        match word:
            case "resreq":
                made.resreq = rest
            case "error":
                made.errors.append((int(rest.split()[0]), rest.split()[1]))
            case "warning":
                made.warnings.append((int(rest.split()[0]), rest.split()[1]))
            case "lacks":
                made.lacks = [int(number) for number in rest.split()]
            case "commented":
                made.commented = tuple(int(number) for number in rest.split())
            case _:
                option, _, value = rest.partition(" ")
                text, arrow, means = value.partition(" => ")
                means = means if arrow else text
                made.options.append((int(word), option, text, "" if means == "?" else means))
    return name, made


def unmet(made: Expected) -> list[tuple[int, str]]:
    """The warnings that follow from the options: one for each that is not acted on."""
    lines = [line for line, option, _, _ in made.options if option not in HONOURED]
    return [(line, "not_honoured") for line in lines + made.lacks]


def reading_of(name: str) -> Reading:
    path = Path(os.environ.get("XCE_SHARED", "")) / "cases" / "scripts" / name
    if not path.is_file():
        pytest.skip("XCE_SHARED IS NOT SET: the collected scripts were not tested")
    return read_script(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "made"), expected().items(), ids=list(expected()))
def test_a_collected_script_is_read_as_by_hand(name: str, made: Expected) -> None:
    found = reading_of(name)
    assert [(g.line, g.option, g.value, g.means) for g in found.options] == made.options
    assert (found.interpreter, found.resreq) == (made.interpreter, made.resreq)
    assert found.commented_out == made.commented
    assert [(one.line, one.code) for one in found.errors] == made.errors
    told = sorted((one.line, one.code) for one in found.warnings)
    assert told == sorted([*made.warnings, *unmet(made)])


def test_all_collected_scripts_have_an_expected_reading() -> None:
    records = load("scripts.jsonl")
    names = {Path(record["file"]).name for record in records}
    assert len(names) == 58
    assert names == set(expected())


def test_the_options_of_every_collected_script_are_counted_as_recorded() -> None:
    for record in load("scripts.jsonl"):
        found = reading_of(Path(record["file"]).name)
        counts = Counter(given.option.removeprefix("-") for given in found.options)
        assert dict(counts) == record["options"], record["file"]
