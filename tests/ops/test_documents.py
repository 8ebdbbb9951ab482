"""Every command of README, tutorial, how-tos and operations runs and prints what they say."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.documents import ROOT, blocks, prepare, run

pytestmark = pytest.mark.processes
DOCUMENTS = (
    "README.md",
    "docs/tutorial.md",
    "docs/operations.md",
    "docs/how-to/submit-a-gang.md",
    "docs/how-to/read-why-something-waits.md",
    "docs/how-to/elim.md",
    "docs/how-to/arrays.md",
    "docs/how-to/dependencies.md",
    "docs/how-to/job-groups.md",
    "docs/how-to/suspend-and-resume.md",
    "docs/how-to/backfill-and-preemption.md",
    "docs/how-to/change-a-job.md",
    "docs/how-to/share-and-limit.md",
    "docs/how-to/replay-a-trace.md",
)


@pytest.fixture
def clone() -> Iterator[Path]:
    """A folder with a short path that looks like an installed clone."""
    folder = Path(tempfile.mkdtemp(prefix="xce-doc-", dir="/tmp"))
    prepare(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_does_what_it_says(clone: Path, document: str) -> None:
    run(ROOT / document, clone)


@pytest.mark.postgres
def test_the_postgresql_how_to_does_what_it_says(clone: Path, postgres_empty_url: str) -> None:
    run(ROOT / "docs/how-to/use-postgresql.md", clone, DATABASE=postgres_empty_url)


def test_every_how_to_with_commands_is_among_the_documents_that_are_run() -> None:
    with_commands = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs" / "how-to").iterdir()
        if any(kind == "sh" for kind, _ in blocks(path))
    }
    assert with_commands - set(DOCUMENTS) == {"docs/how-to/use-postgresql.md"}


def test_the_readme_installs_as_ci_does() -> None:
    install = [text for kind, text in blocks(ROOT / "README.md") if kind == "sh install"]
    assert install[0].endswith(".venv/bin/xce demo\n")
    assert install[1] in (ROOT / ".ci" / "run").read_text()
    assert all("-c constraints.txt" in text for text in install)


def test_links_between_documents_lead_somewhere() -> None:
    import re

    for name in (*DOCUMENTS, "docs/how-to/kill-runs.md", "docs/how-to/use-postgresql.md"):
        document = ROOT / name
        for link in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{name}: {link}"
