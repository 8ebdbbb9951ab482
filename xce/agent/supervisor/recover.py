"""What a new supervisor makes of the journal of the one before it.

A launch with an outcome is as it was. One without: after a reboot nothing of it runs; else its
leftovers are killed first. Started means lost with `ran=yes`, because its exit was seen by nobody;
not started means aborted, because parked processes never run on their own. Nothing is started
again, ever. Control groups and files that no unfinished launch owns are removed.
"""

import contextlib
import os

from xce.agent.supervisor.core import Core
from xce.agent.supervisor.endings import now_us
from xce.agent.supervisor.launch import Launch, lost, unstarted
from xce.agent.supervisor.ledger import Ledger, Page
from xce.agent.supervisor.processes.tree import Orphans


def recover(core: Core, boot_id: str) -> None:
    """Bring every unfinished launch of the journal to its end."""
    ledger = core.ledger
    unfinished = [page for page in ledger.pages.values() if page.outcome is None]
    rebooted = ledger.boot_id not in ("", boot_id)
    if ledger.boot_id != boot_id:
        ledger.note_boot(boot_id)
    names = {f"{page.launch}.{page.generation}" for page in unfinished}
    for name in core.cgroups.found():
        if rebooted or name not in names:
            group = core.cgroups.adopt(name)
            group.kill()
            group.remove()
    _sweep(core.file_folder, set() if rebooted else names)
    if rebooted:
        for page in unfinished:
            _end_by_reboot(ledger, page)
        return
    for page in unfinished:
        core.endings.take_over(_orphaned(core, page))


def _sweep(folder: str, names: set[str]) -> None:
    for path, owner in _files(folder):
        if owner not in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _files(folder: str) -> list[tuple[str, str]]:
    """Paths and the launches they were written for: `LAUNCH.GENERATION.WHAT`."""
    return [(f"{folder}/{name}", name.rpartition(".")[0]) for name in sorted(os.listdir(folder))]


def _end_by_reboot(ledger: Ledger, page: Page) -> None:
    why = "the host was booted again"
    if page.started_us:
        outcome = lost("reboot", why, "yes", now_us(), page.started_us)
    else:
        outcome = unstarted("reboot", why, now_us())
    ledger.note_exited(page.launch, page.generation, outcome)


def _orphaned(core: Core, page: Page) -> Launch:
    name = f"{page.launch}.{page.generation}"
    tree = Orphans(f"{core.ledger.host_key}:{name}", core.cgroups.adopt(name))
    live = Launch(page.launch, page.generation, tree)
    live.paths = [path for path, owner in _files(core.file_folder) if owner == name]
    live.started_us, live.is_recovered = page.started_us, True
    live.cause, live.message = "supervisor_died", "the host's supervisor died and was started again"
    return live
