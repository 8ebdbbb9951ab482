"""Whether what is decided now is what the log has: exactly, but for what came later.

Texts are named by the hash of what they say. A spec that has more fields now than when the log was
written says the same under another name; so do records with fields that the log's version did not
have. Where nothing is missing, equal means equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from xce.controller.core.fold.interned import texts_of
from xce.model.records import Planned, Record


def text_of(value: Any) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value).decode()


def fits(then: Any, now: Any) -> bool:
    """Whether all that was said then is said now."""
    if isinstance(then, dict) and isinstance(now, dict):
        return all(key in now and fits(value, now[key]) for key, value in then.items())
    if isinstance(then, list) and isinstance(now, list):
        return len(then) == len(now) and all(map(fits, then, now))
    return bool(then == now) or then is None


def alike(logged: Sequence[Record], decided: Sequence[Record]) -> bool:
    """Whether two lists of records are equal as they are written."""
    if len(logged) != len(decided):
        return False
    pairs = zip(logged, decided, strict=True)
    return all(one == other or text_of(one) == text_of(other) for one, other in pairs)


def under_version_of(logged: Sequence[Record], decided: Sequence[Record]) -> tuple[Record, ...]:
    """Plans under the decision version of the log: what they decide is what is compared."""
    found = list(decided)
    for place, (one, other) in enumerate(zip(logged, decided, strict=False)):
        if isinstance(one.body, Planned) and isinstance(other.body, Planned):
            body = structs.replace(other.body, decision=one.body.decision)
            found[place] = structs.replace(other, body=body)
    return tuple(found)


class Names:
    """The names of texts now, and in the log."""

    def __init__(self) -> None:
        self.then: dict[str, str] = {}
        self.digests = 0
        self.older = False

    def learn(
        self, logged: Sequence[Record], decided: Sequence[Record],
        old: Mapping[str, bytes], new: Mapping[str, bytes],
    ) -> None:  # fmt: skip
        """Which texts of these records say the same under other names. A plan's digest is a name,
        too: of how its session came to it, steps and all; what it decides is compared itself."""
        for one, other in zip(logged, decided, strict=False):
            mine, now = getattr(one.body, "digest", ""), getattr(other.body, "digest", "")
            if mine != now and isinstance(one.body, Planned) and isinstance(other.body, Planned):
                self.then[now] = mine
                self.digests += 1
        pairs = [
            pair
            for one, other in zip(logged, decided, strict=False)
            for pair in zip(texts_of(one), texts_of(other), strict=False)
            if pair[0] != pair[1]
        ]
        # The innermost first: a gang's text names those of its members.
        for _ in range(2):
            for then, now in pairs:
                if then in old and now in new and now not in self.then:
                    said = new[now].decode()
                    if _texts_fit(old[then], self.translated(said)):
                        self.then[now], self.older = then, True

    def translated(self, text: str) -> str:
        """A text with the names of the log."""
        for now, then in self.then.items():
            text = text.replace(now, then)
        return text


def _texts_fit(old: bytes, new: str) -> bool:
    tag, colon, then = old.partition(b":")
    kind, _, now = new.partition(":")
    if not colon or tag.decode() != kind:
        return False
    return fits(msgspec.json.decode(then), msgspec.json.decode(now.encode()))


def equal(
    logged: Sequence[Record], decided: Sequence[Record], names: Names, raw: Sequence[bytes]
) -> bool:
    """Whether the records are equal under the names of the log; `raw` are the bodies as written."""
    if len(logged) != len(decided):
        return False
    for one, other, body in zip(logged, decided, raw, strict=True):
        now = names.translated(text_of(other))
        if text_of(one) == now:
            continue
        was, has = msgspec.json.decode(body), msgspec.json.decode(now.encode())
        if not (names.older or _is_older(was, has["body"])):
            return False
        envelope = {**msgspec.to_builtins(one), "body": was}
        if not fits(msgspec.json.decode(msgspec.json.encode(envelope)), has):
            return False
    return True


def _is_older(was: Any, has: Any) -> bool:
    """Whether a body lacks fields, at any depth but that of its changes, that it would have now."""
    if isinstance(was, dict) and isinstance(has, dict):
        inner = ((was[key], has[key]) for key in was if key in has and key != "then")
        return bool(has.keys() - was.keys()) or any(_is_older(*pair) for pair in inner)
    if isinstance(was, list) and isinstance(has, list):
        return any(_is_older(*pair) for pair in zip(was, has, strict=False))
    return False


def first_path(one: Any, other: Any, path: str = "") -> str:
    """The first place in which two JSON values differ, with both."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if one.get(key) != other.get(key):
                return first_path(one.get(key), other.get(key), f"{path}/{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            if a != b:
                return first_path(a, b, f"{path}/{place}")
    return f"{path or '/'}: {text_of(one)[:200]} in the log, {text_of(other)[:200]} now"
