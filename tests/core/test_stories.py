"""The stories that people tell, to the last record: tests/golden, made by tests/core/stories.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.stories import GOLDEN, Teller, halves

STORIES = sorted(GOLDEN.glob("*.txt"))
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_told_as_it_was(path: Path) -> None:
    script, story = halves(path)
    assert story, f"{path.name} has no story yet: python -m tests.core.stories --bless"
    assert Teller().play(script) == story


def test_there_are_enough_stories() -> None:
    assert len(STORIES) >= 10


def test_a_build_never_blesses() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.stories", "--bless"],
        cwd=ROOT,
        env={**os.environ, "CI": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "a build never blesses its own output\n")
