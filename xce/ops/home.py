"""The home of a controller: where it is, and taking back what a failed first start made.

A home holds the log, the anchor, tokens, the socket and one folder per host that ran here. It is
`--home`, else XCE_HOME, else `./.xce`. A start that fails before anything was served leaves a
home as it found it: only files of a home that was not there, or was empty, are taken away.
"""

import os
import shutil
from pathlib import Path

ENV, DEFAULT = "XCE_HOME", ".xce"
SITE_FILE, SOCKET_FILE, AGENT_TOKEN_FILE = "xce.toml", "api.sock", "agent.token"
EXIT_FAILED, EXIT_REFUSED, EXIT_NOT_FOUND, EXIT_CONFLICT, EXIT_UNREACHABLE = 1, 3, 4, 5, 6
EXIT_BROKEN, EXIT_INTERRUPTED = 70, 130


def this_host() -> str:
    """What this machine calls itself."""
    return os.uname().nodename.partition(".")[0] or "localhost"


def default_home() -> Path:
    """XCE_HOME, else `.xce` below the current directory."""
    return Path(os.environ.get(ENV) or DEFAULT)


class Fresh:
    """What to take back when a first start fails."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._was_there = home.is_dir()
        self._is_fresh = not home.exists() or (self._was_there and _is_empty(home))

    def undo(self) -> None:
        """Remove what this start made; a home that was in use before stays as it is."""
        if not self._is_fresh or not self._home.is_dir():
            return
        for path in sorted(self._home.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if not self._was_there:
            self._home.rmdir()


def _is_empty(home: Path) -> bool:
    try:
        return not any(home.iterdir())
    except OSError:
        # A folder that cannot be read is nobody's to clear.
        return False


def holds_log(home: Path) -> bool:
    """Whether a controller ever had this home."""
    from xce.wal.open import HOLDER_FILE

    return (home / HOLDER_FILE).exists()


def write_whole(path: Path, text: str) -> None:
    """Replace a small file so that it is never seen half written."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)
