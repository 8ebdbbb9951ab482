"""Where each pending job and gang stands: what waits, kept in order, and by which key.

A key is worked out when something begins to wait, and again for everything when the configuration
changes; nothing else moves it.
"""

from typing import TYPE_CHECKING

from xce.controller.core.queueing.queues import dispatches
from xce.controller.core.queueing.waiting import Waiting
from xce.model.config import QueueConfig
from xce.model.config.shares import ShareTree, account_of
from xce.model.group import Group
from xce.model.ids import array_key, is_array_key, job_number, place_of
from xce.model.job import Job
from xce.model.start import Claim
from xce.model.waiting.array import Array
from xce.scheduler.order import ALWAYS, Place
from xce.scheduler.policies import FAIRSHARE, Waits, parts

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


Work = Job | Array | Group
_PLACED_BY = ("queue", "priority", "submit_us", "spec", "position", "turn_us", "turn")


def same_place(old: Work, new: Work) -> bool:
    """Whether a change leaves what waits where it is in the order."""
    return all(getattr(old, name, 0) == getattr(new, name, 0) for name in _PLACED_BY)


class Ordering:
    """What waits, in order. `shares` has the shares of each node that an account was found by."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.waiting = Waiting()
        self.shares: dict[str, int] = {}
        self._queues: dict[str, QueueConfig] = {}
        self._trees: dict[str, ShareTree] = {}
        self._accounts: dict[tuple[str, int, str], str] = {}
        self.reset()

    def reset(self) -> None:
        """The configuration changed: put what waits in order again."""
        config = self._state.config if self._state.tables else None
        self._queues = {queue.name: queue for queue in config.queues} if config else {}
        trees = config.share_trees if config else ()
        self._trees = {queue: tree for tree in trees for queue in tree.queues}
        self._accounts, self.shares = {}, {}
        waiting, self.waiting = list(self.waiting.walk()), Waiting()
        for group, job, class_key in waiting:
            if group:
                self.waiting.put(self.of_group(self._state.groups[group]), class_key)
            else:
                self.waiting.put(self.of_job(self.waiter(job)), class_key)

    def dispatches(self, queue: str) -> bool:
        """Whether the queue is there and gives out work."""
        return dispatches(self._state, self._queues.get(queue))

    def waiter(self, key: int) -> Job | Array:
        """The job, or the array of elements that wait together, under such a key."""
        if is_array_key(key):
            return self._state.arrays[job_number(key)]
        return self._state.jobs[key]

    # -- places ------------------------------------------------------------------------------------
    def of_job(self, job: Job | Array) -> Place:
        """A plain job's place; that of an array's elements, behind those of them that are jobs of
        their own."""
        key = array_key(job.number) if isinstance(job, Array) else job.key
        spec = self._state.specs.get(job.spec)
        account = self.account(job.queue, job.owner, spec.user_group if spec else "")
        work = self._waits(job, spec.tasks if spec else 1)
        own = (0, place_of(key))
        turn = job.turn if isinstance(job, Job) else 0
        number = (0, turn, *own) if turn else own
        return self._place(job.queue, job.position, work, (account, number))

    def of_group(self, group: Group) -> Place:
        """A gang's place."""
        members = sum(role.count for role in group.roles)
        account = self.account(group.queue, group.owner, "")
        work = self._waits(group, members)
        return self._place(group.queue, group.position, work, (account, (1, group.number)))

    def of_claim(self, claim: Claim) -> Place:
        """The place of a standalone claim that waits; it is charged to nobody's share."""
        config, count = self._state.config, sum(one.count for one in claim.requests)
        work = Waits(claim.priority, claim.pending_us, count, config.age_add, config.age_every_us)
        return self._place(claim.queue, 0, work, ("", (2, claim.number)))

    def class_of(self, job: Job | Array) -> str:
        """What a plain job, or each element of an array, is equal to for placement."""
        own = job.avoid if isinstance(job, Job) else ()
        avoid = f"/!{','.join(own)}" if own else ""
        return f"{job.queue}/{job.owner}/{self._state.placing_of(job.spec)}{avoid}"

    def _waits(self, work: Work, tasks: int) -> Waits:
        config = self._state.config
        since_us = getattr(work, "turn_us", 0) or work.submit_us
        return Waits(work.priority, since_us, tasks, config.age_add, config.age_every_us)

    def _place(
        self, queued: str, position: int, waits: Waits, who: tuple[str, tuple[int, ...]]
    ) -> Place:
        account, number = who
        queue = self._queues.get(queued)
        policies = (queue.order if queue else ()) or self._state.config.order
        before, after = parts(policies, waits)
        rank = queue.priority if queue else 0
        key = (-rank, position, *before, *after, *number)
        if FAIRSHARE not in policies:
            account = ""
        return Place(key, account, ALWAYS + len(before)) if account else Place(key)

    # -- accounts ----------------------------------------------------------------------------------
    def account(self, queue: str, owner: int, charged: str) -> str:
        """The account that work of a queue is charged to, "" where nothing is shared."""
        tree = self._trees.get(queue)
        if tree is None:
            return ""
        known = self._accounts.get((queue, owner, charged))
        if known is None:
            nodes = account_of(self._state.config.user_groups, tree, owner, charged)
            self.shares.update(nodes)
            known = self._accounts[queue, owner, charged] = nodes[-1][0]
        return known

    def account_of(self, job: Job) -> str:
        """The account that a job is charged to, be it plain or a member."""
        if job.queue not in self._trees:
            return ""
        spec = self._state.specs.get(job.spec)
        return self.account(job.queue, job.owner, spec.user_group if spec and not job.group else "")

    def tree_of(self, account: str) -> ShareTree | None:
        """The tree that an account is in, None once the configuration has no such tree."""
        name = account.partition("/")[0]
        return next((tree for tree in self._trees.values() if tree.name == name), None)
