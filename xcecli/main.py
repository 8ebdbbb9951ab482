"""The entry point of `xcecli`: the fast path where it can, else the click tree.

Every failure ends here in one message on stderr and an exit code; nothing shows a stack trace.
"""

from __future__ import annotations

import os
import sys

from xcecli import fast
from xcecli.say import INTERRUPTED, OK, Failure, tell_failure


def main(argv: list[str] | None = None) -> int:
    """Run one command line; its exit code."""
    words = sys.argv[1:] if argv is None else argv
    try:
        code = fast.run(words)
        if code is None:
            from xcecli.tree import run

            code = run(words)
        sys.stdout.flush()
    except Failure as failure:
        tell_failure(failure)
        return failure.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say, also not at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return code


if __name__ == "__main__":
    sys.exit(main())
