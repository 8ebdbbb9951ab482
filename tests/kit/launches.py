"""Launches on a simulated host: prepared, let go, frozen, ended as their `Life` says."""

from typing import TYPE_CHECKING, Any

from tests.kit.lives import LaunchHere
from xce.dispatch import protocol as p

if TYPE_CHECKING:
    from tests.kit.world import World

RESEND_US = 1_000_000
FREEZE_US = 700
LEVEL = {p.PREPARED: 1, p.READY: 1, p.RUNNING: 2, p.GONE: 3}
_UNPREPARED = {"fail": ("prepare_failed", ""), "bad": ("bad_task", "no such place")}
ALIVE = ("preparing", "armed", "running", "stopping")


class LaunchSide:
    """The part of a simulated host that has launches. `put` tells a report."""

    world: "World"
    boot: int
    enforces: bool
    launches: dict[int, LaunchHere]
    put: Any

    def obey_launch(self, order: p.LaunchOrder) -> None:
        """Raise the launch's level; never lower it."""
        known = LaunchHere(order.launch, order.generation, attempt=order.attempt)
        here = self.launches.setdefault(order.launch, known)
        here.level = max(here.level, LEVEL[order.target])
        here.task = here.task or order.task
        self._freeze(here, order.freeze)
        if here.level == LEVEL[p.GONE]:
            self._stop(here)
        elif here.phase == "new" and here.task is not None:
            here.phase = "preparing"
            here.life = self.world.life(here.task.job, here.attempt, here.number)
            self.world.occupy(self, here)
            if here.life.prepare != "hang":
                self.world.after(here.life.prepare_us, self._prepared, here, self.boot)
        elif here.phase == "armed" and here.level == LEVEL[p.RUNNING]:
            self._start(here)
        if here.phase in ("preparing", "running") and self.world.leases.is_over(self, here):
            self.world.leases.cut_off(self, here)

    def _prepared(self, here: LaunchHere, boot: int) -> None:
        if boot != self.boot or here.phase != "preparing":
            return
        if here.life.prepare in ("fail", "bad"):
            cause, told = _UNPREPARED[here.life.prepare]
            self.over(here, how="aborted", cause_of_end=cause, ran="no", message=told)
            return
        here.phase = "armed"
        if here.level == LEVEL[p.RUNNING]:
            self._start(here)
        else:
            self.put(p.Armed, launch=here.number, generation=here.generation)

    def _start(self, here: LaunchHere) -> None:
        here.phase, here.started_us = "running", self.world.now_us
        self.world.execute(self, here)
        self._put_started(here)
        if here.life.run_us is not None:
            here.ends_us = self.world.now_us + here.life.run_us
            here.left_us = here.life.run_us
            if not here.is_frozen:
                self.world.after(here.life.run_us, self._exits, here, self.boot, here.ends_us)
        if here.freeze:
            self._tell_frozen(here)
        self._watch_limit(here)
        if here.task is not None and here.task.terminate_us and self.enforces:
            wait_us = max(0, here.task.terminate_us - self.world.now_us)
            self.world.after(wait_us, self._limit, here, "deadline", self.boot)
        if here.task is not None and here.task.ready_port:
            self.world.after(here.life.ready_us, self._ready, here, self.boot)

    def _watch_limit(self, here: LaunchHere) -> None:
        """Time that it was frozen does not count."""
        if here.task is not None and here.task.run_limit_us and self.enforces:
            due_us = here.started_us + here.task.run_limit_us + here.stopped_us
            left_us = max(0, due_us - self.world.now_us)
            self.world.after(left_us, self._limit, here, "run_limit", self.boot)

    def _put_started(self, here: LaunchHere) -> None:
        self.put(p.Started, launch=here.number, generation=here.generation, at_us=here.started_us)

    def _freeze(self, here: LaunchHere, freeze: int) -> None:
        """The highest ever seen holds. What a frozen launch has still to do it does later."""
        if freeze <= here.freeze:
            return
        was_frozen = here.is_frozen
        here.freeze = freeze
        if here.phase != "running":
            return
        if here.is_frozen and not was_frozen:
            here.left_us = max(1, here.ends_us - self.world.now_us)
            here.frozen_us = self.world.now_us
        elif was_frozen and not here.is_frozen:
            here.ends_us = self.world.now_us + here.left_us
            here.stopped_us += self.world.now_us - here.frozen_us
            self.world.execute_again(self, here)
            self._watch_limit(here)
            if here.life.run_us is not None:
                self.world.after(here.left_us, self._exits, here, self.boot, here.ends_us)
        if here.level < LEVEL[p.GONE]:
            self.world.after(FREEZE_US, self._tell_frozen, here)

    def _tell_frozen(self, here: LaunchHere) -> None:
        if here.phase == "running":
            told = {"generation": here.generation, "freeze": here.freeze}
            self.put(p.Frozen, launch=here.number, **told)

    def _ready(self, here: LaunchHere, boot: int) -> None:
        if boot == self.boot and here.is_frozen:
            self.world.after(RESEND_US, self._ready, here, boot)
        elif boot == self.boot and here.phase == "running":
            self.put(p.Probed, launch=here.number, generation=here.generation)

    def _exits(self, here: LaunchHere, boot: int, due_us: int = 0) -> None:
        """By itself; what was frozen meanwhile does so later than was planned."""
        if boot != self.boot or here.phase not in ("running", "stopping"):
            return
        if here.is_frozen or due_us not in (0, here.ends_us):
            return
        how, code = (
            ("signalled", here.life.signal) if here.life.signal else ("exited", here.life.code)
        )
        self.over(here, how=how, code=code, ran="yes")

    def _limit(self, here: LaunchHere, cause: str, boot: int) -> None:
        """The host enforces a limit by itself."""
        if boot != self.boot or here.phase != "running":
            return
        if cause == "run_limit" and not self._is_over_limit(here):
            return
        at_once = here.is_frozen
        here.phase = "stopping"
        if at_once:
            self.killed(here, self.boot, cause)
        else:
            self.world.after(here.life.kill_us, self.killed, here, self.boot, cause)

    def _is_over_limit(self, here: LaunchHere) -> bool:
        assert here.task is not None
        run_us = self.world.now_us - here.started_us - here.stopped_us
        return not here.is_frozen and run_us >= here.task.run_limit_us

    def _stop(self, here: LaunchHere) -> None:
        if here.phase in ("new", "preparing", "armed"):
            self.over(here, how="aborted", cause_of_end="stopped", ran="no")
        elif here.is_frozen:
            # Others may have its room: it does not run again.
            here.phase = "stopping"
            self.killed(here, self.boot)
        elif here.phase == "running":
            here.phase = "stopping"
            self.world.after(here.life.kill_us, self.killed, here, self.boot)
        elif here.phase == "over":
            self.over(here, **(here.outcome or {}))

    def killed(self, here: LaunchHere, boot: int, cause: str = "stopped") -> None:
        """A launch that was told to stop has."""
        if boot == self.boot and here.phase == "stopping":
            self.over(here, how="signalled", code=15, cause_of_end=cause, ran="yes")

    def over(self, here: LaunchHere, **outcome: Any) -> None:
        """Nothing of a launch is left here."""
        here.outcome = outcome
        here.phase = "ended"
        self.world.vacate(self, here)
        self.put(
            p.Ended,
            launch=here.number,
            generation=here.generation,
            started_us=here.started_us,
            ended_us=self.world.now_us,
            **outcome,
        )
