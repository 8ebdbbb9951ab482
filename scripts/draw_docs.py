"""Write the generated pages of docs/, or check that they are current.

    python -m scripts.draw_docs           writes them
    python -m scripts.draw_docs --check   exits 1 and names each page that is not current

A page is a path under docs/ and a function that gives its text. The functions are pure and live
with the data they draw; this script is the only place that reads and writes.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from scripts import record_page, state_page
from xce.scheduler import reasons

ROOT = Path(__file__).resolve().parent.parent
PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/states.md": state_page.page,
    "docs/reference/records.md": record_page.page,
    "docs/reference/pend-reasons.md": reasons.render,
}


def stale(root: Path = ROOT) -> list[str]:
    """Pages whose file is missing or differs from what the data gives."""
    return [
        name
        for name, render in PAGES.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != render()
    ]


def write(root: Path = ROOT) -> list[str]:
    """Write the pages that are not current; gives their names."""
    names = stale(root)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(PAGES[name](), encoding="utf-8")
    return names


def main(arguments: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m scripts.draw_docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    options = parser.parse_args(arguments)
    if options.check:
        for name in stale():
            print(f"{name} is not current: run python -m scripts.draw_docs", file=sys.stderr)
        return 1 if stale() else 0
    for name in write():
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
