"""Who is let in: a host whose journal is of this very log, under a name that nobody else has now.

A host's journal outlives agents, controllers and logs. When the log is a new one, or an older copy
that was brought back, a launch of another history would answer to the number of one of this log,
and a job would be DONE that never ran. So a host is only let in when its journal is of this log
and not ahead of it. Nor is it let in while another boot, or another journal, of the same name is
heard: its registration would prove the other's running work dead. A refusal changes nothing, is
no record, and names the cure. What was looked up or heard is in the command (`RegisterHost`).
"""

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State


def refuse(state: State, command: c.RegisterHost) -> c.Rejection | None:
    """Why a host is not let in now; None when it is."""
    return _of_another_log(state, command) or _cloned(state, command)


def _of_another_log(state: State, command: c.RegisterHost) -> c.Rejection | None:
    """A host whose journal is of another log, or knows of records that this log does not have."""
    host, lsn = command.host, command.anchor_lsn
    if command.own_log and command.log_id not in ("", command.own_log):
        code = "foreign_log"
        why = f"is of log {command.log_id[:8]}, and this is log {command.own_log[:8]}"
    elif command.anchor_at == c.BEYOND or command.epoch > state.epoch:
        code = "log_behind"
        why = (
            f"knows of record {lsn} and epoch {command.epoch}, and this log ends at record "
            f"{state.lsn} in epoch {state.epoch}: it is an older copy"
        )
    elif command.anchor_at not in ("", command.anchor_hash):
        code = "other_history"
        why = (
            f"knows record {lsn} by the hash {command.anchor_hash[:8]}, and this log has "
            f"{command.anchor_at[:8]} there: they went apart"
        )
    else:
        return None
    return c.Rejection(
        code=code,
        message=f"the journal of host {host} {why}",
        hint="bring back the log that the host knows; or, once nothing of it runs on the host any "
        f"more, move the folder hosts/{host} of the agent's home away and start the agent again",
    )


def _cloned(state: State, command: c.RegisterHost) -> c.Rejection | None:
    """Another machine, or another journal, of a host that is being heard."""
    known = state.hosts.get(command.host)
    if known is None or known.liveness == "GONE":
        return None
    if not 0 <= command.quiet_us <= state.config.suspect_after_us:
        return None
    if known.boot_id != command.boot_id:
        other = "boot"
    elif known.agent and command.agent not in ("", known.agent):
        other = "journal"
    else:
        return None
    return c.Rejection(
        code="cloned_identity",
        message=f"host {command.host} is registered from another {other}, which was heard "
        f"{command.quiet_us // 1_000_000} s ago: two agents go by this name",
        hint="give one of them another name (--host); a host that was just booted is let in once "
        f"its old boot was not heard for {state.config.suspect_after_us // 1_000_000} s",
    )
