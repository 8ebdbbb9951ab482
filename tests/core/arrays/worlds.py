"""Small worlds with arrays, and short looks at them."""

from tests.core.lab import Life, lab
from tests.kit.world import World
from xce.model.config import SECOND_US
from xce.model.waiting.array import COUNTED

ALL_DONE = Life(run_us=SECOND_US)
LONG = Life(run_us=600 * SECOND_US)


def world_of(slots: int = 4, life: Life = ALL_DONE, count: int = 1) -> World:
    """Hosts of so many slots; every element lives like this."""
    world = lab(count, slots=slots, gpu_count=0)
    world.scripts.default = lambda name, attempt: life
    return world


def running(world: World, number: int) -> list[int]:
    """Indices of the elements that run, in order."""
    found = (job for job in world.state.jobs.values() if job.state in ("STARTING", "RUNNING"))
    return sorted(job.key >> 32 for job in found if job.key & 0xFFFFFFFF == number)


def letters(world: World, number: int) -> dict[str, int]:
    """The counts of an array's letters, those that are not 0."""
    tally = zip(COUNTED, world.state.arrays[number].tally, strict=True)
    return {letter: count for letter, count in tally if count}
