"""The entry point of `xcecli`: the fast path where it can, else the click tree.

Every failure ends here in one message on stderr and an exit code; nothing shows a stack trace.
"""

from __future__ import annotations

import os
import sys

from xcecli import fast
from xcecli.say import FAILED, INTERRUPTED, OK, Failure, tell_failure


def main(argv: list[str] | None = None) -> int:
    """Run one command line; its exit code."""
    words = sys.argv[1:] if argv is None else argv
    _streams()
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
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        tell_failure(Failure(what))
        return FAILED
    return code


def _streams() -> None:
    """Streams that were closed before we began are nothing; what a terminal's character set
    lacks is written as an escape."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - as long as the process
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
