"""What hosts report: armed, started, ended, attachments, readiness, reconciliation.

Reports come at least once and in any order across connections. What repeats or comes late is
ignored by the tables; what does not fit is written down as refused and closes the host. An old
incarnation is told to register again and nothing of it is taken.

A reboot proves that nothing of before runs, but the host's journal may know how it ended. So the
order is: the new boot registers (nothing is concluded), its outcomes are taken one by one and win,
its list ends all that is left. Of that, what was never let go is aborted; what may have run without
anybody knowing is lost, is never run again by itself, and is for its gang's rules to judge.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.hosts import (
    clear_sound,
    lost_facts,
    open_starts,
    prove_dead,
    speaks_for,
)
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import end_launch, lose_claim
from xce.controller.core.life.missing import launch_name
from xce.controller.core.life.starts import (
    count_ready,
    fail_start,
    judge,
    launch_begun,
)
from xce.controller.core.life.suspending import settle_suspension
from xce.dispatch import protocol as p
from xce.model.host import Host
from xce.model.ids import claim_text, group_text, host_ref, job_text
from xce.model.machine import IllegalTransition
from xce.model.records import (
    AttachmentReported,
    HostChanged,
    HostReconciled,
    JobChanged,
    LaunchArmed,
    LaunchEnded,
    LaunchFrozen,
    LaunchStarted,
    ReportRefused,
)
from xce.model.start import Attachment, Launch
from xce.model.tables import ATTACHMENT, LAUNCH, LIVE_LAUNCH

Answer = tuple[dict[str, Any], dict[str, bytes]]
TAKEN: Answer = ({"taken": True}, {})
_HOW_EVENT = {"exited": "exit", "signalled": "exit", "aborted": "abort", "lost": "lose"}


def take_report(draft: Draft, command: c.TakeReport) -> c.Rejection | Answer:
    """One report of one host."""
    refused = speaks_for(command.actor, command.host)
    if refused is not None:
        return refused
    host = draft.state.hosts.get(command.host)
    if host is None or host.incarnation != command.incarnation:
        return {"taken": False, "register": True}, {}
    report = command.report
    try:
        match report:
            case p.Armed():
                _armed(draft, command.host, report)
            case p.Started():
                _started(draft, command.host, report)
            case p.Ended():
                _ended(draft, command.host, report)
            case p.AttachmentResult():
                _attachment(draft, command.host, report)
            case p.Probed():
                _probed(draft, command.host, report)
            case p.Unkillable():
                _unkillable(draft, command.host, report)
            case p.Frozen():
                _frozen(draft, command.host, report)
            case p.Reconciled():
                _reconciled(draft, command.host, report)
    except Misfit as misfit:
        _refuse(draft, command.host, type(report).__name__, str(misfit))
    return TAKEN


class Misfit(Exception):
    """A report that no order of events explains; raised before anything is written."""


def _refuse(draft: Draft, host: str, report: str, why: str) -> None:
    draft.open(ReportRefused(host=host, report=report, why=why), [host_ref(host)])
    draft.fire("admin", host, "close", admin_why=f"refused report: {why}")


_OfLaunch = p.Armed | p.Started | p.Ended | p.Probed | p.Frozen | p.Unkillable


def _launch(state: State, host: str, report: _OfLaunch) -> Launch | None:
    """The launch a report is about; None when it is retired and the report can be forgotten."""
    number = report.launch
    launch = state.launches.get(number)
    if launch is None:
        if number > state.last("launch"):
            raise Misfit(f"launch {number} was never planned")
        return None
    if launch.host != host:
        raise Misfit(f"launch {number} is on {launch.host}")
    if report.generation != launch.generation:
        raise Misfit(
            f"launch {number} has generation {launch.generation}, not {report.generation}: "
            "the report is of another history"
        )
    return launch


def _moves(launch: Launch, event: str) -> bool:
    try:
        return LAUNCH.next(launch.state, event) is not None
    except IllegalTransition as error:
        raise Misfit(str(error)) from error


def _names(state: State, launch: Launch) -> list[str]:
    job = state.jobs[launch.job]
    return [job_text(job.key), *([group_text(job.group)] if job.group else [])]


def _armed(draft: Draft, host: str, report: p.Armed) -> None:
    launch = _launch(draft.state, host, report)
    if launch is None or not _moves(launch, "arm"):
        return
    facts = LaunchArmed(launch=launch.number, start=launch.start)
    draft.open(facts, _names(draft.state, launch))
    draft.fire("launch", launch.number, "arm")
    start = draft.state.starts[launch.start]
    draft.patch("start", start.number, armed=start.armed + 1)
    judge(draft, start.number)


def _started(draft: Draft, host: str, report: p.Started) -> None:
    launch = _launch(draft.state, host, report)
    if launch is None:
        return
    if not launch.go:
        raise Misfit(f"launch {launch.number} was started before its start passed")
    if not _moves(launch, "start"):
        return
    facts = LaunchStarted(launch=launch.number, started_us=report.at_us)
    draft.open(facts, _names(draft.state, launch))
    draft.fire("launch", launch.number, "start", started_us=report.at_us)
    launch_begun(draft, launch)


def _ended(draft: Draft, host: str, report: p.Ended) -> None:
    launch = _launch(draft.state, host, report)
    if launch is None:
        return
    event = _HOW_EVENT.get(report.how)
    if event is None:
        raise Misfit(f"launch {launch.number}: the end {report.how!r} is unknown")
    if not launch.go and (report.ran != "no" or event == "exit"):
        raise Misfit(f"launch {launch.number} ran before its start passed")
    if not _moves(launch, event):
        return
    facts = LaunchEnded(
        launch=launch.number,
        how=report.how,
        code=report.code,
        cause_of_end=report.cause_of_end,
        message=report.message,
        evidence=report.evidence,
        ran=report.ran,
        started_us=report.started_us,
        ended_us=report.ended_us,
        cpu_us=report.cpu_us,
        max_rss_bytes=report.max_rss_bytes,
    )
    end_launch(draft, facts, host)


def _probed(draft: Draft, host: str, report: p.Probed) -> None:
    """It may overtake `started`; it is not sent again, so it counts from the go on."""
    state = draft.state
    launch = _launch(state, host, report)
    if launch is None or launch.state not in LIVE_LAUNCH or launch.probed:
        return
    if not launch.go:
        raise Misfit(f"launch {launch.number} was ready before its start passed")
    draft.open(JobChanged(job=launch.job, field="ready", new="yes"), _names(state, launch))
    draft.patch("launch", launch.number, probed=True)
    if launch.processes:
        count_ready(draft, launch.start, state.jobs[launch.job], "port")


def _unkillable(draft: Draft, host: str, report: p.Unkillable) -> None:
    """A process outlives SIGKILL: what it was granted stays taken, and the host, of which nobody
    knows what else it cannot do, takes no new work until a person opens it."""
    state = draft.state
    launch = _launch(state, host, report)
    if launch is None or launch.state not in LIVE_LAUNCH or launch.unkillable:
        return
    what = launch_name(state, launch)
    job = state.jobs[launch.job]
    where = f"{what} of {group_text(job.group)}" if job.group else what
    told = f" ({report.message})" if report.message else ""
    why = (
        f"{where} cannot be killed{told}; what it was granted stays taken; open the host by hand "
        f"(xce host open {host}) once it is gone"
    )
    facts = HostChanged(host=host, event="close", why=why)
    draft.open(facts, [host_ref(host), *_names(state, launch)])
    draft.patch("launch", launch.number, unkillable=True)
    if not draft.fire("admin", host, "close", admin_why=why):
        draft.patch("host", host, admin_why=why)


def _frozen(draft: Draft, host: str, report: p.Frozen) -> None:
    """Only the last that was asked is of interest: what was asked before is over."""
    state = draft.state
    launch = _launch(state, host, report)
    if launch is None or launch.state not in LIVE_LAUNCH or launch.state == "STOPPING":
        return
    if report.freeze > launch.freeze:
        raise Misfit(f"launch {launch.number} was frozen and nobody had asked")
    if report.freeze < launch.freeze or launch.frozen == launch.freeze:
        return
    facts = LaunchFrozen(launch=launch.number, freeze=report.freeze)
    draft.open(facts, _names(state, launch))
    draft.patch("launch", launch.number, frozen=report.freeze)
    settle_suspension(draft, launch.job)


def _attachment_of(state: State, report: p.AttachmentResult) -> Attachment | None:
    """The attachment a report is about; None when it is retired and the report can be forgotten."""
    found = state.attachments.get(report.attachment)
    if found is None:
        if report.attachment > state.last("attachment"):
            raise Misfit(f"attachment {report.attachment} was never planned")
        return None
    granted = state.claims[found.claim].generation
    if report.generation != granted:
        raise Misfit(
            f"attachment {found.number} has generation {granted}, not {report.generation}: "
            "the report is of another history"
        )
    return found


def _attachment(draft: Draft, host: str, report: p.AttachmentResult) -> None:
    state = draft.state
    found = _attachment_of(state, report)
    if found is None:
        return
    event = {"ready": "provide", "failed": "fail", "released": "free"}.get(report.outcome)
    if event is None:
        raise Misfit(f"attachment outcome {report.outcome!r} is unknown")
    if found.host != host or not ATTACHMENT.legal(found.state, event):
        return
    facts = AttachmentReported(
        attachment=found.number,
        outcome=report.outcome,
        value=report.value,
        message=report.message,
    )
    draft.open(facts, [claim_text(found.claim), host_ref(host)])
    fields = {"value": report.value} if event == "provide" else {"message": report.message}
    sound = _instances_at(state, found) if event == "free" else []
    draft.fire("attachment", found.number, event, **fields)
    for key in sound:
        draft.fire("instance", key, "clear", why="")
    start = state.starts.get(found.start)
    if start is None or start.state != "OPEN":
        claim = state.claims[found.claim]
        if claim.state == "FAILED" and (start is not None or claim.stands_alone):
            lose_claim(draft, found.claim)
        return
    if event == "provide":
        draft.patch("start", start.number, ready=start.ready + 1)
        judge(draft, start.number)
    else:
        claim = state.claims[found.claim]
        told = report.message or report.outcome
        culprit = f"claim {claim.name} ({claim_text(claim.number)}) on {host}: {told}"
        fail_start(draft, start.number, "attachment_failed", (culprit,))


def _instances_at(state: State, attachment: Attachment) -> list[str]:
    """Quarantined instances of the claim: once its provider took it down they are sound again."""
    return [
        holding.instance
        for holding in state.claims[attachment.claim].holdings
        if holding.host == attachment.host
        and holding.instance in state.instances
        and state.instances[holding.instance].state == "QUARANTINED"
    ]


# -- reconciliation -------------------------------------------------------------------------------


def _reconciled(draft: Draft, name: str, report: p.Reconciled) -> None:
    """Everything alive on the host: what had been ARMED or RUNNING and is not listed is gone."""
    state = draft.state
    host = state.hosts[name]
    if host.liveness == "UP" or not _answers(host, report.question):
        return
    listed = {found.launch: found for found in report.launches}
    attached = {found.attachment: found for found in report.attachments}
    facts = HostReconciled(
        host=name,
        incarnation=host.incarnation,
        launches=tuple(sorted(listed)),
        attachments=tuple(sorted(attached)),
    )
    draft.open(facts, [host_ref(name)])
    draft.fire(
        "liveness", name, "reconcile", reconciled_epoch=state.epoch, question=0,
        changed_us=draft.now_us, why="", reconciled_boot=host.boot_id,
    )  # fmt: skip
    if host.reconciled_boot not in ("", host.boot_id):
        prove_dead(draft, name, "reboot", "boot_id")
        clear_sound(draft, name)
        return
    _compare_launches(draft, name, listed)
    _compare_attachments(draft, name, attached)
    if not set(attached) - set(state.index.live_attachments.get(name, {})):
        clear_sound(draft, name)
    for number in open_starts(state, name):
        judge(draft, number)


def _answers(host: Host, question: int) -> bool:
    """Whether a list is about now: a repeated one says too little and would prove newer launches
    gone. 0 names the question that the registration itself was, while nothing happened since."""
    if not host.question:
        return False
    if question:
        return question == host.question
    return host.liveness == "JOINING" and host.changed_us == host.registered_us


def _compare_launches(draft: Draft, name: str, listed: dict[int, p.LaunchFound]) -> None:
    state = draft.state
    for number in sorted(state.index.live_launches.get(name, {})):
        launch = state.launches[number]
        found = listed.get(number)
        if found is not None and found.generation == launch.generation:
            if found.state == "armed" and launch.state == "PREPARING":
                armed = p.Armed(seq=0, launch=number, generation=launch.generation)
                _armed(draft, name, armed)
        elif launch.state in ("ARMED", "RUNNING"):
            end_launch(draft, lost_facts(launch, "not_listed", "reconciliation"), name)


def _compare_attachments(draft: Draft, name: str, attached: dict[int, p.AttachmentFound]) -> None:
    state = draft.state
    for number in sorted(state.index.live_attachments.get(name, {})):
        attachment = state.attachments[number]
        found = attached.get(number)
        if found is not None and found.generation != state.claims[attachment.claim].generation:
            found = None
        outcome = ""
        if found is not None and attachment.state == "PROVISIONING":
            outcome = {"ready": "ready", "failed": "failed"}.get(found.state, "")
        elif found is None and attachment.state == "READY":
            outcome = "failed"
        if outcome:
            result = p.AttachmentResult(
                seq=0,
                attachment=number,
                generation=state.claims[attachment.claim].generation,
                outcome=outcome,
                value=found.value if found else "",
                message="" if outcome == "ready" else "not listed by its host any more",
            )
            _attachment(draft, name, result)


__all__ = ["Misfit", "take_report"]
