"""What the controller itself writes down: a takeover, a configuration, the end of a session."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.reloading import close_left, merge_again, with_used_queues
from xce.controller.core.life.draft import Draft
from xce.controller.core.resources.decide import merged
from xce.model.actor import ADMIN, SYSTEM
from xce.model.ids import host_ref
from xce.model.records import ConfigLoaded, CutClosed, LeaderStarted, SessionEnded

Answer = tuple[dict[str, Any], dict[str, bytes]]


def start_leading(draft: Draft, command: c.StartLeading) -> c.Rejection | Answer:
    """A takeover: every host joins anew; nothing heard in an earlier epoch is evidence."""
    state = draft.state
    facts = LeaderStarted(
        holder=command.holder,
        version=command.version,
        database=command.database,
        boot_id=command.boot_id,
        resumed_lsn=command.resumed_lsn,
    )
    lsn = draft.open(facts, [host_ref(name) for name in sorted(state.hosts)])
    for name in sorted(state.hosts):
        draft.fire("liveness", name, "lead", question=lsn, changed_us=draft.now_us)
    for of in sorted(state.observed):
        draft.drop("observed", of, "lead")
    return {"epoch": state.epoch}, {}


def load_config(draft: Draft, command: c.LoadConfig) -> c.Rejection | Answer:
    """Put a configuration in force; the same one again is nothing. What was declared at run time
    stays (see `resources.decide.merged`)."""
    if command.actor.kind not in (ADMIN, SYSTEM):
        return c.Rejection(code="not_allowed", message="only an administrator may load settings")
    setting = draft.state.tables["setting"].get("config")
    if setting is not None and setting.digest == command.digest:
        return {"changed": False}, {}
    before = draft.state.config
    config, kept = merged(draft.state, command.config, draft.state.lsn + 1)
    config, queues = with_used_queues(draft.state, config)
    draft.open(ConfigLoaded(digest=command.digest, config=config), [])
    close_left(draft, command.config)
    blobs = merge_again(draft, before)
    if config.dependencies != before.dependencies:
        arrays = draft.state.arrays
        for key in draft.state.index.links.waiting():
            draft.moved["array" if key in arrays else "job", key] = None
    refused = before.allow_root and not config.allow_root
    return {"changed": True, "kept": [*kept, *queues], "root_refused": refused}, blobs


def end_session(draft: Draft, command: c.EndSession) -> c.Rejection | Answer:
    """Close a session that changed something."""
    facts = SessionEnded(
        session=command.session,
        planned=command.planned,
        stale=command.stale,
        blocked=command.blocked,
    )
    draft.open(facts, [])
    return {"session": command.session}, {}


def note_cut(draft: Draft, command: c.NoteCut) -> c.Rejection | Answer:
    """Say in the log that a cut was closed; nothing else moves."""
    facts = CutClosed(cut_lsn=command.cut_lsn, count=command.count, digest=command.digest)
    draft.open(facts, [])
    return {"cut": command.cut_lsn}, {}
