"""Gang groups: the manifest in its resolved form, and the group that it became.

The manifest's spelling (YAML, JSON, defaults, lint) is `model/manifest.py`; here everything has a
value: durations are microseconds, sizes bytes, every default filled in.
"""

from msgspec import Struct

from xce.model.config import SECOND_US, RetryConfig
from xce.model.ids import TextName
from xce.model.job import ClaimTemplate, Exit, Topology
from xce.model.records import RoleSpan


class Readiness(Struct, frozen=True, gc=False, kw_only=True):
    """When a member counts as ready. `kind`: started port line probe done."""

    kind: str = "started"
    port: str = ""
    line: str = ""
    probe: tuple[str, ...] = ()
    every_us: int = 2 * SECOND_US


class RoleSpec(Struct, frozen=True, gc=False, kw_only=True):
    """A role: a template with a count. `member_spec` is the hash of its members' spec."""

    name: str
    count: int
    min: int
    spares: int = 0
    depends_on: tuple[str, ...] = ()
    ready: Readiness = Readiness()
    topology: Topology = Topology()
    claims: tuple[ClaimTemplate, ...] = ()
    member_spec: TextName = ""


class Backoff(Struct, frozen=True, gc=False, kw_only=True):
    """How long to wait before a rule's next restart."""

    first_us: int = 0
    factor: int = 2
    cap_us: int = 300 * SECOND_US


class FailureRule(Struct, frozen=True, gc=False, kw_only=True):
    """First match wins. Empty `roles`/`reasons`/`signals` match all; `codes` holds ranges.
    `max_times` < 0: no budget is spent."""

    roles: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    codes: tuple[tuple[int, int], ...] = ()
    signals: tuple[str, ...] = ()
    action: str = "fail_group"
    max_times: int = -1
    backoff: Backoff = Backoff()
    keep_us: int = 0
    avoid_host: bool = False


class GroupSpec(Struct, frozen=True, gc=False, kw_only=True):
    """The manifest, resolved. `success`: all, any, or the named roles. `repairs`: it says what
    becomes of the group when it is degraded, so that lost ranks are placed again."""

    name: str
    queue: str = ""
    priority: int = -1
    topology: Topology = Topology()
    placement_timeout_us: int = 0
    barrier_timeout_us: int = 60 * SECOND_US
    ready_timeout_us: int = 300 * SECOND_US
    retries: RetryConfig = RetryConfig()
    accumulate_us: int = 0
    stop_after_us: int = 0
    repairs: bool = False
    degraded_grace_us: int = 0
    degraded_then: str = "restart_group"
    claims: tuple[ClaimTemplate, ...] = ()
    roles: tuple[RoleSpec, ...] = ()
    failure_policy: tuple[FailureRule, ...] = ()
    success: str = "all"
    success_roles: tuple[str, ...] = ()

    def role(self, name: str) -> RoleSpec:
        """The role of that name; KeyError when there is none."""
        for role in self.roles:
            if role.name == name:
                return role
        raise KeyError(name)


class Group(Struct, frozen=True, gc=False, kw_only=True):
    """A gang as the log knows it. `start` is its newest start as a whole, `further` the starts of
    some of its members since then (restarts, repairs, growth); `verdict` what ENDING leads to;
    `spent` counts, per failure rule, what its budget has paid for; `degraded_us` since when ranks
    of it are lost, 0 while none is; `turn_us` is when a rule sent it back to its queue: it counts
    as submitted then, 0 is never."""

    number: int
    name: str
    spec: TextName
    owner: int
    queue: str
    priority: int
    state: str
    submit_us: int
    roles: tuple[RoleSpan, ...]
    start: int = 0
    pending_us: int = 0
    not_before_us: int = 0
    start_failures: int = 0
    last_failure: str = ""
    verdict: str = ""
    reason: str = ""
    spent: tuple[int, ...] = ()
    window_opened_us: int = 0
    window_until_us: int = 0
    started_us: int = 0
    ended_us: int = 0
    kill_reason: str = ""
    position: int = 0
    preempted: int = 0
    further: tuple[int, ...] = ()
    degraded_us: int = 0
    turn_us: int = 0

    def starts(self) -> tuple[int, ...]:
        """Its start as a whole, if it has one, and those of some of its members since."""
        return (self.start, *self.further) if self.start else ()

    def members(self) -> list[int]:
        """Keys of all members, role by role, in rank order."""
        return [
            job for role in self.roles for job in range(role.first_job, role.first_job + role.count)
        ]


__all__ = ["Backoff", "Exit", "FailureRule", "Group", "GroupSpec", "Readiness", "RoleSpec"]
