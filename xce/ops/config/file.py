"""Reads `xce.toml`: a file to a configuration, its digest, and the hosts it describes.

All faults of a file are told, each with line, column, what was expected and, for a field that
nobody knows, the nearest known one. The digest is of the configuration, not of the text, so a
changed comment changes nothing. Hosts are no part of the configuration: what a host is, its
agent says; the file only says what agents of this file's hosts are to say.
"""

import re
import tomllib
from hashlib import blake2b
from pathlib import Path as FilePath
from typing import Any

import msgspec
from msgspec import Struct

from xce.agent.settings import Reporter
from xce.model.config import (
    ApplicationConfig,
    BackfillConfig,
    ClaimsConfig,
    Config,
    DependencyConfig,
    FencingConfig,
    PreemptionConfig,
    QueueConfig,
    RetryConfig,
)
from xce.model.host import HostFacts
from xce.model.units import nearest
from xce.ops.config import fields
from xce.ops.config.kinds import Field, Unfit
from xce.ops.config.places import Path, Places
from xce.ops.config.resources import ResourceReader, named
from xce.ops.config.sharing import SharingReader


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    line: int
    column: int
    field: str
    message: str
    hint: str = ""

    def text(self, file: str) -> str:
        """As compilers say it."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{file}:{self.line}:{self.column}: {self.message}{hint}"


class ConfigFaulty(Exception):
    """A file that cannot be used; `faults` in the order of their lines."""

    def __init__(self, file: str, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(fault.text(file) for fault in faults))
        self.file, self.faults = file, faults


class Site(Struct, frozen=True, kw_only=True):
    """What a file says. `declared` and `emulated` are hosts' facts by name, in order; `reporters`
    are programs that agents run."""

    config: Config
    digest: str
    declared: dict[str, HostFacts] = {}
    emulated: dict[str, HostFacts] = {}
    reporters: tuple[Reporter, ...] = ()
    text: str = ""


def digest_of(config: Config) -> str:
    """The digest of a configuration's canonical form."""
    return blake2b(msgspec.json.encode(config, order="sorted"), digest_size=16).hexdigest()


def default_site() -> Site:
    """What holds without a file."""
    config = Config()
    return Site(config=config, digest=digest_of(config))


