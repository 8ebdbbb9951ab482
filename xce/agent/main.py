"""How an agent process begins and ends.

One agent per host folder, by a lock; a second one says who holds it and leaves. SIGTERM and SIGINT
end the agent: launches go on under the supervisor, unless the settings say that they are to be
stopped. Exit codes: 0 told to stop, 1 cannot work here, 7 the controller will not have it.
"""

import fcntl
import os
import signal
import sys
import types

from xce.agent.attachments import Attachment, Keeper
from xce.agent.facts import FactsWrong, read_facts, real_facts
from xce.agent.link import Refused
from xce.agent.reporters.watch import Reporting
from xce.agent.runtime import EXIT_REFUSED, EXIT_WRONG, Agent
from xce.agent.settings import AgentConfig, make_folder
from xce.agent.supervised import SupervisorLost
from xce.agent.supervisor.journal import JournalDamaged
from xce.agent.supervisor.kernel import boot_id
from xce.model.host import HostFacts
from xce.providers.contract import Place, ProviderFailed
from xce.providers.registry import make_providers

LEAVE_S, LAST_REPORTS_S, REPORTERS_S = 60.0, 2.0, 6.0


class CannotRun(Exception):
    """The agent cannot work here; the text says why."""


def _lock(folder: str) -> int:
    handle = os.open(f"{folder}/agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 32).decode().strip() or "another process"
        raise CannotRun(f"an agent of this host runs already: process {holder}") from None
    # Always of one length and never empty: somebody may read it now to know whom to signal.
    os.pwrite(handle, f"{os.getpid():<10}\n".encode(), 0)
    return handle


def _token(config: AgentConfig) -> str:
    if not config.token_file:
        return ""
    with open(config.token_file, encoding="utf-8") as source:
        return source.read().strip()


def _facts(config: AgentConfig) -> HostFacts:
    return read_facts(config.facts_file, config.host) if config.facts_file else real_facts()


def _begin(config: AgentConfig) -> tuple[Agent, int]:
    folder = make_folder(config)
    lock = _lock(folder)
    facts = _facts(config)
    agent = Agent(config, facts, config.boot_id or boot_id(), _token(config))

    def tell(one: Attachment) -> None:
        agent.tidings.tell_attachment(one)

    place = Place(scratch=f"{folder}/scratch", address=facts.address)
    providers = make_providers(place, config.exec_providers)
    agent.begin(Keeper(f"{folder}/attachments", providers, tell))
    return agent, lock


def run_agent(config: AgentConfig) -> int:
    """Run until told to stop; the exit code."""
    try:
        agent, lock = _begin(config)
    except (CannotRun, FactsWrong, JournalDamaged, ProviderFailed, SupervisorLost) as error:
        return _say(config, str(error), EXIT_WRONG)
    except Refused as error:
        return _say(config, str(error), EXIT_REFUSED)
    except OSError as error:
        return _say(config, f"{error.filename or config.folder}: {error.strerror}", EXIT_WRONG)

    def told(_number: int, _frame: types.FrameType | None) -> None:
        agent.end("", 0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)
    reporting = Reporting(agent.board, lambda line: _tell(config, line))
    reporting.start(config.host, config.reporters, config.load_interval_us)
    why, code = agent.wait()
    reporting.stop(REPORTERS_S)
    drain = config.on_leave == "stop"
    agent.supervised.leave(drain=drain)
    if drain:
        agent.supervised.wait_gone(LEAVE_S)
        agent.outbox.await_empty(LAST_REPORTS_S)
    os.close(lock)
    return _say(config, why, code) if why else code


def _say(config: AgentConfig, why: str, code: int) -> int:
    _tell(config, why)
    return code


def _tell(config: AgentConfig, line: str) -> None:
    print(f"xce agent {config.host}: {line}", file=sys.stderr, flush=True)
