"""Job groups: a tree of names like `/nightly/build` that jobs are put into.

A group that jobs name is there as long as one of them is in the state; only groups that somebody
made are entities, with an owner and perhaps a limit, and stay until they are removed.
"""

from collections.abc import Iterator
from functools import lru_cache
from re import compile as pattern

from msgspec import Struct

CHARACTERS_MAX = 512
NO_LIMIT = -1
ROOT = "/"
_LEVEL = pattern(r"[A-Za-z0-9_.@%+=,-]+")


class JobGroup(Struct, frozen=True, gc=False, kw_only=True):
    """A group that was made. `limit` is how many jobs of it and of all groups below it may have
    started at once; NO_LIMIT is none."""

    path: str
    owner: int
    limit: int = NO_LIMIT
    created_us: int = 0


@lru_cache(maxsize=4_096)
def wrong_path(path: str) -> str:
    """What keeps a text from being the name of a job group; "" when nothing does."""
    if not path.startswith("/") or path == ROOT:
        return "a job group begins with `/` and names at least one level, like /nightly/build"
    if len(path) > CHARACTERS_MAX:
        return f"a job group has at most {CHARACTERS_MAX} characters"
    if path.endswith("/") or "//" in path:
        return "a level of a job group is empty"
    odd = next((level for level in path[1:].split("/") if not _LEVEL.fullmatch(level)), "")
    return f"the level {odd!r} has more than letters, digits and _ . @ % + = , -" if odd else ""


@lru_cache(maxsize=4_096)
def lineage(path: str) -> tuple[str, ...]:
    """A group and all that it is below, the nearest first; `/` last. () for no group."""
    if not path:
        return ()
    levels = path[1:].split("/")
    own = ("/" + "/".join(levels[:count]) for count in range(len(levels), 0, -1))
    return (*own, ROOT)


def is_below(path: str, top: str) -> bool:
    """Whether a group is `top` or below it."""
    return path == top or path.startswith(top if top == ROOT else f"{top}/")


def below(paths: Iterator[str], top: str) -> list[str]:
    """Those of the groups that are `top` or below it, in order."""
    return sorted(path for path in paths if is_below(path, top))
