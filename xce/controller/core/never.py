"""What can never fit is told when it is submitted, where the site says so.

The question is asked of the hosts as if nothing ran on them, by the very code that places. It is
asked once for each kind of request while the inventory and the configuration stay as they are.
"""

from msgspec import json, structs

from xce.controller.core.commands import Rejection, SubmitGroup, SubmitJob
from xce.controller.core.decide import decide
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.state import State
from xce.controller.core.view import Viewer
from xce.model.ids import job_key, parse_group, parse_job
from xce.scheduler.candidates import emptied
from xce.scheduler.reasons import Cure
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, Snapshot

END_OF_TIME_US = 1 << 62
KINDS_MAX = 10_000


class NeverFits:
    """Remembers its answers by what was asked."""

    def __init__(self, state: State, viewer: Viewer) -> None:
        self._state = state
        self._viewer = viewer
        self._seen = (-1, -1)
        self._known: dict[bytes, str] = {}

    def with_answer(self, command: SubmitJob | SubmitGroup, now_us: int) -> SubmitJob | SubmitGroup:
        """The command with why it can never fit; as it is where it may fit some day."""
        state = self._state
        if not state.config.refuse_never_fits or not state.hosts:
            return command
        seen = (state.index.inventory, state.config_lsn)
        if seen != self._seen or len(self._known) > KINDS_MAX:
            self._seen, self._known = seen, {}
        bare = structs.replace(command, blobs={}, request=type(command.request)())
        if isinstance(bare, SubmitJob):
            spec = structs.replace(bare.spec, command=(), env=(), environment="", script="")
            bare = structs.replace(bare, spec=spec)
        key = json.encode(bare)
        if key not in self._known:
            self._known[key] = self._asked(command, now_us)
        return structs.replace(command, never=self._known[key])

    def _asked(self, command: SubmitJob | SubmitGroup, now_us: int) -> str:
        state = self._state
        outcome = decide(state, structs.replace(command, never=""), now_us)
        if isinstance(outcome, Rejection):
            return ""
        for name, blob in outcome.blobs.items():
            state.intern(name, blob)
        with state.trial():
            for record in outcome.records:
                apply(state, record)
            ask = self._ask(command, outcome.body)
            snapshot = self._viewer.snapshot(now_us, {}, limit=0)
        for name in outcome.blobs:
            if name not in state.index.users:
                state.forget(name)
        return _why(snapshot, ask) if ask is not None else ""

    def _ask(self, command: SubmitJob | SubmitGroup, told: dict[str, object]) -> Ask | None:
        """The ask as the session would see it, whenever it may begin."""
        if isinstance(command, SubmitGroup):
            number = parse_group(str(told["group"])) or 0
            return self._viewer.ask(number, 0, f"g{number}", END_OF_TIME_US)
        key = parse_job(str(told["job"])) or 0
        if command.indices:
            key = job_key(key, command.indices[0][0])
        return self._viewer.ask(0, key, "never", END_OF_TIME_US)


def _why(snapshot: Snapshot, ask: Ask) -> str:
    alone = structs.replace(
        emptied(snapshot), pending=(ask,), known={}, holds=(), ends=(), time_policies={},
        shut_queues={}, bounds=(), job_groups={},
    )  # fmt: skip
    plan = run_session(alone)
    if plan.placements or not plan.reasons:
        return ""
    why = plan.reasons[0].reason
    return why.text() if why.cure is Cure.NEVER else ""
