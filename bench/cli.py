"""`python -m bench cli`: how long whole `xcecli` processes take, from start to exit.

Measured against a real controller whose queue can start nothing, beside an interpreter that does
nothing, so that the machine's own cost is seen. `modules` counts what the fast path imports.
"""

import argparse
import os
import subprocess
import sys
import time
from typing import Any

from bench._served.load import percentile
from bench._served.service import durability, service

_COUNT = (
    "import sys\nfrom xcecli.main import main\n"
    "main(['jobs'])\nprint(len(sys.modules), file=sys.stderr)"
)


def run(argv: list[str]) -> dict[str, Any]:
    """Each command line many times, one after the other."""
    parser = argparse.ArgumentParser(prog="bench cli")
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args(argv)
    entry = [sys.executable, "-c", "import sys; from xcecli.main import main; sys.exit(main())"]
    with service() as running:
        env = {**os.environ, "XCE_HOME": str(running.home)}
        env.pop("XCE_URL", None)
        lines = {
            "python": [sys.executable, "-c", "pass"],
            "submit": [*entry, "submit", "-n", "2", "sleep", "60"],
            "jobs": [*entry, "jobs", "--limit", "10"],
            "kill": [*entry, "kill", "1"],
            "job": [*entry, "job", "1"],
            "help": [*entry, "--help"],
        }
        figures: dict[str, Any] = {
            name: _timed(line, args.runs, env) for name, line in lines.items()
        }
        counted = subprocess.run(
            [sys.executable, "-c", _COUNT], env=env, capture_output=True, text=True, check=True
        )
        figures["modules"] = int(counted.stderr.split()[-1])
        read_back = durability(running.socket_path)
    return {
        "name": "cli",
        "figures": figures,
        "setting": {"runs": args.runs, "python": sys.version.split()[0]},
        "durability": read_back,
    }


def _timed(line: list[str], runs: int, env: dict[str, str]) -> dict[str, float]:
    """Milliseconds of whole processes; the first run fills the caches and does not count."""
    took = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(line, env=env, capture_output=True, check=False)
        took.append((time.perf_counter() - began) * 1000)
    times = sorted(took[1:])
    return {
        "min_ms": round(times[0], 1),
        "p50_ms": round(percentile(times, 0.5), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
    }