def read_site(path: FilePath) -> Site:
    """The site that a file describes; ConfigFaulty says all that is wrong with it."""
    name = str(path)
    try:
        text = path.read_bytes().decode()
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigFaulty(name, (_plain(f"cannot be read: {error.strerror}"),)) from error
    except UnicodeDecodeError as error:
        raise ConfigFaulty(name, (_plain("is not UTF-8 text"),)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigFaulty(name, (_toml_fault(str(error), text),)) from error
    except RecursionError as error:
        raise ConfigFaulty(name, (_plain("is nested too deep"),)) from error
    reader = Reader(Places(text))
    site = reader.site(document, text)
    if reader.faults:
        raise ConfigFaulty(name, tuple(sorted(reader.faults, key=lambda one: one.line)))
    return site


def _plain(message: str) -> Fault:
    return Fault(line=1, column=1, field="", message=message)


def _toml_fault(said: str, text: str) -> Fault:
    """`Expected '=' after a key (at line 3, column 7)` as a fault."""
    message, _, place = said.removesuffix(")").partition(" (at ")
    numbers = [int(word) for word in re.findall(r"[0-9]+", place)]
    line, column = numbers if len(numbers) == 2 else (len(text.splitlines()), 1)
    lower = message[:1].lower() + message[1:]
    return Fault(line=max(1, line), column=column, field="", message=f"not TOML: {lower}")


class Reader:
    """One reading: what was found wrong so far, and where things are."""

    def __init__(self, places: Places) -> None:
        self.faults: list[Fault] = []
        self._places = places

    def site(self, document: dict[str, Any], text: str) -> Site:
        """Everything that the document says."""
        from xce.ops.config.emulate import HostReader

        config = self._config(document)
        real = HostReader(self, config.levels, {})
        unreal = HostReader(self, config.levels, {"slots": 1})
        emulated: dict[str, Any] = {}
        if "emulate" in document:
            emulated = self.table(document["emulate"], ("emulate",), fields.EMULATE)
        declared = real.read(document.get("hosts", []), ("hosts",))
        played = unreal.read(emulated.get("hosts", []), ("emulate", "hosts"))
        return Site(
            config=config,
            digest=digest_of(config),
            declared=declared,
            emulated=played,
            reporters=ResourceReader(self, config.levels).reporters(document, config.types),
            text=text,
        )

    def fault(self, path: Path, message: str, hint: str = "") -> None:
        """Note what is wrong with a field."""
        line, column = self._places.of(path)
        self.faults.append(
            Fault(line=line, column=column, field=path_text(path), message=message, hint=hint)
        )

    # -- tables ------------------------------------------------------------------------------
    def table(self, value: Any, path: Path, known: dict[str, Field]) -> dict[str, Any]:
        """A table's values by the names of its fields, faulty ones left out."""
        if not isinstance(value, dict):
            self.fault(path, f"{path_text(path)}: a table was expected")
            return {}
        found: dict[str, Any] = {}
        for name, one in value.items():
            field = known.get(name)
            if field is None:
                self._unknown((*path, name), name, known)
                continue
            try:
                found[name] = field.kind.read(one)
            except Unfit as unfit:
                self.fault((*path, name), f"{path_text((*path, name))}: expected {unfit}")
        for name, field in known.items():
            if field.needed and name not in value:
                self.fault(path, f"{path_text(path) or 'the file'} needs the field '{name}'")
        return found

    def tables(self, value: Any, path: Path, known: dict[str, Field]) -> list[dict[str, Any]]:
        """The tables of a list."""
        if not isinstance(value, list):
            self.fault(path, f"{path_text(path)}: a list of tables was expected")
            return []
        return [self.table(one, (*path, index), known) for index, one in enumerate(value)]

    def _unknown(self, path: Path, name: str, known: dict[str, Field]) -> None:
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else f"known are {', '.join(known)}"
        self.fault(path, f"unknown field '{path_text(path)}'", hint)

    # -- the configuration -------------------------------------------------------------------
    def _config(self, document: dict[str, Any]) -> Config:
        top = named(self.table(document, (), fields.TOP), fields.TOP)
        policies = self.table(document.get("policies", {}), ("policies",), fields.POLICIES)
        place: Path = ("policies", "start_retries")
        retries = self.table(policies.get("start_retries", {}), place, fields.RETRIES)
        auth = self.table(document.get("auth", {}), ("auth",), fields.AUTH)
        values = {**top, **named(policies, fields.POLICIES), **named(auth, fields.AUTH)}
        values["start_retries"] = RetryConfig(**named(retries, fields.RETRIES))
        depending = self.table(
            document.get("dependencies", {}), ("dependencies",), fields.DEPENDENCIES
        )
        values["dependencies"] = DependencyConfig(**named(depending, fields.DEPENDENCIES))
        backfill = self.table(document.get("backfill", {}), ("backfill",), fields.BACKFILL)
        values["backfill"] = BackfillConfig(**named(backfill, fields.BACKFILL))
        preemption = self.table(document.get("preemption", {}), ("preemption",), fields.PREEMPTION)
        values["preemption"] = PreemptionConfig(**named(preemption, fields.PREEMPTION))
        claims = self.table(document.get("claims", {}), ("claims",), fields.CLAIMS)
        values["claims"] = ClaimsConfig(**named(claims, fields.CLAIMS))
        if "fencing" in document:
            values["fencing"] = self._fencing(document["fencing"])
        resources = ResourceReader(self, values.get("levels", Config().levels))
        types = values["types"] = resources.types(document)
        values["pools"] = resources.pools(document, types)
        resources.observed(values.get("observe", ()), types)
        sharing = SharingReader(self, document)
        queues = self._queues(document, sharing)
        if queues:
            values["queues"] = queues
        values |= sharing.values(tuple(one.name for one in values.get("queues", ())))
        if "job_priority_over_time" in policies:
            values["age_add"], values["age_every_us"] = policies["job_priority_over_time"]
        values["applications"] = self._applications(document)
        config = Config(**values)
        if config.queue(config.default_queue) is None:
            names = [queue.name for queue in config.queues]
            at: Path = ("default_queue",) if "default_queue" in document else ("queues",)
            self.fault(at, f"there is no queue '{config.default_queue}'", _of(names))
        self._unique(list(config.levels), ("levels",), "level")
        self._preempting(config)
        return config

    def _preempting(self, config: Config) -> None:
        """Only less important queues give way: else two could preempt each other for ever."""
        for index, queue in enumerate(config.queues):
            for field, sign in (("preemptive", 1), ("preemptable", -1)):
                for name in getattr(queue, field):
                    other = config.queue(name)
                    at: Path = ("queues", index, field)
                    if other is None:
                        self.fault(at, f"there is no queue '{name}'")
                    elif (queue.priority - other.priority) * sign <= 0:
                        word = "smaller" if sign > 0 else "larger"
                        why = f"{field} names '{name}', whose priority is not {word}"
                        self.fault(at, f"queue '{queue.name}': {why}")

    def _fencing(self, value: Any) -> FencingConfig:
        found = self.table(value, ("fencing",), fields.FENCING)
        return FencingConfig(**named(found, fields.FENCING))

    def _queues(self, document: dict[str, Any], sharing: SharingReader) -> tuple[QueueConfig, ...]:
        found = self.tables(document.get("queues", []), ("queues",), fields.QUEUE)
        self._unique([one.get("name", "") for one in found], ("queues",), "queue")
        looked_up = [sharing.queue(index, one) for index, one in enumerate(found)]
        return tuple(QueueConfig(**named(one, fields.QUEUE)) for one in looked_up if "name" in one)

    def _applications(self, document: dict[str, Any]) -> tuple[ApplicationConfig, ...]:
        place: Path = ("applications",)
        found = self.tables(document.get("applications", []), place, fields.APPLICATION)
        self._unique([one.get("name", "") for one in found], place, "profile")
        known = fields.APPLICATION
        return tuple(ApplicationConfig(**named(one, known)) for one in found if "name" in one)

    def _unique(self, names: list[str], path: Path, what: str) -> None:
        for index, name in enumerate(names):
            if name and name in names[:index]:
                self.fault((*path, index), f"there is a {what} '{name}' already")


def _of(names: list[str]) -> str:
    return f"there is {', '.join(names)}"


def path_text(path: Path) -> str:
    """`emulate.hosts[1].slots`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
