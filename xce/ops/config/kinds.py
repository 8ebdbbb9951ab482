"""How the values of an `xce.toml` are read, kind by kind.

A kind turns a value of TOML into the value of the configuration, or raises `Unfit` with what was
expected. Durations and sizes are written as everywhere (`90s`, `8GB`).
"""

import pwd
import re
import signal
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from xce.model.config import BACKFILL_POLICIES, PREEMPT_ACTIONS, PoolConfig
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


def _signal(value: Any) -> str:
    text = _text(value).upper().removeprefix("SIG")
    if f"SIG{text}" not in signal.Signals.__members__:
        raise Unfit("a signal like TERM or USR2")
    return text


def _codes(value: Any) -> tuple[int, ...]:
    good = isinstance(value, list) and all(type(one) is int and 0 <= one < 256 for one in value)
    if not good:
        raise Unfit("a list of exit values from 0 to 255")
    return tuple(sorted(set(value)))


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


def _exclusive(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"Y|N|CU(\[[\w.-]*\])?", value):
        return value
    raise Unfit('"Y", "N", "CU" or "CU[level]"')


def _nice(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 19:
        raise Unfit("a number from 0 to 19: how much less important its processes are")
    return value


TEXT = Kind(word="text", read=_text)
EXCLUSIVE = Kind(word="Y, N, CU or CU[level]", read=_exclusive)
INTERACTIVE = Kind(word="Y, N or ONLY", read=_one_of("Y", "N", "ONLY"))
NICENESS = Kind(word="number from 0 to 19", read=_nice)
ACTION = Kind(word=" | ".join(PREEMPT_ACTIONS), read=_one_of(*PREEMPT_ACTIONS))
POLICY = Kind(word=" | ".join(BACKFILL_POLICIES), read=_one_of(*BACKFILL_POLICIES))
SIGNAL = Kind(word="signal", read=_signal)
CODES = Kind(word="list of exit values", read=_codes)
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
