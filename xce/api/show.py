"""How jobs, groups, claims and hosts are shown: bodies for answers, made from the state alone.

Ids are texts, times microseconds (`_us`), sizes bytes; what a time zone or a column width makes
of them is the client's business. `stat` is LSF's word for a state, derived and never stored:
STARTING is PROV until its go is committed, RUNNING is UNKWN while a host of it is down.
A `Shown` serves one answer and must not be kept: it reads the state it was given.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from xce.api.asks import user_name
from xce.api.claims.shown import standalone
from xce.api.ports import StateView
from xce.api.silence import silence
from xce.api.usage import suspended_stat
from xce.controller.core.depending.judge import told_of
from xce.controller.core.orders.wanted import expand, output_path
from xce.controller.core.time.estimate import Estimate
from xce.model.group import Group, GroupSpec
from xce.model.ids import claim_text, group_text, job_index, job_text
from xce.model.job import Job, Spec, exit_code
from xce.model.start import Allocation, Claim, Launch, Start
from xce.model.tables import ENDED_GROUP, ENDED_JOB
from xce.scheduler.reasons import PendReason, hosts_text

Body = dict[str, Any]

_STAT = {
    "PENDING": "PEND",
    "HELD": "PSUSP",
    "STARTING": "PROV",
    "RUNNING": "RUN",
    "FINISHED": "FIN",
    "ENDING": "RUN",
    "DONE": "DONE",
    "EXITED": "EXIT",
}


class Shown:
    """Bodies of one answer."""

    def __init__(self, state: StateView) -> None:
        self.state = state

    # -- jobs --------------------------------------------------------------------------------
    def stat(self, job: Job) -> str:
        """LSF's word for the job's state."""
        if job.state == "STARTING":
            return "RUN" if any(launch.go for launch in self.launches(job)) else "PROV"
        if job.state in ("RUNNING", "ENDING") and self._silent(job):
            return "ZOMBI" if job.state == "ENDING" and job.kill_reason else "UNKWN"
        if stat := suspended_stat(job):
            return stat
        return _STAT[job.state]

    def job(self, job: Job, spec: Spec | None = None) -> Body:
        """One job, whole."""
        spec = spec or self.state.specs[job.spec]
        stdout = _under(spec.cwd, output_path(spec, job))
        stderr = _under(spec.cwd, expand(spec.stderr, job))
        return {
            **self.job_line(job, spec),
            "index": job_index(job.key),
            "group": group_text(job.group) if job.group else None,
            "role": job.role or None,
            "rank": job.rank if job.group else None,
            "command": list(spec.command),
            "script": bool(spec.script),
            "cwd": spec.cwd,
            "stdin": _under(spec.cwd, expand(spec.stdin, job)) or None,
            "stdout": stdout,
            "stderr": stderr or stdout,
            "resreq": spec.resreq,
            "application": spec.application or None,
            "project": spec.project or None,
            "reservation": spec.reservation or None,
            "description": spec.description or None,
            "rerunnable": spec.rerunnable,
            "requeue_exits": spec.requeue_exits or None,
            "requeues": job.requeues,
            "requeue": job.requeue or None,
            "avoid": list(job.avoid),
            "run_limit_us": spec.run_limit_us or None,
            "run_estimate_us": spec.run_estimate_us or None,
            "begin_us": spec.begin_us or None,
            "terminate_us": spec.terminate_us or None,
            "job_group": spec.job_group or None,
            "dependency": told_of(self.state, job),
            "run": spec.run,
            "attempt": job.attempt,
            "start": job.start or None,
            "exit": None if job.exit is None else msgspec.to_builtins(job.exit),
            "kill_reason": job.kill_reason or None,
            "last_failure": job.last_failure or None,
            "not_before_us": job.not_before_us or None,
            "tasks_least": spec.tasks,
            "tasks_max": spec.tasks_max or None,
            "exclusive": spec.exclusive,
            "stop_after_us": spec.stop_after_us or None,
            "silence": silence(self.state, self.launches(job)),
            "suspension": job.suspension,
            "suspended_by": job.suspended_by or None,
            "suspend_why": job.suspend_why or None,
            "suspended_since_us": job.suspend_since_us or None,
            "suspended_us": job.suspended_us,
            "resume_asked_us": job.resume_us or None,
            "lent": self.lent(job),
        }

    def lent(self, job: Job) -> list[Body]:
        """What others may have while the job is suspended, host by host."""
        granted = self.allocation(job)
        return [
            {"host": one.host, "counters": dict(one.counters), "instances": list(one.instances)}
            for one in (granted.lent if granted is not None else ())
        ]

    def job_line(self, job: Job, spec: Spec | None = None) -> Body:
        """One job as lists show it."""
        spec = spec or self.state.specs[job.spec]
        return {
            "id": job_text(job.key),
            "name": job.name,
            "user": user_name(job.owner),
            "owner": job.owner,
            "queue": job.queue,
            "priority": job.priority,
            "state": job.state,
            "stat": self.stat(job),
            "group": group_text(job.group) if job.group else None,
            "tasks": self.tasks(job, spec),
            "hosts": self.hosts_of(job),
            "submit_us": job.submit_us,
            "started_us": job.started_us or None,
            "ended_us": job.ended_us or None,
            "exit_code": exit_code(job.exit),
            "ended_on": job.exit.host or None if job.exit else None,
        }

    def hosts_of(self, job: Job) -> list[Body]:
        """Where the job is, share by share."""
        granted = self.allocation(job)
        if granted is None:
            return []
        return [
            {"host": share.host, "tasks": share.tasks, "instances": list(share.instances)}
            for share in granted.shares
        ]

    def tasks(self, job: Job, spec: Spec) -> int:
        """Its tasks: those it was granted, or those that it asks for, at least."""
        granted = self.allocation(job) if spec.tasks_max else None
        return sum(share.tasks for share in granted.shares) if granted is not None else spec.tasks

    def allocation(self, job: Job) -> Allocation | None:
        """What the job has now."""
        return self.state.allocations.get(job.allocation) if job.allocation else None

    def launches(self, job: Job) -> list[Launch]:
        """The launches of the job's allocation."""
        granted = self.allocation(job)
        if granted is None:
            return []
        known = self.state.launches
        return [known[number] for number in granted.launches if number in known]

    def _all_launches(self, start: Start | None) -> list[Launch]:
        numbers = start.launches if start is not None else ()
        return [self.state.launches[one] for one in numbers if one in self.state.launches]

    def _silent(self, job: Job) -> bool:
        granted = self.allocation(job)
        hosts = self.state.hosts
        return granted is not None and any(
            share.host in hosts and hosts[share.host].liveness == "DOWN" for share in granted.shares
        )

    # -- groups ------------------------------------------------------------------------------
    def group(self, group: Group) -> Body:
        """One gang, with its newest start."""
        spec = self.state.group_specs[group.spec]
        start = self.state.starts.get(group.start)
        return {
            **self.group_line(group),
            "topology": msgspec.to_builtins(spec.topology),
            "verdict": group.verdict or None,
            "reason": group.reason or None,
            "last_failure": group.last_failure or None,
            "start_failures": group.start_failures,
            "not_before_us": group.not_before_us or None,
            "stop_after_us": spec.stop_after_us or None,
            "silence": silence(self.state, self._all_launches(start)),
            "start": None if start is None else self._start(start),
            "further": [self._start(one) for one in self._further(group)],
            "degraded_since_us": group.degraded_us or None,
            "roles": [self._role(group, spec, name) for name in self._role_names(group)],
            "claims": [self.claim(claim) for claim in self.claims_of(group.number)],
        }

    def _further(self, group: Group) -> list[Start]:
        """Starts of some of its members that are still of interest, oldest first."""
        found = (self.state.starts.get(number) for number in group.further)
        return [one for one in found if one is not None]

    def group_line(self, group: Group) -> Body:
        """One gang as lists show it."""
        jobs = [self.state.jobs[key] for key in group.members() if key in self.state.jobs]
        counts: dict[str, int] = {}
        for job in jobs:
            stat = self.stat(job)
            counts[stat] = counts.get(stat, 0) + 1
        return {
            "id": group_text(group.number),
            "name": group.name,
            "user": user_name(group.owner),
            "owner": group.owner,
            "queue": group.queue,
            "priority": group.priority,
            "state": group.state,
            "members": sum(role.count for role in group.roles),
            "stats": dict(sorted(counts.items())),
            "submit_us": group.submit_us,
            "started_us": group.started_us or None,
            "ended_us": group.ended_us or None,
            "exit_code": self.group_code(group, jobs),
            "suspended": any(job.suspension == "SUSPENDED" for job in jobs),
            "suspended_by": next((job.suspended_by for job in jobs if job.suspended_by), None),
            "resume_asked_us": max((job.resume_us for job in jobs), default=0) or None,
        }

    def group_code(self, group: Group, jobs: list[Job]) -> int | None:
        """0 for DONE; else the first member's code that is not 0, else 1; None while it lives."""
        if group.state not in ENDED_GROUP:
            return None
        if group.state == "DONE":
            return 0
        return next((code for job in jobs if (code := exit_code(job.exit))), 1)

    def members(self, group: Group) -> list[Body]:
        """Every member with its launches: who is placed where, and who is ARMED."""
        claims: dict[int, list[Body]] = {}
        for claim in self.claims_of(group.number):
            claims.setdefault(claim.job, []).append(self.claim(claim))
        return [
            {
                **self.job(job),
                "launches": [_launch(launch) for launch in self.launches(job)],
                "claims": claims.get(key, []),
            }
            for key in group.members()
            if (job := self.state.jobs.get(key)) is not None
        ]

    def claims_of(self, group: int) -> list[Claim]:
        """The gang's claims that still live, in the order of their numbers."""
        return [
            claim
            for _, claim in sorted(self.state.claims.items())
            if claim.group == group and claim.state != "RELEASED"
        ]

    def _role_names(self, group: Group) -> list[str]:
        return [role.name for role in group.roles]

    def _role(self, group: Group, spec: GroupSpec, name: str) -> Body:
        role = spec.role(name)
        span = next(span for span in group.roles if span.name == name)
        return {
            "name": name,
            "count": role.count,
            "min": role.min,
            "first_job": job_text(span.first_job),
            "depends_on": list(role.depends_on),
            "ready": role.ready.kind,
        }

    def _start(self, start: Start) -> Body:
        attachments = [
            {"id": number, "claim": claim_text(one.claim), "host": one.host, "state": one.state}
            | {"provider": one.provider, "value": one.value, "message": one.message}
            for number in start.attachments
            if (one := self.state.attachments.get(number)) is not None
        ]
        return {
            "number": start.number,
            "kind": start.kind,
            "state": start.state,
            "launches": len(start.launches),
            "armed": start.armed,
            "attachments": attachments,
            "ready": start.ready,
            "wave": start.wave,
            "waves": start.waves,
            "deadline_us": start.deadline_us,
            "passed_us": start.passed_us or None,
            "reason": start.reason or None,
        }

    # -- claims --------------------------------------------------------------------------------
    def claim(self, claim: Claim) -> Body:
        """One claim with its attachments."""
        attached = [
            one for number in claim.attachments if (one := self.state.attachments.get(number))
        ]
        ready = all(one.state == "READY" for one in attached)
        return {
            "id": claim_text(claim.number),
            "name": claim.name,
            "type": claim.type,
            "scope": claim.scope,
            "state": claim.state,
            "ready": claim.state == "BOUND" and ready,
            "owner": claim.owner,
            "user": user_name(claim.owner),
            "generation": claim.generation,
            "group": group_text(claim.group) if claim.group else None,
            "role": claim.role or None,
            "job": job_text(claim.job) if claim.job else None,
            "holdings": [msgspec.to_builtins(holding) for holding in claim.holdings],
            "attachments": [
                {"host": one.host, "state": one.state, "value": one.value, "message": one.message}
                for one in attached
            ],
            "why": claim.why or None,
            **(standalone(self.state, claim) if claim.stands_alone else {}),
        }


