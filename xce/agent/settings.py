"""How an agent is started: its host, its home, its controllers, and what it may do.

Everything on disk is under `HOME/hosts/NAME/`: the journals, the supervisor's socket, scripts,
scratch. The folder is closed to other users, except that a root agent lets its job users pass
through to the scratch directories they own.
"""

import os

from msgspec import Struct


class AgentConfig(Struct, frozen=True, kw_only=True):
    """An agent's settings. `controllers` are http://HOST:PORT or unix:/PATH, tried in turn.

    `cgroup`: auto, v2, v1 or none. `on_leave`: `keep` leaves launches running when the agent is
    told to stop, `stop` brings them down first. `exec_providers` names providers that are
    executables of the site, by their argument vectors.
    """

    host: str
    home: str
    controllers: tuple[str, ...]
    token_file: str = ""
    facts_file: str = ""
    cgroup: str = "auto"
    allow_root: bool = False
    on_leave: str = "keep"
    boot_id: str = ""
    exec_providers: dict[str, tuple[str, ...]] = {}
    poll_wait_ms: int = 5_000
    retry_first_s: float = 0.05
    retry_cap_s: float = 2.0

    @property
    def folder(self) -> str:
        """This host's folder."""
        return os.path.join(os.path.abspath(self.home), "hosts", self.host)


def make_folder(config: AgentConfig) -> str:
    """The host's folder, made when it is not there."""
    mode = 0o711 if os.geteuid() == 0 else 0o700
    os.makedirs(config.folder, exist_ok=True)
    os.chmod(config.folder, mode)
    return config.folder
