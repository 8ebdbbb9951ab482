"""Leases of simulated work: the supervisors' side, and when both sides look at them.

Hosts whose line stands poll all the time, which the world leaves out: so they renew, and are
heard, whenever leases are looked at.
"""

from typing import TYPE_CHECKING

from tests.kit.agents import LaunchHere, SimAgent
from xce.controller.core.commands import HostFenced
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US
from xce.model.tables import LIVE_LAUNCH

if TYPE_CHECKING:
    from tests.kit.world import World


class Leases:
    """The leases of one world, looked at every second while the log has work with one."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._watching = False

    def watch(self) -> None:
        """Work with a lease may be somewhere."""
        if not self._watching:
            self._watching = True
            self._world.after(SECOND_US, self._look)

    def _look(self) -> None:
        self._watching = False
        world = self._world
        for name in sorted(world.agents):
            self._look_at(world.agents[name])
        world.silence()
        live = (one for one in world.state.launches.values() if one.state in LIVE_LAUNCH)
        if any(world.state.starts[one.start].stop_after_us for one in live):
            self.watch()

    def _look_at(self, agent: SimAgent) -> None:
        if not agent.muted and not self._world.leaderless and agent.incarnation:
            agent.renew(self._world.now_us)
        for here in list(agent.launches.values()):
            if here.phase in ("preparing", "armed", "running") and self.is_over(agent, here):
                self.cut_off(agent, here)

    def is_over(self, agent: SimAgent, here: LaunchHere) -> bool:
        """Whether the agent was not answered for longer than the launch's lease."""
        lease_us = here.task.lease_us if here.task is not None else 0
        return 0 < lease_us <= self._world.now_us - agent.renewed_us

    def cut_off(self, agent: SimAgent, here: LaunchHere) -> None:
        """The supervisor stops it; what runs takes all the grace that it has."""
        if here.is_frozen:
            here.phase = "stopping"
            agent.killed(here, agent.boot, "lease")
        elif here.phase == "running":
            here.phase = "stopping"
            grace_us = here.task.kill_grace_us if here.task is not None else 0
            self._world.after(grace_us, agent.killed, here, agent.boot, "lease")
        else:
            agent.over(here, how="aborted", cause_of_end="lease", ran="no")

    def fence(self, name: str) -> None:
        """A hook makes sure that the machine is off, and says so of the silence it was asked in."""
        host = self._world.state.hosts[name]
        self._world.agents[name].reboot()
        command = HostFenced(
            actor=CONTROLLER, host=name, incarnation=host.incarnation, down_us=host.changed_us,
            why="switched off",
        )  # fmt: skip
        self._world.inbox.append((command, None))
        self._world.turn()
