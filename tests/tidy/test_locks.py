"""The pins: what the README installs is what was locked, and no file names a package index."""

import re
import subprocess
import tomllib
from typing import Any

import pytest

from tests.tidy.source import ROOT

PIN = re.compile(r"^([a-z0-9-]+)==(\S+?)(?: ; (.+?))?(?: \\)?$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")
NAME = re.compile(r"^[A-Za-z0-9_.-]+")
ADDRESS = re.compile(r"https?://\S*(pypi|pythonhosted|npmjs|/simple)", re.IGNORECASE)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(file: str) -> set[tuple[str, str, str]]:
    """(name, version, marker) of every pin of a lock file."""
    found = (PIN.match(line) for line in (ROOT / file).read_text().splitlines())
    return {(pin[1], pin[2], pin[3] or "") for pin in found if pin}


def needed() -> set[str]:
    """The names that the project asks for, itself or for its tests."""
    facts = project()["project"]
    asked = facts["dependencies"] + facts["optional-dependencies"]["test"]
    names = [NAME.match(line) for line in asked]
    return {re.sub(r"[-_.]+", "-", found[0]).lower() for found in names if found}


def test_both_lock_files_have_the_same_pins() -> None:
    assert pins("constraints.txt") == pins("requirements.lock")
    assert len(pins("constraints.txt")) > 30


def test_everything_that_is_asked_for_is_pinned() -> None:
    assert needed() - {name for name, _version, _marker in pins("constraints.txt")} == set()


def test_a_name_is_pinned_once_per_marker() -> None:
    keys = [(name, marker) for name, _version, marker in pins("constraints.txt")]
    assert len(keys) == len(set(keys))


def test_every_line_of_the_lock_is_a_pin_or_a_hash() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert [line for line in lines if not PIN.match(line) and not HASH.match(line)] == []
    plain = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in plain if not PIN.match(line)] == []


@pytest.mark.parametrize("file", ["constraints.txt", "requirements.lock"])
def test_a_lock_file_holds_no_address(file: str) -> None:
    assert "://" not in (ROOT / file).read_text()


def test_the_test_extra_and_the_test_group_are_the_same() -> None:
    facts = project()
    assert facts["dependency-groups"]["test"] == facts["project"]["optional-dependencies"]["test"]


def test_uv_lock_is_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"uv.lock", ".venv/"} <= set(ignored)


def tracked() -> list[str]:
    """The files of the checkout: those that git knows, or all that are there without git."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        return [file for file in done.stdout.split("\0") if file and (ROOT / file).is_file()]
    skipped = {".venv", ".git", "__pycache__"}
    found = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return [path.as_posix() for path in found if not skipped & set(path.parts)]


def test_no_file_names_a_package_index() -> None:
    naming = [
        file
        for file in tracked()
        if ADDRESS.search((ROOT / file).read_text(encoding="utf-8", errors="replace"))
    ]
    assert naming == []
