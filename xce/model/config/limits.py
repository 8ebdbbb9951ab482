"""Limits: how much of something some users, queues, projects, applications or hosts may have.

The fields of a limit are all to hold, the words of one field are alternatives; `~x` takes out. A
`per_` field counts each of its members by itself, another one counts all of them together. What a
queue says of its slots (QJOB_LIMIT and the like) and what `[[users]]` say are limits like others.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from xce.model.config.queue import QueueConfig
from xce.model.config.shares import ALL

JOBS, SLOTS = "jobs", "slots"
Words = tuple[str, ...]


class LimitConfig(Struct, frozen=True, gc=False, kw_only=True):
    """One limit. `amounts` are (what, how much): `jobs`, `slots`, a counter in its base unit, or
    instances of a type; `slots_per_processor` are thousandths, of each host's processors."""

    name: str
    users: Words = ()
    per_user: Words = ()
    queues: Words = ()
    per_queue: Words = ()
    projects: Words = ()
    per_project: Words = ()
    applications: Words = ()
    per_application: Words = ()
    hosts: Words = ()
    per_host: Words = ()
    amounts: tuple[tuple[str, int], ...] = ()
    slots_per_processor: int = 0

    @property
    def on_hosts(self) -> Words:
        """The hosts that it is about, () for the cluster as a whole."""
        return self.per_host or self.hosts


class UserConfig(Struct, frozen=True, gc=False, kw_only=True):
    """What one user may have: `who` is a uid, `@group` (together), `group@` (each) or `default`
    (each whom nobody names). Below 0 nothing is said."""

    who: str
    max_slots: int = -1
    max_jobs: int = -1
    max_pending_jobs: int = -1
    slots_per_processor: int = 0


def is_named(words: Iterable[str], name: str) -> bool:
    """Whether a list of names has this one: any of its words, and none that `~` takes out."""
    found, only_out = False, True
    for one in words:
        if one[:1] == "~":
            if one[1:] == name:
                return False
            continue
        only_out = False
        found = found or one in (ALL, name)
    return found or only_out


def limits_of_queue(queue: QueueConfig) -> list[LimitConfig]:
    """The limits that a queue's own fields are."""
    found = []
    own = (queue.name,)
    if queue.job_limit >= 0:
        found.append(_limit(f"{queue.name}.job_limit", queue.job_limit, queues=own))
    if queue.user_job_limit >= 0:
        name = f"{queue.name}.user_job_limit"
        found.append(_limit(name, queue.user_job_limit, queues=own, per_user=(ALL,)))
    if queue.host_job_limit >= 0:
        name = f"{queue.name}.host_job_limit"
        found.append(_limit(name, queue.host_job_limit, queues=own, per_host=(ALL,)))
    if queue.processor_job_limit:
        found.append(
            LimitConfig(
                name=f"{queue.name}.processor_job_limit", queues=own, per_host=(ALL,),
                slots_per_processor=queue.processor_job_limit,
            )
        )  # fmt: skip
    return found


def limits_of_user(user: UserConfig, named: Words) -> list[LimitConfig]:
    """The limits that `[[users]]` are; `named` are all that one of them names."""
    each = user.who == "default" or user.who[-1:] == "@"
    if user.who == "default":
        words: Words = (ALL, *(f"~{one}" for one in named))
    else:
        words = (f"@{user.who[:-1]}",) if user.who[-1:] == "@" else (user.who,)
    whose = {"per_user": words} if each else {"users": words}
    amounts = [(SLOTS, user.max_slots), (JOBS, user.max_jobs)]
    found = []
    if any(amount >= 0 for _, amount in amounts):
        said = tuple(pair for pair in amounts if pair[1] >= 0)
        found.append(replace(LimitConfig(name=f"user {user.who}", amounts=said), **whose))
    if user.slots_per_processor:
        made = LimitConfig(
            name=f"user {user.who} per processor", per_host=(ALL,),
            slots_per_processor=user.slots_per_processor,
        )  # fmt: skip
        found.append(replace(made, **whose))
    return found


def _limit(name: str, slots: int, **whose: Words) -> LimitConfig:
    return replace(LimitConfig(name=name, amounts=((SLOTS, slots),)), **whose)
