"""How much of each host is taken: the fold of the holdings, for those who look.

Made anew for each answer from allocations and claims, the only places where holdings are. A
claim's instance is held in the claim's name, another one in that of its job. What a suspended job
lent is not taken, though its tasks are there.
"""

from xce.api.ports import StateView
from xce.controller.core.resources.lending import held
from xce.model.actor import SYSTEM
from xce.model.ids import claim_text, job_text
from xce.model.job import Job
from xce.model.tables import CLAIM
from xce.scheduler.fit.demand import SLOTS

_HOLDING = CLAIM.of_kind("active", "wait")


def suspended_stat(job: Job) -> str:
    """USUSP or SSUSP, by who suspended a job; "" when nobody did."""
    if job.state != "RUNNING" or job.suspension != "SUSPENDED":
        return ""
    return "SSUSP" if job.suspended_by == SYSTEM else "USUSP"


class Usage:
    """`counters[host][name]` amounts, `tasks[host]`, `jobs[host]` in order, `holders[instance]`;
    `suspended[host]`: of the tasks, those that are USUSP or SSUSP, `lent[host]` those whose slots
    others may have."""

    def __init__(self, state: StateView) -> None:
        self.counters: dict[str, dict[str, int]] = {}
        self.tasks: dict[str, int] = {}
        self.jobs: dict[str, list[str]] = {}
        self.holders: dict[str, str] = {}
        self.suspended: dict[str, dict[str, int]] = {}
        self.lent: dict[str, int] = {}
        for _, granted in sorted(state.allocations.items()):
            stat = suspended_stat(state.jobs[granted.job])
            for share in granted.lent:
                if SLOTS in dict(share.counters):
                    self.lent[share.host] = self.lent.get(share.host, 0) + share.tasks
            for share in held(granted):
                self._take(share.host, share.counters)
                self.tasks[share.host] = self.tasks.get(share.host, 0) + share.tasks
                self.jobs.setdefault(share.host, []).append(job_text(granted.job))
                if stat:
                    stats = self.suspended.setdefault(share.host, {})
                    stats[stat] = stats.get(stat, 0) + share.tasks
                for instance in share.instances:
                    self.holders[instance] = job_text(granted.job)
        for number, claim in sorted(state.claims.items()):
            if claim.state not in _HOLDING:
                continue
            for holding in claim.holdings:
                if holding.instance:
                    self.holders[holding.instance] = claim_text(number)
                if holding.counter:
                    self._take(holding.host, ((holding.counter, holding.amount),))

    def _take(self, host: str, amounts: tuple[tuple[str, int], ...]) -> None:
        counters = self.counters.setdefault(host, {})
        for name, amount in amounts:
            counters[name] = counters.get(name, 0) + amount
