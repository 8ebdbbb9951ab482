"""What an `xce.toml` may say, as data: every table, every field, its kind and what it is for.

The reader checks a file against these tables, `xce config explain` prints them; there is no
second list. A kind turns a value of TOML into the value of the configuration, or raises
`Unfit` with what was expected. Durations and sizes are written as everywhere (`90s`, `8GB`).
"""

import pwd
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from xce.model.config import BACKFILL_POLICIES, PoolConfig
from xce.model.config.dependencies import ALL, END, KEEP, LATEST
from xce.model.units import UnitError, parse_duration, parse_size
from xce.resreq.allowed import ranges_of
from xce.resreq.errors import ResreqError
from xce.resreq.options.bsub import BSUB
from xce.resreq.options.values import judge
from xce.resreq.parse import COMPAT, parse

NAME_CHARACTERS = "letters, digits, '-', '_' and '.'"


class Unfit(Exception):
    """A value that is not what its field takes; the text says what was expected."""


class Kind(Struct, frozen=True, kw_only=True):
    """How a field's value is read."""

    word: str
    read: Callable[[Any], Any]


class Field(Struct, frozen=True, kw_only=True):
    """One field: its kind, the field of the configuration it becomes, what it is for."""

    kind: Kind
    to: str = ""
    needed: bool = False
    about: str = ""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unfit("a text")
    return value


def _name(value: Any) -> str:
    plain = isinstance(value, str) and value.replace("-", "").replace("_", "").replace(".", "")
    if not isinstance(plain, str) or not plain.isalnum() or not plain.isascii():
        raise Unfit(f"a name of {NAME_CHARACTERS}")
    return str(value)


def _pattern(value: Any) -> str:
    _name(value.replace("%d", "0") if isinstance(value, str) else value)
    return str(value)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit("a list of names")
    return tuple(_name(one) for one in value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unfit("a whole number from 0 on")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unfit("true or false")
    return value


def _duration(value: Any) -> int:
    try:
        return parse_duration(_text(value))
    except (UnitError, Unfit) as error:
        raise Unfit("a duration like 90s, 10m or 2h") from error


def _size(value: Any) -> int:
    plain = isinstance(value, int) and not isinstance(value, bool)
    try:
        return parse_size(str(value) if plain else _text(value))
    except (UnitError, Unfit) as error:
        raise Unfit("a size like 512MB or 4GB (a bare number is MB)") from error


def _requirement(value: Any) -> str:
    text = _text(value)
    try:
        if text.strip():
            parse(text, mode=COMPAT)
    except ResreqError as error:
        hint = f"; {error.hint}" if error.hint else ""
        why = f"column {error.column} of it: {error.message}{hint}"
        raise Unfit(f"a resource requirement; {why}") from error
    return text


def _ranges(value: Any) -> str:
    text = _text(value)
    try:
        ranges_of(text)
    except ResreqError as error:
        hint = f"; {error.hint}" if error.hint else ""
        why = f"column {error.column} of it: {error.message}{hint}"
        raise Unfit(f"ranges of reservations; {why}") from error
    return text


def _exits(value: Any) -> str:
    try:
        return judge(BSUB["-Q"], _text(value)).means
    except ResreqError as error:
        raise Unfit('exit values like "all ~0" or "30 EXCLUDE(20)"') from error


def _ports(value: Any) -> tuple[int, int]:
    good = isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)
    if not good or not 0 < value[0] <= value[1] < 65536:
        raise Unfit("the first and the last port, like [20000, 20099]")
    return value[0], value[1]


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise Unfit(" or ".join(words))
        return str(value)

    return read


