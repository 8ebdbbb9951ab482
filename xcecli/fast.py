"""The fast path: `submit`, `jobs` and `kill` without click, in a few tens of milliseconds.

It takes a command line that it understands whole and does the work; everything else (help, a
misspelt option, completion, any other command) is click's. Standard library only, and little of
it: a test counts the imported modules.
"""

from __future__ import annotations

import os

from xcecli.options import FAST, parse


def run(argv: list[str]) -> int | None:
    """The exit code, None when the line is not for the fast path."""
    if not argv or argv[0] not in FAST or "_XCECLI_COMPLETE" in os.environ:
        return None
    parsed = parse(FAST[argv[0]], argv[1:])
    if parsed is None and argv[0] == "submit" and "--help" not in argv:
        from xcecli.line.bsub import read_line

        parsed = read_line(argv[1:])
    if parsed is None:
        return None
    from xcecli import doing

    if argv[0] == "jobs":
        from xcecli.line import listing

        return listing.jobs(*parsed)
    return (doing.submit if argv[0] == "submit" else doing.kill)(*parsed)
