"""What a file may say of users, shares, limits and orders, and how their words are read.

Users are named as the machine names them, or by uid; a name that `[[user_groups]]` declares is
that group. What is kept are uids and `@group`, since names are the machine's and may change.
"""

import pwd
from typing import Any

from xce.model.config import LimitConfig, ShareTree, UserConfig, UserGroup
from xce.model.config.shares import ALL, DEFAULT, OTHERS
from xce.model.config.windows import WindowError, parse_window
from xce.model.units import UnitError, parse_duration
from xce.ops.config.kinds import (
    AMOUNT,
    COUNT,
    DURATION,
    HOSTS,
    NAME,
    NAMES,
    TEXT,
    Field,
    Kind,
    Unfit,
)
from xce.scheduler.policies import NAMES as ORDERS

WHO_WORDS = "users or groups: names, uids, `all`, `~name` takes one out"


def _who(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise Unfit(f"a list of {WHO_WORDS}")
    if any(not isinstance(one, str | int) or isinstance(one, bool) for one in value):
        raise Unfit(f"a list of {WHO_WORDS}")
    return tuple(str(one) for one in value)


def _shares(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict) or not value:
        raise Unfit("a table of shares, like {anna = 3, default = 1}")
    if any(type(one) is not int or one < 0 for one in value.values()):
        raise Unfit("shares that are whole numbers from 0 on")
    return tuple(value.items())


def _factor(value: Any) -> int:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
    thousandths: int = round(value * 1000) if good else 0
    if not good or abs(thousandths - value * 1000) > 1e-6:
        raise Unfit("a number from 0 on with at most three decimals")
    return thousandths


def _order(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(one not in ORDERS for one in value):
        raise Unfit(f"a list of orders, of {', '.join(ORDERS)}")
    return tuple(value)


def _ageing(value: Any) -> tuple[int, int]:
    add, mark, every = str(value).partition("/")
    try:
        if isinstance(value, str) and mark and add.isdecimal() and parse_duration(every) > 0:
            return int(add), parse_duration(every)
    except UnitError:
        pass  # told below with what was expected
    raise Unfit("what is added, and how often: 1/10m")


def _windows(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Unfit('a list of windows, like ["20:00-8:00", "sat:0:00-mon:8:00"]')
    try:
        for one in value:
            parse_window(one)
    except WindowError as error:
        raise Unfit(f"windows of [day:]hour[:minute]; {error}") from error
    return tuple(value)


def _amounts(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict) or not value:
        raise Unfit('a table of amounts, like {gpu = 8, mem = "64GB"}')
    return tuple((NAME.read(name), AMOUNT.read(one)) for name, one in value.items())


WHO = Kind(word="list of users", read=_who)
SHARES = Kind(word="table of shares", read=_shares)
FACTOR = Kind(word="number", read=_factor)
ORDER = Kind(word="list of orders", read=_order)
AGEING = Kind(word="number/duration", read=_ageing)
WINDOWS = Kind(word="list of windows", read=_windows)
AMOUNTS = Kind(word="table of amounts", read=_amounts)

USER_GROUP = {
    "name": Field(kind=NAME, to="name", needed=True, about="the group's name"),
    "members": Field(kind=WHO, to="members", needed=True, about="users, groups, or `all`"),
    "shares": Field(kind=SHARES, to="shares", about="how it divides what it has (all alike)"),
}
SHARE_TREE = {
    "name": Field(kind=NAME, to="name", needed=True, about="the tree's name"),
    "queues": Field(kind=NAMES, to="queues", needed=True, about="the queues that share by it"),
    "shares": Field(
        kind=SHARES, to="shares", about="users, groups, `group@` (each), `default`, `others`"
    ),
    "history": Field(kind=DURATION, to="history_us", about="within which history falls to a tenth"),
    "cpu_time_factor": Field(kind=FACTOR, to="cpu_time_factor", about="of processor hours (0.7)"),
    "run_time_factor": Field(kind=FACTOR, to="run_time_factor", about="of slot hours (0.7)"),
    "committed_run_time_factor": Field(
        kind=FACTOR, to="committed_run_time_factor", about="of what is left of run limits (0)"
    ),
    "run_job_factor": Field(kind=FACTOR, to="run_job_factor", about="of slots in use (3)"),
    "gpu_run_time_factor": Field(kind=FACTOR, to="gpu_run_time_factor", about="of GPU hours (0)"),
}
LIMIT = {
    "name": Field(kind=NAME, to="name", needed=True, about="what reasons call it"),
    "users": Field(kind=WHO, to="users", about="counted together"),
    "per_user": Field(kind=WHO, to="per_user", about="each counted by himself"),
    "queues": Field(kind=HOSTS, to="queues", about="names, `all`, `~name`"),
    "per_queue": Field(kind=HOSTS, to="per_queue", about="each by itself"),
    "projects": Field(kind=HOSTS, to="projects", about="names, `all`, `~name`"),
    "per_project": Field(kind=HOSTS, to="per_project", about="each by itself"),
    "applications": Field(kind=HOSTS, to="applications", about="names, `all`, `~name`"),
    "per_application": Field(kind=HOSTS, to="per_application", about="each by itself"),
    "hosts": Field(kind=HOSTS, to="hosts", about="what is on them together"),
    "per_host": Field(kind=HOSTS, to="per_host", about="what is on each of them"),
    "slots": Field(kind=COUNT, about="how many slots"),
    "jobs": Field(kind=COUNT, about="how many jobs"),
    "mem": Field(kind=AMOUNT, about="how much memory, of what is asked for"),
    "resources": Field(kind=AMOUNTS, about="how much of other counters and instances"),
    "slots_per_processor": Field(
        kind=FACTOR, to="slots_per_processor", about="slots for each processor of a host"
    ),
}
USER = {
    "name": Field(kind=TEXT, needed=True, about="a user, a group, `group@` (each) or `default`"),
    "max_jobs": Field(kind=COUNT, to="max_slots", about="slots of what runs (LSF: MAX_JOBS)"),
    "max_running_jobs": Field(kind=COUNT, to="max_jobs", about="jobs that run"),
    "max_pend_jobs": Field(kind=COUNT, to="max_pending_jobs", about="jobs that wait"),
    "jobs_per_processor": Field(
        kind=FACTOR, to="slots_per_processor", about="slots for each processor of a host"
    ),
}
QUEUE_SHARES = {
    "users": Field(kind=WHO, to="users", about="who may submit to it (all)"),
    "hosts": Field(kind=HOSTS, to="hosts", about="which hosts serve it (all); `~name` does not"),
    "job_limit": Field(kind=COUNT, to="job_limit", about="slots of all its jobs (QJOB_LIMIT)"),
    "user_job_limit": Field(
        kind=COUNT, to="user_job_limit", about="slots of one user's jobs (UJOB_LIMIT)"
    ),
    "host_job_limit": Field(
        kind=COUNT, to="host_job_limit", about="slots of its jobs on one host (HJOB_LIMIT)"
    ),
    "processor_job_limit": Field(
        kind=FACTOR, to="processor_job_limit", about="slots for each processor (PJOB_LIMIT)"
    ),
    "dispatch_window": Field(kind=WINDOWS, to="dispatch_window", about="when it dispatches"),
    "run_window": Field(kind=WINDOWS, to="run_window", about="when its jobs run at all"),
    "order": Field(kind=ORDER, to="order", about="which policies decide who goes first"),
}
ORDERING = {
    "order": Field(kind=ORDER, to="order", about="which policies decide who goes first"),
    "job_priority_over_time": Field(kind=AGEING, about="what waiting adds, and how often: 1/10m"),
    "max_user_priority": Field(kind=COUNT, to="priority_max", about="highest that users may name"),
}


def own(found: dict[str, Any], known: dict[str, Field]) -> dict[str, Any]:
    """Values by the names that the configuration has for them."""
    return {known[name].to: value for name, value in found.items() if known[name].to}


class SharingReader:
    """Reads users, groups, shares and limits of one document; `reader` takes the faults."""

    def __init__(self, reader: Any, document: dict[str, Any]) -> None:
        self._reader = reader
        self._document = document
        groups = document.get("user_groups", [])
        tables = groups if isinstance(groups, list) else []
        self._groups = [one.get("name") for one in tables if isinstance(one, dict)]

    def values(self, queues: tuple[str, ...]) -> dict[str, Any]:
        """All of it, as fields of the configuration."""
        groups = self._tables("user_groups", USER_GROUP)
        trees = self._tables("shares", SHARE_TREE)
        limits = self._tables("limits", LIMIT)
        users = self._tables("users", USER)
        self._judge_trees(trees, queues)
        return {
            "user_groups": tuple(UserGroup(**own(one, USER_GROUP)) for one in groups),
            "share_trees": tuple(ShareTree(**own(one, SHARE_TREE)) for one in trees),
            "limits": tuple(self._limit(i, one) for i, one in enumerate(limits)),
            "users": tuple(
                UserConfig(who=one["name"], **own(one, USER)) for one in users if one["name"]
            ),
        }

    def queue(self, index: int, table: dict[str, Any]) -> dict[str, Any]:
        """A queue's table with its users looked up."""
        if "users" in table:
            table["users"] = self._looked_up(table["users"], ("queues", index, "users"))
        return table

    def _tables(self, what: str, known: dict[str, Field]) -> list[dict[str, Any]]:
        found = self._reader.tables(self._document.get(what, []), (what,), known)
        names = [one.get("name", "") for one in found]
        for index, one in enumerate(found):
            if one.get("name") and one["name"] in names[:index]:
                self._reader.fault((what, index), f"there is a '{one['name']}' in {what} already")
            for field in ("members", "users", "per_user"):
                if field in one:
                    one[field] = self._looked_up(one[field], (what, index, field))
            if "shares" in one:
                names_, numbers = zip(*one["shares"], strict=True)
                place = (what, index, "shares")
                one["shares"] = tuple(zip(self._looked_up(names_, place), numbers, strict=True))
        if what == "users":
            for index, one in enumerate(found):
                (one["name"],) = self._looked_up((one.get("name", ""),), (what, index, "name"))
        return [one for one in found if "name" in one]

    def _looked_up(self, words: tuple[str, ...], place: tuple[Any, ...]) -> tuple[str, ...]:
        """Words as the configuration has them: uids, `@group`, `group@`, and LSF's own words."""
        found = []
        for word in words:
            name = word.removeprefix("~")
            kept = self._one(name)
            if kept is None:
                said = f"'{name}' is no user of this machine and no user group"
                self._reader.fault(
                    place,
                    said,
                    f"groups here: {', '.join(map(str, self._groups))}"
                    if self._groups
                    else "declare groups in [[user_groups]]",
                )
                kept = ""
            found.append(("~" if word != name else "") + kept)
        return tuple(found)

    def _one(self, name: str) -> str | None:
        if name in (ALL, DEFAULT, OTHERS) or name.isdecimal():
            return name
        if name in self._groups:
            return f"@{name}"
        if name[-1:] == "@" and name[:-1] in self._groups:
            return name
        try:
            return str(pwd.getpwnam(name).pw_uid)
        except KeyError:
            return None

    def _limit(self, index: int, table: dict[str, Any]) -> LimitConfig:
        amounts = [(what, table[what]) for what in ("slots", "jobs", "mem") if what in table]
        amounts += table.get("resources", ())
        made = LimitConfig(**own(table, LIMIT), amounts=tuple(amounts))
        if not amounts and not made.slots_per_processor:
            said = f"the limit '{made.name}' limits nothing"
            self._reader.fault(("limits", index), said, "say slots, jobs, mem or resources")
        if made.slots_per_processor and not made.per_host:
            said = "slots_per_processor counts each host by itself"
            self._reader.fault(("limits", index), said, 'say per_host = ["all"]')
        for one in ("user", "queue", "project", "application", "host"):
            if table.get(f"per_{one}") and table.get(f"{one}s"):
                said = f"a limit says either {one}s or per_{one}"
                self._reader.fault(("limits", index, f"per_{one}"), said)
        return made

    def _judge_trees(self, trees: list[dict[str, Any]], queues: tuple[str, ...]) -> None:
        seen: dict[str, str] = {}
        for index, tree in enumerate(trees):
            for name in tree.get("queues", ()):
                place = ("shares", index, "queues")
                if name not in queues:
                    self._reader.fault(place, f"there is no queue '{name}'", "")
                elif name in seen:
                    said = f"the queue '{name}' shares by '{seen[name]}' already"
                    self._reader.fault(place, said, "a queue is in one tree")
                seen[name] = tree["name"]
