"""A job in full, as `xcecli job` and `xcecli jobs -l` print it. Standard library only."""

from __future__ import annotations

from xcecli import say
from xcecli.doing import hosts_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HELD = "The job was suspended while pending; `xcecli resume` lets it go"


_TERM = {
    "run_limit": " TERM_RUNLIMIT: job killed after reaching its run limit.",
    "deadline": " TERM_DEADLINE: job killed after reaching its termination time.",
}


def job_lines(told: dict[str, Any]) -> list[str]:
    """What there is to say of one job, or of an array."""
    if "array" in told:
        return array_lines(told)
    what = " ".join(told["command"]) if told["command"] else "a script"
    lines = [
        (
            f"Job <{told['id']}>, Job Name <{told['name']}>, User <{told['user']}>, "
            f"Status <{told['stat']}>, Queue <{told['queue']}>, "
            f"Job Priority <{told['priority']}>, Command <{what}>"
        ),
        (
            f"{say.exactly(told['submit_us'])}: Submitted, CWD <{told['cwd']}>, "
            f"Output File <{told['stdout']}>, {tasks_text(told)} Task(s)"
        ),
    ]
    if told.get("application"):
        lines.append(f"  Application <{told['application']}>")
    lines += [f"  {text}" for text in _asked(told)]
    if told["resreq"]:
        lines.append(f"  Requested Resources <{told['resreq']}>")
    lines += dependency_lines(told.get("dependency"))
    if told["group"]:
        lines.append(f"  Member {told['rank']} of role {told['role']} of gang {told['group']}")
    if told["hosts"]:
        lines.append(f"  On Host(s) <{hosts_text(told['hosts'])}>, attempt {told['attempt']}")
    if told["started_us"]:
        lines.append(f"{say.exactly(told['started_us'])}: Started")
    if told.get("suspended_since_us") and not told["ended_us"]:
        lines.append(f"{say.exactly(told['suspended_since_us'])}: {suspended_text(told)}")
    if told["ended_us"]:
        lines.append(f"{say.exactly(told['ended_us'])}: {_end_text(told)}")
    if told["last_failure"]:
        again = told["last_failure"].startswith(("requeued", "rerun"))
        what = "Last attempt" if again else "Last failed start"
        lines.append(f"  {what}: {told['last_failure']}")
    if told.get("stop_after_us"):
        seconds = told["stop_after_us"] // 1_000_000
        lines.append(f"  Stopped by its host when that is cut off for {seconds} s")
    if told.get("silence"):
        lines.append(f"  {told['silence']['text']}")
    why = waiting_lines(told, told.get("reason"), told.get("expected"))
    title = " SUSPENDING REASONS:" if told.get("suspended_since_us") else " PENDING REASONS:"
    return [*lines, title, *why] if why else lines


def tasks_text(told: dict[str, Any]) -> str:
    """`4`, `from 2 to 8`, or `6 (of 2 to 8)` once it was granted that many."""
    if not told.get("tasks_max"):
        return str(told["tasks"])
    asked = f"{told['tasks_least']} to {told['tasks_max']}"
    return f"{told['tasks']} (of {asked})" if told["hosts"] else f"from {asked}"


def suspended_text(told: dict[str, Any]) -> str:
    """Who suspended a job or a gang, and whether it was asked to go on."""
    who = {"user": "user", "operator": "administrator"}.get(told["suspended_by"], "the system")
    why = f" ({told['suspend_why']})" if told.get("suspend_why") else ""
    then = "; it was asked to go on" if told.get("resume_asked_us") else ""
    return f"Suspended by {who}{why}{then}"


def array_lines(told: dict[str, Any]) -> list[str]:
    """What there is to say of one array."""
    what = " ".join(told["command"]) if told["command"] else "a script"
    counts = ", ".join(f"{count} {stat}" for stat, count in told["stats"].items())
    limit = f"; {told['limit']} may run at once" if told["limit"] else ""
    lines = [
        (
            f"Job <{told['id']}>, Job Name <{told['name']}{told['array']}>, User <{told['user']}>, "
            f"Queue <{told['queue']}>, Job Priority <{told['priority']}>, Command <{what}>"
        ),
        (
            f"{say.exactly(told['submit_us'])}: Submitted, CWD <{told['cwd']}>, "
            f"Output File <{told['stdout']}>, {told['tasks']} Task(s)"
        ),
        f"  {told['elements']} elements: {counts}{limit}",
    ]
    if told["resreq"]:
        lines.append(f"  Requested Resources <{told['resreq']}>")
    if told["ended_us"]:
        lines.append(f"{say.exactly(told['ended_us'])}: The last element ended.")
    why = waiting_lines(told, told.get("reason"), told.get("expected"))
    return [*lines, " PENDING REASONS:", *why] if why else lines


