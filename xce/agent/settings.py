"""How an agent is started: its host, its home, its controllers, and what it may do.

Everything on disk is under `HOME/hosts/NAME/`: the journals, the supervisor's socket, scripts,
scratch. The folder is closed to other users, except that a root agent lets its job users pass
through to the scratch directories they own.
"""

import os

from msgspec import Struct

SECOND_US = 1_000_000


class Reporter(Struct, frozen=True, kw_only=True):
    """A program that reports values, by LSF's ELIM lines or JSON lines. `hosts` is read as those
    of a pool; `timeout_us` 0 is three intervals."""

    name: str
    command: tuple[str, ...]
    types: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("all",)
    interval_us: int = 15 * SECOND_US
    timeout_us: int = 0

    def runs_on(self, host: str) -> bool:
        """Whether a host's agent is to run it."""
        if f"~{host}" in self.hosts:
            return False
        return (
            host in self.hosts
            or "all" in self.hosts
            or all(one.startswith("~") for one in self.hosts)
        )


class AgentConfig(Struct, frozen=True, kw_only=True):
    """An agent's settings. `controllers` are http://HOST:PORT or unix:/PATH, tried in turn.

    `cgroup`: auto, v2, v1 or none. `on_leave`: `keep` leaves launches running when the agent is
    told to stop, `stop` brings them down first. `exec_providers` names providers that are
    executables of the site, by their argument vectors. `clone_wait_s`: how long it asks again when
    another agent of its name is heard, which may be its own of before a reboot. `reporters` are
    run beside the built-in load indices, which are sampled unless `load_interval_us` is 0.
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
    reporters: tuple[Reporter, ...] = ()
    load_interval_us: int = 15 * SECOND_US
    poll_wait_ms: int = 5_000
    retry_first_s: float = 0.05
    retry_cap_s: float = 2.0
    clone_wait_s: float = 30.0

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
