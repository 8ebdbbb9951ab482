"""How much of each host is taken: the fold of the holdings, for those who look.

Made anew for each answer from allocations and claims, the only places where holdings are. A
claim's instance is held in the claim's name, another one in that of its job.
"""

from xce.api.ports import StateView
from xce.model.ids import claim_text, job_text
from xce.model.tables import CLAIM

_HOLDING = CLAIM.of_kind("active", "wait")


class Usage:
    """`counters[host][name]` amounts, `tasks[host]`, `jobs[host]` in order, `holders[instance]`."""

    def __init__(self, state: StateView) -> None:
        self.counters: dict[str, dict[str, int]] = {}
        self.tasks: dict[str, int] = {}
        self.jobs: dict[str, list[str]] = {}
        self.holders: dict[str, str] = {}
        for _, granted in sorted(state.allocations.items()):
            for share in granted.shares:
                self._take(share.host, share.counters)
                self.tasks[share.host] = self.tasks.get(share.host, 0) + share.tasks
                self.jobs.setdefault(share.host, []).append(job_text(granted.job))
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
