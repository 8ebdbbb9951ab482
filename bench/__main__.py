"""Runs one benchmark by name: `python -m bench NAME [ARGS]`.

Each benchmark is a module of this package with `run(argv) -> dict`; it is imported only when it
is asked for. What it returns is printed as one JSON object on the last line of stdout, with the
keys `name`, `figures`, `setting` and `durability`; talk goes to stderr.
"""

import importlib
import json
import pkgutil
import sys

import bench


def names() -> list[str]:
    """The benchmarks that there are."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(bench.__path__)
        if not module.name.startswith("_")
    )


def main(argv: list[str]) -> int:
    """Runs the benchmark that `argv` names; 2 when there is none of that name."""
    if not argv or argv[0] not in names():
        print(
            f"usage: python -m bench NAME [ARGS]; NAME is one of: {' '.join(names())}",
            file=sys.stderr,
        )
        return 2
    result = importlib.import_module(f"bench.{argv[0]}").run(argv[1:])
    print(json.dumps({"name": argv[0], **result}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
