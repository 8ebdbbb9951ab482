"""Freezing what runs of a launch, and letting it go on.

`freeze` counts what was asked: odd is frozen, even goes on, the highest ever asked holds. A control
group freezes at one stroke; where there is none every process of the tree is stopped, again and
again until a look finds nobody who runs. What cannot stop yet (it waits for a device) makes the
launch not frozen yet, and nothing is told before it is. The time is not counted as run time.
"""

from xce.agent.supervisor.endings import CLEAN_FIRST_S, CLEAN_MAX_S, RUNNING, Endings
from xce.agent.supervisor.kernel import clock_s
from xce.agent.supervisor.launch import Launch
from xce.agent.supervisor.wire import Message


class Freezer:
    """The freezing of all live launches."""

    def __init__(self, endings: Endings) -> None:
        self._endings = endings
        endings.look_frozen = self.look

    def handle(self, message: Message) -> None:
        """Freeze a launch, or let it go on; what is not running yet does so once it runs."""
        live = self._endings.live.get(message["launch"])
        if live is None:
            return
        if message["freeze"] > live.freeze:
            self._endings.ledger.note_frozen(live.launch, message["freeze"])
            live.freeze = message["freeze"]
        self._endings.after.append(lambda: self.act(live))

    def act(self, live: Launch) -> None:
        """Begin with what was asked last; also when it is let go."""
        if live.state != RUNNING or not live.freeze:
            return
        if live.frozen == live.freeze:
            self._tell(live)
        elif live.freeze % 2:
            live.frozen_since_s = live.frozen_since_s or clock_s()
            self.look(live)
        else:
            live.tree.thaw(self._endings.others(live))
            self._count_time(live)
            self._done(live)

    def look(self, live: Launch) -> None:
        """Freeze what does not stand still yet, and look again until all of it does."""
        if live.state != RUNNING or live.freeze % 2 == 0 or live.frozen == live.freeze:
            return
        if live.tree.freeze(self._endings.others(live)):
            self._done(live)
        else:
            live.freeze_tries = min(live.freeze_tries + 1, 10)
            self._endings.wake(live, min(CLEAN_MAX_S, CLEAN_FIRST_S * 2**live.freeze_tries))

    def _count_time(self, live: Launch) -> None:
        """The limit is as far away as it was when it was frozen."""
        if live.frozen_since_s:
            live.stopped_s += clock_s() - live.frozen_since_s
            live.frozen_since_s = 0.0
            self._endings.watch_limits(live)

    def _done(self, live: Launch) -> None:
        live.frozen, live.freeze_tries = live.freeze, 0
        self._tell(live)

    def _tell(self, live: Launch) -> None:
        known = {"launch": live.launch, "generation": live.generation}
        self._endings.tell({"event": "frozen", **known, "freeze": live.frozen})