def _users(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise Unfit("a list of users, by name or uid")
    return tuple(sorted({_uid(one) for one in value}))


def _uid(value: Any) -> int:
    if type(value) is int and value >= 0:
        return value
    try:
        return pwd.getpwnam(_text(value)).pw_uid
    except (KeyError, Unfit) as error:
        raise Unfit(f"users of this machine, by name or uid; {value!r} is none") from error


def _mapping(value: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, dict) or any(isinstance(one, list | dict) for one in value.values()):
        raise Unfit('a table of plain values, like {block = "b1"}')
    return tuple(sorted(value.items()))


def _hosts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise Unfit("a list of hosts: names, `all`, `others`, or `~name`")
    for one in value:
        _name(one.removeprefix("~") if isinstance(one, str) else one)
    return tuple(value)


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise Unfit('a list of words, like ["/opt/elim", "-v"]')
    return tuple(value)


def _amount(value: Any) -> int:
    return _size(value) if isinstance(value, str) else _count(value)


def pool_of(values: dict[str, Any]) -> PoolConfig:
    """A pool of these values; a list of hosts that only takes out means all others."""
    hosts = values.get("hosts", ("all",))
    if all(one.startswith("~") for one in hosts):
        hosts = ("all", *hosts)
    return PoolConfig(**{**values, "hosts": hosts})


TEXT = Kind(word="text", read=_text)
POLICY = Kind(word=" | ".join(BACKFILL_POLICIES), read=_one_of(*BACKFILL_POLICIES))
EXITS = Kind(word="exit values", read=_exits)
RESREQ = Kind(word="resource requirement", read=_requirement)
RANGES = Kind(word="ranges of reservations", read=_ranges)
NAME = Kind(word="name", read=_name)
PATTERN = Kind(word="name, %d is its number", read=_pattern)
NAMES = Kind(word="list of names", read=_names)
HOSTS = Kind(word="list of hosts", read=_hosts)
WORDS = Kind(word="list of words", read=_words)
AMOUNT = Kind(word="number or size", read=_amount)
COUNT = Kind(word="number", read=_count)
FLAG = Kind(word="true or false", read=_flag)
DURATION = Kind(word="duration", read=_duration)
SIZE = Kind(word="size", read=_size)
PORTS = Kind(word="[first, last]", read=_ports)
IMPOSSIBLE = Kind(word="keep or end", read=_one_of(KEEP, END))
WHICH = Kind(word="all or latest", read=_one_of(ALL, LATEST))
USERS = Kind(word="list of users", read=_users)
MAPPING = Kind(word="table", read=_mapping)
TABLE = Kind(word="table", read=lambda value: value)
TABLES = Kind(word="list of tables", read=lambda value: value)

TOP = {
    "cluster": Field(kind=NAME, to="cluster", about="what the cluster is called"),
    "levels": Field(kind=NAMES, to="levels", about="topology levels, finest first"),
    "default_queue": Field(kind=NAME, to="default_queue", about="where jobs without -q go"),
    "queues": Field(kind=TABLES, about="the queues, one [[queues]] each"),
    "applications": Field(kind=TABLES, about="application profiles, one [[applications]] each"),
    "types": Field(kind=TABLES, about="resource types beside the built-in ones"),
    "pools": Field(kind=TABLES, about="amounts of shared types, seen by several hosts"),
    "reporters": Field(kind=TABLES, about="programs that report values of hosts"),
    "policies": Field(kind=TABLE, about="timings and defaults"),
    "dependencies": Field(kind=TABLE, about="how -w is understood"),
    "backfill": Field(kind=TABLE, about="who reserves what does not fit now, who may overtake"),
    "auth": Field(kind=TABLE, about="who may do what"),
    "fencing": Field(kind=TABLE, about="the program that is asked about silent hosts"),
    "hosts": Field(kind=TABLES, about="real hosts, where they are not as measured"),
    "emulate": Field(kind=TABLE, about="hosts that `xce up` plays on this machine"),
}
QUEUE = {
    "name": Field(kind=NAME, to="name", needed=True, about="the queue's name"),
    "priority": Field(kind=COUNT, to="priority", about="larger goes first"),
    "description": Field(kind=TEXT, to="description", about="for people"),
    "open": Field(kind=FLAG, to="open", about="whether it takes submissions"),
    "active": Field(kind=FLAG, to="active", about="whether its jobs are placed"),
    "resreq": Field(kind=RESREQ, to="default_resreq", about="for jobs without one of their own"),
    "backfill": Field(kind=POLICY, to="backfill", about="its own policy (the one of [backfill])"),
    "backfill_depth": Field(kind=COUNT, to="backfill_depth", about="how many of its jobs reserve"),
    "reservation_ranges": Field(
        kind=RANGES, to="reservation_ranges", about="least and most of rusage[ ]: `mem=1GB,8GB`"
    ),
    "requeue_exit_values": Field(
        kind=EXITS, to="requeue_exits", about="exit values with which a job runs again"
    ),
    "max_job_requeue": Field(
        kind=COUNT, to="requeues_max", about="how often; then the job is held (no end)"
    ),
    "rerunnable": Field(
        kind=FLAG, to="rerunnable", about="whether a job runs again when its host is lost"
    ),
}
APPLICATION = {
    "name": Field(kind=NAME, to="name", needed=True, about="the application profile's name"),
    "description": Field(kind=TEXT, to="description", about="for people"),
    "resreq": Field(kind=RESREQ, to="resreq", about="under that of its jobs, over the queue's"),
    "requeue_exit_values": Field(
        kind=EXITS, to="requeue_exits", about="exit values with which a job runs again"
    ),
    "max_job_requeue": Field(
        kind=COUNT, to="requeues_max", about="how often; then the job is held (no end)"
    ),
    "rerunnable": Field(
        kind=FLAG, to="rerunnable", about="whether a job runs again when its host is lost"
    ),
}
TYPE = {
    "name": Field(kind=NAME, to="name", needed=True, about="the type's name"),
    "layer": Field(kind=NAME, to="layer", about="attribute, counter or instance"),
    "kind": Field(kind=NAME, to="kind", about="boolean, string, number, instance or interval"),
    "unit": Field(kind=TEXT, to="unit", about="`bytes` for sizes"),
    "scale": Field(kind=COUNT, to="scale", about="parts of one that are told apart (1)"),
    "direction": Field(kind=NAME, to="direction", about="increasing (load), decreasing, none"),
    "scope": Field(kind=NAME, to="scope", about="host, or shared by several (see [[pools]])"),
    "hosts": Field(kind=NAMES, to="hosts", about="who sees a shared type (all)"),
    "consumable": Field(kind=FLAG, to="consumable", about="whether use takes it away"),
    "release_on_suspend": Field(
        kind=FLAG, to="release_on_suspend", about="whether a suspended job gives it back"
    ),
    "interval": Field(kind=DURATION, to="interval_us", about="how often it is reported"),
    "ttl": Field(kind=DURATION, to="ttl_us", about="age from which a value is unknown"),
    "provider": Field(kind=NAME, to="provider", about="who makes a claim of it usable"),
    "provision": Field(kind=FLAG, to="provision", about="whether every request makes a claim"),
    "sharing": Field(kind=COUNT, to="sharing", about="holders that one instance may have"),
    "level": Field(kind=NAME, to="level", about="topology level of its instances"),
    "draws_on": Field(kind=NAME, to="draws_on", about="the counter that amounts are taken from"),
    "description": Field(kind=TEXT, to="description", about="for people"),
}
POOL = {
    "type": Field(kind=NAME, to="type", needed=True, about="the shared type"),
    "label": Field(kind=NAME, to="label", about="what holdings call it (its number)"),
    "hosts": Field(kind=HOSTS, to="hosts", about="names, `all`, `others`; `~name` takes one out"),
    "amount": Field(kind=AMOUNT, to="amount", about="how much there is, or a size"),
    "reported": Field(kind=FLAG, to="reported", about="whether a reporter gives the amount"),
}
REPORTER = {
    "name": Field(kind=NAME, to="name", needed=True, about="the reporter's name"),
    "command": Field(kind=WORDS, to="command", needed=True, about="the program and its words"),
    "types": Field(kind=NAMES, to="types", about="what it reports (LSF_RESOURCES)"),
    "hosts": Field(kind=HOSTS, to="hosts", about="where it runs (all)"),
    "interval": Field(kind=DURATION, to="interval_us", about="how often it is expected to report"),
    "timeout": Field(kind=DURATION, to="timeout_us", about="silence after which it is killed"),
}
POLICIES = {
    "suspect_after": Field(kind=DURATION, to="suspect_after_us", about="silence until SUSPECT"),
    "host_grace": Field(kind=DURATION, to="host_grace_us", about="silence until DOWN"),
    "barrier_timeout": Field(kind=DURATION, to="barrier_timeout_us", about="for all to be ARMED"),
    "ready_timeout": Field(kind=DURATION, to="ready_timeout_us", about="for a wave to be ready"),
    "kill_grace": Field(kind=DURATION, to="kill_grace_us", about="from SIGTERM to SIGKILL"),
    "unkillable_after": Field(
        kind=DURATION, to="unkillable_after_us", about="from SIGKILL until the host is closed"
    ),
    "clean_period": Field(kind=DURATION, to="clean_period_us", about="ended work stays listed"),
    "failure_window": Field(kind=DURATION, to="failure_window_us", about="a burst is one event"),
    "priority": Field(kind=COUNT, to="priority_default", about="of jobs that name none"),
    "array_size_max": Field(kind=COUNT, to="array_size_max", about="largest index of job arrays"),
    "tick_interval": Field(kind=DURATION, to="tick_interval_us", about="between ticks; 0s is none"),
    "observe": Field(kind=NAMES, to="observe", about="reported types that ticks always carry"),
    "start_retries": Field(kind=TABLE, about="of failed or broken starts"),
}
RETRIES = {
    "max": Field(kind=COUNT, to="max", about="how often"),
    "first": Field(kind=DURATION, to="first_us", about="the first pause"),
    "factor": Field(kind=COUNT, to="factor", about="each pause is longer by"),
    "cap": Field(kind=DURATION, to="cap_us", about="the longest pause"),
}
DEPENDENCIES = {
    "impossible": Field(
        kind=IMPOSSIBLE, to="impossible", about="what becomes of jobs whose -w can never be met"
    ),
    "names": Field(kind=WHICH, to="names", about="which jobs of one name -w means"),
}
AUTH = {
    "operators": Field(kind=USERS, to="operators", about="may drain hosts and end others' work"),
    "allow_root": Field(kind=FLAG, to="allow_root", about="whether uid 0 may run work"),
}
BACKFILL = {
    "policy": Field(kind=POLICY, to="policy", about="for queues without one of their own (easy)"),
    "depth": Field(kind=COUNT, to="depth", about="how many reserve (1; 100 for conservative)"),
    "look": Field(kind=COUNT, to="look", about="how many are looked at behind the first (1000)"),
    "patience": Field(kind=DURATION, to="patience_us", about="how long what is due is kept (10m)"),
}
FENCING = {
    "command": Field(
        kind=WORDS, to="command", needed=True, about="the program; the host's name is put behind"
    ),
    "timeout": Field(kind=DURATION, to="timeout_us", about="after which it is killed"),
    "retry_first": Field(kind=DURATION, to="retry_first_us", about="the first pause after a no"),
    "retry_cap": Field(kind=DURATION, to="retry_cap_us", about="the longest pause"),
}
EMULATE = {"hosts": Field(kind=TABLES, needed=True, about="one [[emulate.hosts]] per shape")}
HOST = {
    "name": Field(kind=PATTERN, needed=True, about="the host, or `n%d` for a row of them"),
    "count": Field(kind=COUNT, about="how many are in the row"),
    "first": Field(kind=COUNT, about="the number of the first one (1)"),
    "address": Field(kind=TEXT, about="where others reach it (127.0.0.1)"),
    "slots": Field(kind=COUNT, about="tasks it takes"),
    "mem": Field(kind=SIZE, about="memory"),
    "swp": Field(kind=SIZE, about="swap space"),
    "tmp": Field(kind=SIZE, about="temporary space"),
    "scratch": Field(kind=SIZE, about="what `directory` claims draw on"),
    "amounts": Field(kind=MAPPING, about="other counters, in their base unit"),
    "attributes": Field(kind=MAPPING, about="for select[...]"),
    "domains": Field(kind=MAPPING, about="level = name of the domain it is in"),
    "ports": Field(kind=PORTS, about="for `port` claims; a row shares it out evenly"),
    "gpus": Field(kind=TABLES, about="groups of equal GPUs"),
}
GPUS = {
    "count": Field(kind=COUNT, needed=True, about="how many"),
    "model": Field(kind=TEXT, about="for select over instances"),
    "mem": Field(kind=SIZE, about="memory of each"),
    "domains": Field(kind=MAPPING, about="domains inside the host"),
}
TABLES_OF = {
    "": TOP,
    "[[queues]]": QUEUE,
    "[[applications]]": APPLICATION,
    "[[types]]": TYPE,
    "[[pools]]": POOL,
    "[[reporters]]": REPORTER,
    "[policies]": POLICIES,
    "[policies] start_retries": RETRIES,
    "[dependencies]": DEPENDENCIES,
    "[backfill]": BACKFILL,
    "[auth]": AUTH,
    "[fencing]": FENCING,
    "[[hosts]], [[emulate.hosts]]": HOST,
    "[[hosts]] gpus": GPUS,
}
