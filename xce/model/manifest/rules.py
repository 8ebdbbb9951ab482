"""What a manifest must satisfy beyond its schema: names that exist, orders that end, sums.

Each check sees a document that already fits the schema and yields faults with their path. A
`Site` says what can be known of the cluster (types, levels, queues); without one those names are
not judged, so that lint also works far from a controller. Resource requirements are checked by
whoever has their language, not here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from xce.model.config import Config
from xce.model.manifest.check import Fault, Path
from xce.model.manifest.process import (
    REQUIREMENT_CHARACTERS_MAX,
    wrong_command,
    wrong_environment,
)
from xce.model.resources import BUILT_IN, UNDECLARED
from xce.model.units import nearest

MEMBERS_MAX = 16_384
REQUIREMENTS_CHARACTERS_MAX = 4 * REQUIREMENT_CHARACTERS_MAX
# Linux's names, written out so that a manifest means the same on every machine.
SIGNALS = (
    "ABRT", "ALRM", "BUS", "CHLD", "CONT", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "POLL",
    "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN",
    "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ",
)  # fmt: skip
Document = dict[str, Any]


class Site(Struct, frozen=True, gc=False, kw_only=True):
    """The names that a cluster knows."""

    types: tuple[str, ...]
    levels: tuple[str, ...]
    queues: tuple[str, ...]


def site_of(config: Config) -> Site:
    """The names that a configuration knows."""
    return Site(
        types=(*BUILT_IN, *UNDECLARED, *(type_.name for type_ in config.types)),
        levels=config.levels,
        queues=tuple(queue.name for queue in config.queues),
    )


def judge(document: Document, site: Site | None) -> tuple[Fault, ...]:
    """Everything that is wrong beyond the schema, check by check."""
    faults = [fault for rule in _RULES for fault in rule(document)]
    if site is not None:
        faults.extend(_site_names(document, site))
    return tuple(faults)


def _role_names(document: Document) -> list[str]:
    return [role["name"] for role in document["roles"]]


def _unique_names(document: Document) -> Iterator[Fault]:
    yield from _repeated(_role_names(document), ("roles",), "role")
    yield from _repeated([c["name"] for c in document.get("claims", ())], ("claims",), "claim")
    shared = {claim["name"] for claim in document.get("claims", ())}
    for index, role in enumerate(document["roles"]):
        names = [claim["name"] for claim in role.get("claims", ())]
        place: Path = ("roles", index, "claims")
        yield from _repeated(names, place, "claim")
        for at, name in enumerate(names):
            if name in shared:
                yield _conflict((*place, at, "name"), f"the group has a claim '{name}' already")


def _repeated(names: list[str], place: Path, what: str) -> Iterator[Fault]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield _conflict((*place, index, "name"), f"there is a {what} '{name}' already")


def _sums(document: Document) -> Iterator[Fault]:
    for index, role in enumerate(document["roles"]):
        count = int(role.get("count", 1))
        if int(role.get("min", count)) > count:
            yield _conflict(
                ("roles", index, "min"), f"min {role['min']} is more than count {count}"
            )
    total = sum(int(role.get("count", 1)) for role in document["roles"])
    if total > MEMBERS_MAX:
        yield _conflict(("roles",), f"{total} members; a group has at most {MEMBERS_MAX}")


def _known_roles(document: Document) -> Iterator[Fault]:
    names = _role_names(document)
    for index, role in enumerate(document["roles"]):
        for at, other in enumerate(role.get("depends_on", ())):
            yield from _must_be(other, names, ("roles", index, "depends_on", at), "role")
    for index, rule in enumerate(document.get("failure_policy", ())):
        for at, other in enumerate(as_list(rule.get("match", {}).get("role", []))):
            place: Path = ("failure_policy", index, "match", "role")
            whole = isinstance(rule["match"]["role"], str)
            yield from _must_be(other, names, place if whole else (*place, at), "role")
    success = document.get("success_policy")
    if isinstance(success, dict):
        for at, other in enumerate(success["roles"]):
            yield from _must_be(other, names, ("success_policy", "roles", at), "role")


def _order_ends(document: Document) -> Iterator[Fault]:
    """`depends_on` must not run in a circle; a role in one is named."""
    waits = {role["name"]: list(role.get("depends_on", ())) for role in document["roles"]}
    open_ = dict(waits)
    while True:
        free = [name for name, on in open_.items() if not any(other in open_ for other in on)]
        if not free:
            break
        for name in free:
            del open_[name]
    if open_:
        name = next(iter(open_))
        index = _role_names(document).index(name)
        circle = " -> ".join(_circle(name, open_))
        yield _conflict(("roles", index, "depends_on"), f"waits for itself: {circle}")


def _circle(name: str, open_: dict[str, list[str]]) -> list[str]:
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        name = next(other for other in open_[name] if other in open_)
    return [*seen[seen.index(name) :], name]


def _ready_ports(document: Document) -> Iterator[Fault]:
    shared = {claim["name"]: claim for claim in document.get("claims", ())}
    for index, role in enumerate(document["roles"]):
        port = role.get("ready", {}).get("port")
        if port is None:
            continue
        own = {claim["name"]: claim for claim in role.get("claims", ())}
        place: Path = ("roles", index, "ready", "port")
        found = {**shared, **own}.get(port)
        if found is None:
            yield from _must_be(port, [*shared, *own], place, "claim of the group or this role")
        elif found.get("type", "port") != "port":
            yield _conflict(place, f"the claim '{port}' is of type {found['type']}, not port")


def _amounts(document: Document) -> Iterator[Fault]:
    """`size` is for amounts, `count` for things that can be counted."""
    for place, claim in claims_of(document):
        type_ = BUILT_IN.get(claim.get("type", ""))
        if type_ is None:
            continue
        if type_.unit and "size" not in claim:
            yield Fault(
                code="missing_field",
                path=place,
                message=f"a claim of type {type_.name} needs the field 'size'",
                expected="a size like 8GB",
            )
        if type_.unit and "count" in claim:
            yield _conflict((*place, "count"), f"{type_.name} has a size, not a count")
        if not type_.unit and "size" in claim:
            yield _conflict((*place, "size"), f"{type_.name} has a count, not a size")


def _processes(document: Document) -> Iterator[Fault]:
    """Commands and variables must be such that a process can be given them."""
    for index, role in enumerate(document["roles"]):
        place: Path = ("roles", index)
        yield from _bad((*place, "command"), wrong_command(role["command"]))
        yield from _bad((*place, "env"), wrong_environment(role.get("env", {}).items()))
        probe = role.get("ready", {}).get("probe", ())
        yield from _bad((*place, "ready", "probe"), wrong_command(probe))


def _requirements(document: Document) -> Iterator[Fault]:
    """Texts in the language of requirements are bounded, each and together."""
    total = 0
    texts = [(("roles", at, "resreq"), role) for at, role in enumerate(document["roles"])]
    selects = [((*place, "select"), claim) for place, claim in claims_of(document)]
    for place, holder in (*texts, *selects):
        length = len(holder.get(place[-1], ""))
        total += length
        if length > REQUIREMENT_CHARACTERS_MAX:
            yield from _bad(place, f"more than {REQUIREMENT_CHARACTERS_MAX} characters")
    if total > REQUIREMENTS_CHARACTERS_MAX:
        most = f"more than {REQUIREMENTS_CHARACTERS_MAX} characters"
        yield from _bad(("roles",), f"all requirements together have {most}")


def _signals(document: Document) -> Iterator[Fault]:
    for index, rule in enumerate(document.get("failure_policy", ())):
        given = rule.get("match", {}).get("signal", [])
        for at, name in enumerate(as_list(given)):
            place: Path = ("failure_policy", index, "match", "signal")
            full = place if isinstance(given, str) else (*place, at)
            yield from _must_be(name.removeprefix("SIG"), SIGNALS, full, "signal")


def _exit_ranges(document: Document) -> Iterator[Fault]:
    for index, rule in enumerate(document.get("failure_policy", ())):
        text = rule.get("match", {}).get("exit")
        if not isinstance(text, str):
            continue
        for low, high in exit_ranges(text):
            if not low <= high <= 255:
                yield Fault(
                    code="bad_value",
                    path=("failure_policy", index, "match", "exit"),
                    message=f"{low}-{high} is no range of exit codes",
                    expected="codes from 0 to 255, the lower first",
                )


def _site_names(document: Document, site: Site) -> Iterator[Fault]:
    if "queue" in document:
        yield from _must_be(document["queue"], site.queues, ("queue",), "queue")
    places: list[tuple[Path, Document]] = [((), document)]
    places += [(("roles", index), role) for index, role in enumerate(document["roles"])]
    for place, holder in places:
        for key in ("required", "preferred"):
            level = holder.get("topology", {}).get(key)
            if level is not None:
                yield from _must_be(level, site.levels, (*place, "topology", key), "level")
    for place, claim in claims_of(document):
        if "type" in claim:
            yield from _must_be(claim["type"], site.types, (*place, "type"), "resource type")
        if "same" in claim:
            yield from _must_be(claim["same"], site.levels, (*place, "same"), "level")


def claims_of(document: Document) -> Iterator[tuple[Path, Document]]:
    """All claim templates with their place."""
    for index, claim in enumerate(document.get("claims", ())):
        yield ("claims", index), claim
    for at, role in enumerate(document["roles"]):
        for index, claim in enumerate(role.get("claims", ())):
            yield ("roles", at, "claims", index), claim


def exit_ranges(value: str | int) -> tuple[tuple[int, int], ...]:
    """`3` or `1,3,64-78` as ranges."""
    ranges = []
    for part in str(value).split(","):
        low, _, high = part.partition("-")
        ranges.append((int(low), int(high or low)))
    return tuple(ranges)


def as_list(value: Any) -> list[Any]:
    """A single value as a list of one."""
    return value if isinstance(value, list) else [value]


def _must_be(name: str, known: Iterable[str], place: Path, what: str) -> Iterator[Fault]:
    names = list(dict.fromkeys(known))
    if name in names:
        return
    meant = nearest(name, names)
    yield Fault(
        code="bad_value",
        path=place,
        message=f"there is no {what} '{name}'",
        expected="" if meant or not names else f"one of {' '.join(names)}",
        hint=f"did you mean '{meant}'?" if meant else "",
    )


def _bad(path: Path, why: str) -> Iterator[Fault]:
    if why:
        yield Fault(code="bad_value", path=path, message=why)


def _conflict(path: Path, message: str) -> Fault:
    return Fault(code="conflict", path=path, message=message)


_RULES: tuple[Callable[[Document], Iterator[Fault]], ...] = (
    _unique_names,
    _sums,
    _known_roles,
    _order_ends,
    _ready_ports,
    _amounts,
    _processes,
    _requirements,
    _exit_ranges,
    _signals,
)
