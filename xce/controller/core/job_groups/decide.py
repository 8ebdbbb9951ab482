"""Making, changing and removing job groups."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.model.actor import ADMIN, OPERATOR, USER, Actor
from xce.model.ids import job_group_ref
from xce.model.records import JobGroupChanged
from xce.model.waiting.job_group import NO_LIMIT, JobGroup, below, is_below, lineage, wrong_path

Answer = tuple[dict[str, Any], dict[str, bytes]]
LIMIT_MAX = 2**31 - 1


def change_job_group(draft: Draft, command: c.ChangeJobGroup) -> c.Rejection | Answer:
    """Make a group, change its limit, or take it away."""
    wrong = wrong_path(command.path)
    if wrong:
        return c.Rejection(code="invalid", message=f"Bad job group name: {wrong}", field="path")
    act = {"add": _add, "modify": _modify, "remove": _remove}[command.event]
    return act(draft, command)


def _add(draft: Draft, command: c.ChangeJobGroup) -> c.Rejection | Answer:
    actor, path = command.actor, command.path
    if actor.kind not in (USER, OPERATOR, ADMIN):
        return c.Rejection(code="not_allowed", message=f"{actor.text()} makes no job groups")
    if path in draft.state.job_groups:
        return c.Rejection(code="conflict", message=f"Job group <{path}> exists already")
    wrong = _wrong_limit(draft.state, path, command.limit)
    if wrong is not None:
        return wrong
    facts = JobGroupChanged(path=path, event="add", limit=command.limit, owner=actor.uid)
    draft.open(facts, [job_group_ref(facts.path)])
    return {"path": path, "limit": _shown(command.limit)}, {}


def _modify(draft: Draft, command: c.ChangeJobGroup) -> c.Rejection | Answer:
    group = _mine(draft.state, command.actor, command.path)
    if isinstance(group, c.Rejection):
        return group
    wrong = _wrong_limit(draft.state, command.path, command.limit)
    if wrong is not None:
        return wrong
    if group.limit != command.limit:
        facts = JobGroupChanged(
            path=group.path, event="modify", limit=command.limit, owner=group.owner
        )
        draft.open(facts, [job_group_ref(facts.path)])
        draft.patch("job_group", group.path, limit=command.limit)
    return {"path": group.path, "limit": _shown(command.limit)}, {}


def _remove(draft: Draft, command: c.ChangeJobGroup) -> c.Rejection | Answer:
    """A group goes with those below it; none of them may have a job that has not ended."""
    state, path = draft.state, command.path
    group = _mine(state, command.actor, path)
    if isinstance(group, c.Rejection):
        return group
    live = sum(
        count
        for one, counts in state.index.job_groups.own.items()
        if is_below(one, path)
        for name, count in counts.items()
        if name not in ("DONE", "EXITED")
    )
    if live:
        said = f"Job group <{path}> still has {live} job{'s' if live > 1 else ''} not ended"
        return c.Rejection(
            code="conflict", message=said, hint=f"end them first: xcecli kill -g {path}"
        )
    for one in reversed(below(iter(state.job_groups), path)):
        found = state.job_groups[one]
        facts = JobGroupChanged(path=one, event="remove", limit=found.limit, owner=found.owner)
        draft.open(facts, [job_group_ref(facts.path)])
        draft.drop("job_group", one, "remove")
    return {"path": path}, {}


def _mine(state: State, actor: Actor, path: str) -> JobGroup | c.Rejection:
    """The group, for its owner, the owner of one that it is below, or an operator."""
    group = state.job_groups.get(path)
    if group is None:
        hint = ""
        if any(is_below(one, path) for one in state.index.job_groups.own):
            hint = f"it is there by its jobs only; make it: xcecli jobgroup add {path}"
        said = f"Job group <{path}>: No such job group"
        return c.Rejection(code="not_found", message=said, hint=hint)
    owners = [state.job_groups[one].owner for one in lineage(path) if one in state.job_groups]
    if not any(actor.may_change(owner) for owner in owners):
        return _not_yours(actor, path)
    return group


def _not_yours(actor: Actor, path: str) -> c.Rejection:
    return c.Rejection(
        code="not_allowed",
        message=f"Job group <{path}>: User permission denied",
        hint=f"it belongs to another user than uid {actor.uid}",
    )


def _wrong_limit(state: State, path: str, limit: int) -> c.Rejection | None:
    """A limit is no larger than that of a group above, and no smaller than that of one below."""
    if not NO_LIMIT <= limit <= LIMIT_MAX:
        said = f"a limit is from 0 to {LIMIT_MAX}"
        return c.Rejection(code="invalid", message=said, field="limit")
    if limit == NO_LIMIT:
        return None
    for one, group in sorted(state.job_groups.items()):
        if one == path or group.limit == NO_LIMIT:
            continue
        if is_below(path, one) and limit > group.limit:
            said = f"the limit {limit} exceeds that of <{one}>, which is {group.limit}"
        elif is_below(one, path) and limit < group.limit:
            said = f"the limit {limit} is less than that of <{one}> below it, {group.limit}"
        else:
            continue
        return c.Rejection(code="conflict", message=f"Job group <{path}>: {said}", field="limit")
    return None


def _shown(limit: int) -> int | None:
    return None if limit == NO_LIMIT else limit
