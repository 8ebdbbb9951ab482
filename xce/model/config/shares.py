"""Who shares a queue with whom, and how: user groups, share trees, and the way to one's account.

Users are uids as text, since names are the machine's and may change; the reader of the file looks
names up. In a list of shares `@physics` is a group that shares as one and divides what it has by
its own list, `physics@` gives each member the same, `default` is each user that nobody named, and
`others` all of those together.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from xce.model.config.timing import SECOND_US

ALL = "all"
DEFAULT, OTHERS = "default", "others"
Shares = tuple[tuple[str, int], ...]
_ALIKE: Shares = ((DEFAULT, 1),)


class UserGroup(Struct, frozen=True, gc=False, kw_only=True):
    """A group of users: uids, `@group`, or `all`. `shares` divides what the group has of a tree;
    without it all members are alike."""

    name: str
    members: tuple[str, ...] = ()
    shares: Shares = ()


class ShareTree(Struct, frozen=True, gc=False, kw_only=True):
    """Queues that share by one tree. Factors are thousandths; history falls to a tenth within
    `history_us`."""

    name: str
    queues: tuple[str, ...] = ()
    shares: Shares = _ALIKE
    history_us: int = 5 * 3600 * SECOND_US
    cpu_time_factor: int = 700
    run_time_factor: int = 700
    committed_run_time_factor: int = 0
    run_job_factor: int = 3000
    adjustment_factor: int = 0
    gpu_run_time_factor: int = 0


def is_member(
    groups: Sequence[UserGroup], name: str, owner: int, seen: tuple[str, ...] = ()
) -> bool:
    """Whether a user is in a group, also by way of groups that are in it."""
    found = next((group for group in groups if group.name == name), None)
    if found is None or name in seen:
        return False
    uid, deeper = str(owner), (*seen, name)
    return any(
        one in (uid, ALL) or (one[:1] == "@" and is_member(groups, one[1:], owner, deeper))
        for one in found.members
    )


def groups_of(groups: Sequence[UserGroup], owner: int) -> tuple[str, ...]:
    """The names of the groups that a user is in, as they are declared."""
    return tuple(group.name for group in groups if is_member(groups, group.name, owner))


def matches(groups: Sequence[UserGroup], who: Iterable[str], owner: int) -> bool:
    """Whether a list of users names this one: any of its words, and none that `~` takes out."""
    named = False
    for one in who:
        taken, word = (one[:1] == "~"), one.removeprefix("~")
        if word in (ALL, str(owner)) or (word[:1] == "@" and is_member(groups, word[1:], owner)):
            if taken:
                return False
            named = True
    return named or all(one[:1] == "~" for one in who)


def account_of(
    groups: Sequence[UserGroup], tree: ShareTree, owner: int, charged: str = ""
) -> Shares:
    """The nodes from the top of a tree to a user's account, each as (path, shares). `charged` is
    the group that work names for itself. A user whom no list has room for has no shares."""
    found: list[tuple[str, int]] = []
    path, level = tree.name, tree.shares
    seen: list[str] = []
    while True:
        who, shares = _entry(groups, level, owner, "" if charged in seen else charged) or ("", 0)
        if who[:1] == "@" and who not in seen:
            seen += [who, who[1:]]
            path += f"/{who[1:]}"
            found.append((path, shares))
            own = next(group for group in groups if group.name == who[1:])
            level = own.shares or _ALIKE
            continue
        if who == OTHERS:
            path += f"/{OTHERS}"
            found.append((path, shares))
            shares = 1
        return (*found, (f"{path}/{owner}", shares))


def _entry(
    groups: Sequence[UserGroup], level: Shares, owner: int, charged: str
) -> tuple[str, int] | None:
    """The entry of one list that counts for a user: by the group charged, by name, by group, by a
    group's each, then `default` and `others`."""
    members = [
        (who, shares)
        for who, shares in level
        if who[:1] == "@" and is_member(groups, who[1:], owner)
    ]
    for who, shares in members if charged else ():
        if who[1:] == charged or _holds(groups, who[1:], charged):
            return who, shares
    each = [
        (who, shares)
        for who, shares in level
        if who[-1:] == "@" and is_member(groups, who[:-1], owner)
    ]
    mine = [pair for pair in level if pair[0] == str(owner)]
    rest = [pair for word in (DEFAULT, OTHERS) for pair in level if pair[0] == word]
    return next(iter((*mine, *members, *each, *rest)), None)


def _holds(groups: Sequence[UserGroup], outer: str, inner: str, depth: int = 0) -> bool:
    """Whether one group is inside another."""
    found = next((group for group in groups if group.name == outer), None)
    if found is None or depth > len(groups):
        return False
    inside = [one[1:] for one in found.members if one[:1] == "@"]
    return any(one == inner or _holds(groups, one, inner, depth + 1) for one in inside)
