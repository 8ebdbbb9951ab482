"""The state: tables of frozen entities, and the one way to change them.

Everything that decisions know is here, and all of it is the fold of the log. Entities are never
changed in place: `put` replaces one, keeps the indexes of `indexes.py` in step and, inside a
`trial`, remembers how to put everything back. Specs and other interned texts are beside the
tables: records name them by hash. `changed` names, by table, what moved since the last cut took it
over.

Must not know: clocks, files, sockets, the log.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from msgspec import Struct, json

from xce.controller.core.fold.indexes import Indexes
from xce.controller.core.fold.tables import TABLES, Counter, Key, Setting, Tables
from xce.controller.core.time.watch import Effects, effects_of, length_us
from xce.model.config import Config
from xce.model.group import Group, GroupSpec
from xce.model.job import Spec

__all__ = ["TABLES", "Counter", "Key", "Setting", "State", "group_blob", "spec_blob"]


class Trial:
    """What becomes of a trial: nothing, unless it is kept."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """What was changed is to stay."""
        self.kept = True


class State(Tables):
    """The fold of the log up to `lsn`. `memo` is for those who look at it: what they keep between
    looks, and can make anew."""

    def __init__(self) -> None:
        self.lsn = 0
        self.epoch = 0
        self.at_us = 0
        self.tables = {name: {} for name in TABLES}
        self.specs: dict[str, Spec] = {}
        self.group_specs: dict[str, GroupSpec] = {}
        self.texts: dict[str, bytes] = {}
        self._placing: dict[str, str] = {}
        self._effects: dict[str, Effects] = {}
        self.index = Indexes(self)
        self.memo: dict[str, Any] = {}
        self.changed: dict[str, dict[Key, None]] = {}
        self._undo: list[tuple[str, Key | None, Any]] | None = None

    @property
    def config(self) -> Config:
        """The configuration in force; the defaults before the first was loaded."""
        setting = self.tables["setting"].get("config")
        return setting.config if setting else _DEFAULTS

    @property
    def config_lsn(self) -> int:
        """The record that put the configuration in force."""
        setting = self.tables["setting"].get("config")
        return setting.lsn if setting else 0

    def last(self, counter: str) -> int:
        """The last number that `counter` gave out."""
        found = self.tables["counter"].get(counter)
        return found.last if found else 0

    def placing_of(self, spec: str) -> str:
        """What makes two specs equal for placement, as a short key."""
        found = self._placing.get(spec)
        if found is None:
            own = self.specs[spec]
            asked = (
                own.need,
                own.tasks,
                own.tasks_max,
                own.exclusive,
                own.run,
                own.topology,
                own.claims,
            )
            counted = (own.project, own.user_group, own.job_group)
            timed = (length_us(own), own.reservation)
            found = blake2b(json.encode((asked, counted, timed)), digest_size=8).hexdigest()
            self._placing[spec] = found
        return found

    def effects_of(self, spec: str) -> Effects:
        """What the indexes keep of jobs of a spec beyond what they keep of all."""
        found = self._effects.get(spec)
        if found is None:
            found = self._effects[spec] = effects_of(self.specs.get(spec))
        return found

    def group_spec(self, group: Group) -> GroupSpec:
        """The resolved manifest of a group."""
        return self.group_specs[group.spec]

    # -- changing ----------------------------------------------------------------------------
    def put(self, what: str, key: Key, entity: Struct | None) -> None:
        """Replace (or, with None, remove) one entity and keep the indexes in step."""
        table = self.tables[what]
        old = table.get(key)
        if self._undo is not None:
            self._undo.append((what, key, old))
        else:
            self.changed.setdefault(what, {})[key] = None
        if entity is None:
            table.pop(key, None)
        else:
            table[key] = entity
        self.index.note(what, key, old, entity)

    def put_all(self, what: str, made: Mapping[Any, Any]) -> dict[Any, Any]:
        """Replace many entities of a table at once; gives them as they were. The indexes are the
        caller's to keep in step; when they are put back, each goes the way of `put`."""
        table = self.tables[what]
        before = dict(zip(made, map(table.get, made), strict=True))
        if self._undo is not None:
            self._undo.append((what, None, before))
        else:
            self.changed.setdefault(what, {}).update(dict.fromkeys(made))
        table.update(made)
        return before

    @contextmanager
    def trial(self) -> Iterator["Trial"]:
        """Everything changed inside is put back at the end, whatever happens, unless it ended well
        and `keep` was called: then it stays, as if each record had been applied."""
        if self._undo is not None:
            raise AssertionError("a trial inside a trial")
        before = self.lsn, self.epoch, self.at_us
        undo = self._undo = []
        self.index.begin_trial()
        trial = Trial()
        try:
            yield trial
        except BaseException:
            trial.kept = False
            raise
        finally:
            if not trial.kept:
                for what, key, old in reversed(undo.copy()):
                    for one, was in ((key, old),) if key is not None else reversed(old.items()):
                        self.put(what, one, was)
                self.lsn, self.epoch, self.at_us = before
            self._undo = None
            if trial.kept:
                for what, key, old in undo:
                    mine = self.changed.setdefault(what, {})
                    mine.update(dict.fromkeys((key,) if key is not None else old))
            self.index.end_trial(kept=trial.kept)

    def intern(self, name: str, text: bytes) -> None:
        """Keep a blob that records name by hash; typed blobs start with their type's tag."""
        if name in self.texts or name in self.specs or name in self.group_specs:
            return
        if text.startswith(_SPEC_TAG):
            self.specs[name] = json.decode(text[len(_SPEC_TAG) :], type=Spec)
        elif text.startswith(_GROUP_TAG):
            self.group_specs[name] = json.decode(text[len(_GROUP_TAG) :], type=GroupSpec)
        else:
            self.texts[name] = text

    def forget(self, name: str) -> None:
        """Let go of a blob that nothing in the state names any more."""
        self.specs.pop(name, None)
        self.group_specs.pop(name, None)
        self.texts.pop(name, None)
        self._placing.pop(name, None)
        self._effects.pop(name, None)

    def knows(self, name: str) -> bool:
        """Whether a blob of that name is kept in memory."""
        return name in self.specs or name in self.texts or name in self.group_specs


_SPEC_TAG = b"spec:"
_GROUP_TAG = b"gang:"
_DEFAULTS = Config()


def spec_blob(spec: Spec) -> bytes:
    """The bytes under which a job's spec is interned."""
    return _SPEC_TAG + json.encode(spec)


def group_blob(spec: GroupSpec) -> bytes:
    """The bytes under which a resolved manifest is interned."""
    return _GROUP_TAG + json.encode(spec)