def _under(cwd: str, path: str) -> str:
    """An absolute path; "" stays."""
    return path if not path or path.startswith("/") else f"{cwd.rstrip('/')}/{path}"


def _launch(launch: Launch) -> Body:
    return {
        "id": launch.number,
        "host": launch.host,
        "state": launch.state,
        "wave": launch.wave,
        "go": launch.go,
        "processes": launch.processes,
        "first_rank": launch.first_rank,
    }


def ended(entity: Job | Group) -> bool:
    """Whether it is over."""
    return entity.state in (ENDED_JOB if isinstance(entity, Job) else ENDED_GROUP)


def reason_body(reason: PendReason | None) -> Body | None:
    """A pend reason with its sentence."""
    if reason is None:
        return None
    told: Body = msgspec.to_builtins(reason)
    return {**told, "text": reason.text(), "hosts_text": hosts_text(reason)}


def expected_body(found: Estimate | None) -> Body | None:
    """When something is expected to begin, and where."""
    return msgspec.to_builtins(found) if found is not None else None


def retired(body: Mapping[str, Any], state: StateView) -> Body:
    """Retired work as it would be shown: from the fields that history kept."""
    shown = Shown(state)
    if "job" in body:
        job = msgspec.convert(body["job"], Job)
        return {**shown.job(job, msgspec.convert(body["spec"], Spec)), "retired": True}
    group = msgspec.convert(body["group"], Group)
    line = shown.group_line(group)
    return {
        **line,
        "verdict": group.verdict,
        "reason": group.reason or None,
        "last_failure": group.last_failure or None,
        "roles": [{"name": r.name, "count": r.count} for r in group.roles],
        "claims": [],
        "retired": True,
    }
