"""`directory`: a directory of its own for each (claim, generation), owned by the claim's user.

It is `SCRATCH/c<claim>-<generation>`, mode 0700. Release moves it aside and wipes it, unless the
parameter `reclaim=retain` says that its content stays. At the agent's start directories that
belong to no known claim are wiped, except retained ones, which carry the suffix `.kept`.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterable

from xce.providers.contract import Place, Provider, ProviderFailed, Request

_OURS = re.compile(r"c(\d+)-(\d+)\Z")
_GONE = ".gone"
_KEPT = ".kept"


class DirectoryProvider(Provider):
    """Directories under the host's scratch folder."""

    name = "directory"

    def __init__(self, place: Place) -> None:
        self._scratch = place.scratch

    def _path(self, request: Request) -> str:
        return os.path.join(self._scratch, f"c{request.claim}-{request.generation}")

    def provision(self, request: Request) -> str:
        """Make the directory; its path is the value."""
        path = self._path(request)
        try:
            os.makedirs(self._scratch, mode=0o711, exist_ok=True)
            if not os.path.isdir(path):
                os.mkdir(path, 0o700)
            if request.uid >= 0 and os.geteuid() == 0:
                os.chown(path, request.uid, -1, follow_symlinks=False)
            os.chmod(path, 0o700)
        except OSError as error:
            raise ProviderFailed(f"directory {path}: {error.strerror}") from error
        return path

    def check(self, request: Request) -> str:
        """The path while the directory is there."""
        path = self._path(request)
        if not os.path.isdir(path):
            raise ProviderFailed(f"directory {path} is gone")
        return path

    def release(self, request: Request) -> None:
        """Wipe the directory, or set it aside when its content is to be retained."""
        path = self._path(request)
        try:
            if request.parameters.get("reclaim") == "retain":
                if os.path.lexists(path):
                    os.rename(path, path + _KEPT)
            else:
                self._move_aside(path)
                if os.path.lexists(path + _GONE):
                    shutil.rmtree(path + _GONE)
        except OSError as error:
            raise ProviderFailed(f"directory {path} cannot be wiped: {error}") from error

    def _move_aside(self, path: str) -> None:
        """Before wiping: what is half wiped never looks like a good directory."""
        if os.path.lexists(path):
            if os.path.lexists(path + _GONE):
                shutil.rmtree(path + _GONE)
            os.rename(path, path + _GONE)

    def clean(self, known: Iterable[tuple[int, int]]) -> None:
        """Move aside what no known claim owns, and have it wiped while the agent goes on."""
        if not os.path.isdir(self._scratch):
            return
        names = {f"c{claim}-{generation}" for claim, generation in known}
        for name in sorted(os.listdir(self._scratch)):
            if _OURS.match(name) is not None and name not in names:
                self._move_aside(os.path.join(self._scratch, name))
        gone = [name for name in os.listdir(self._scratch) if name.endswith(_GONE)]
        if gone:
            threading.Thread(target=self._wipe, args=(gone,), name="wipe", daemon=True).start()

    def _wipe(self, names: list[str]) -> None:
        for name in names:
            shutil.rmtree(os.path.join(self._scratch, name), ignore_errors=True)