def _asked(told: dict[str, Any]) -> list[str]:
    """What was asked for beside the place: project, limits and times."""
    found = [
        f"{text} <{told[field]}>"
        for field, text in (
            ("job_group", "Job Group"),
            ("project", "Project"),
            ("reservation", "Reservation"),
            ("description", "Job Description"),
        )
        if told.get(field)
    ]
    if told.get("rerunnable"):
        found.append("Re-runnable")
    if told.get("requeue_exits"):
        found.append(f"Requeue Exit Values <{told['requeue_exits']}>")
    if told.get("avoid"):
        found.append(f"Not on Host(s) <{' '.join(told['avoid'])}>, where it ended so before")
    for field, text in (("run_limit_us", "RUNLIMIT"), ("run_estimate_us", "ESTIMATED RUN TIME")):
        if told.get(field):
            found.append(f"{text} {told[field] / 60_000_000:.1f} min")
    for field, text in (("begin_us", "Start Time"), ("terminate_us", "Termination Time")):
        if told.get(field):
            found.append(f"Specified {text} <{say.exactly(told[field])[:19]}>")
    return found


def dependency_lines(told: dict[str, Any] | None) -> list[str]:
    """What a job waits for, and how each part of it stands."""
    if not told:
        return []
    met = f", met at {say.exactly(told['met_us'])}" if told["met_us"] else ""
    lines = [f"  Dependency Condition <{told['text']}>{met}"]
    return [*lines, *condition_lines(told)] if not met else lines


def condition_lines(told: dict[str, Any]) -> list[str]:
    """Each condition with what is known of it."""
    lines = []
    for one in told["conditions"]:
        why = f" ({one['why']})" if one["why"] else ""
        lines.append(f"    {one['text']}: {one['verdict']}{why}")
    return lines


def waiting_lines(
    told: dict[str, Any],
    reason: dict[str, Any] | None,
    expected: dict[str, Any] | None = None,
    position: dict[str, Any] | None = None,
) -> list[str]:
    """Why a job or a gang waits, where it stands, and when it is expected to begin, as far as
    that is known."""
    if told["state"] == "HELD":
        return [f"  {HELD}"]
    if reason is None:
        return []
    lines = [f"  {reason['text']}"]
    if reason["hosts_text"]:
        lines.append(f"  hosts: {reason['hosts_text']}")
    if told.get("tasks_max"):
        lines.append(f"  takes {tasks_text(told)} tasks: it starts with as many as fit")
    if position:
        whose = " of its share" if position["account"] else ""
        lines.append(f"  in the order: {position['ahead']} before it, {position['of']} wait{whose}")
    return lines + ([f"  {expected_line(expected)}"] if expected else [])


HOSTS_SHOWN = 8


def expected_line(expected: dict[str, Any]) -> str:
    """`expected to start at Mon Nov 30 07:25:00 2026 on n1 n2 (reserved)`."""
    hosts = expected["hosts"]
    more = f" and {len(hosts) - HOSTS_SHOWN} more" if len(hosts) > HOSTS_SHOWN else ""
    where = " ".join(hosts[:HOSTS_SHOWN]) + more
    line = f"expected to start at {say.exactly(expected['at_us'])} on {where}"
    if expected["reserved"]:
        line += " (reserved)"
    if expected["cause"]:
        line += f"; it was moved: {expected['cause']}"
    return line


def ended_lines(told: dict[str, Any]) -> list[str]:
    """How a job or a gang ended, as far as the answer says it."""
    if not told.get("ended_us"):
        return []
    how = _end_text(told) if "exit" in told else ""
    return [f"  {say.exactly(told['ended_us'])}: {how or 'Ended.'}"]


def _end_text(told: dict[str, Any]) -> str:
    ended = told["exit"] or {}
    if told["state"] == "DONE":
        return "Done successfully."
    why = _TERM.get(ended.get("reason") or "", "")
    if ended.get("how") == "exited":
        return f"Exited with exit code {ended['code']}.{why}"
    if ended.get("how") == "signalled":
        return f"Exited by signal {ended['code']}.{why}"
    return f"Ended without a code: {ended.get('reason') or 'not known'}.{why}"
