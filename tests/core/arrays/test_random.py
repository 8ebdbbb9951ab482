"""Random commands on arrays against a model that holds each element in a dictionary."""

import random

import hypothesis.strategies as st
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.core.arrays.chance import some_runs
from tests.core.lab import Life, lab
from tests.kit.words import ANNA, array
from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job, is_over, running_of, tally_of
from xce.controller.core.fold.check import check
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.config import SECOND_US
from xce.model.ids import job_key
from xce.wal.memory import MemoryLog

WAITS = ("PENDING", "HELD")
RUNS = ("STARTING", "RUNNING", "ENDING")
SLOTS = 5


class Arrays(RuleBasedStateMachine):
    """One host of five slots; elements run until they are told to end, well or not."""

    def __init__(self) -> None:
        super().__init__()
        self.world = lab(1, slots=SLOTS, gpu_count=0)
        self.world.scripts.default = lambda name, attempt: Life(run_us=None)
        self.model: dict[int, dict[int, str]] = {}
        self.limits: dict[int, int] = {}

    # -- what is asked -------------------------------------------------------------------------
    @rule(seed=st.integers(0, 10_000), limit=st.sampled_from((0, 0, 1, 2, 4)), held=st.booleans())
    def submit(self, seed: int, limit: int, held: bool) -> None:
        """A new array."""
        runs = some_runs(random.Random(seed), 12)
        number = self.world.submit(array(*runs, limit=limit, held=held))
        indices = {i for first, last, step in runs for i in range(first, last + 1, step)}
        self.model[number] = dict.fromkeys(sorted(indices), "HELD" if held else "PENDING")
        self.limits[number] = limit
        self._settle()

    @rule(seed=st.integers(0, 10_000), kind=st.sampled_from((c.Kill, c.Suspend, c.Resume)))
    def ask(self, seed: int, kind: type[c.Kill] | type[c.Suspend] | type[c.Resume]) -> None:
        """Something of an array, of some elements or of one."""
        number, indices, command = self._some(seed, kind)
        if number not in self.model:
            return
        if kind is not c.Kill:
            self._only_waiting(number, indices)
        answer = self.world.ask(command)
        mine = self.model[number]
        named = [index for index in indices if index in mine]
        if isinstance(answer, c.Rejection):
            goes = {c.Kill: WAITS + RUNS, c.Suspend: ("PENDING",), c.Resume: ("HELD",)}[kind]
            assert not any(mine[index] in goes for index in named), (answer, mine)
            return
        for index in named:
            if kind is c.Kill and mine[index] in WAITS + RUNS:
                mine[index] = "EXITED"
            elif kind is c.Suspend and mine[index] == "PENDING":
                mine[index] = "HELD"
            elif kind is c.Resume and mine[index] == "HELD":
                mine[index] = "PENDING"
        self._settle()

    @rule(seed=st.integers(0, 10_000), limit=st.integers(0, 5))
    def limit(self, seed: int, limit: int) -> None:
        """Another slot limit."""
        alive = [number for number in self.model if not self._over(number)]
        if alive:
            number = random.Random(seed).choice(alive)
            self.world.ask_body(c.LimitArray(actor=ANNA, job=number, limit=limit))
            self.limits[number] = limit
            self._settle()

    @rule(seed=st.integers(0, 10_000), code=st.sampled_from((0, 0, 3)))
    def end(self, seed: int, code: int) -> None:
        """An element that runs ends by itself."""
        running = [
            (number, index)
            for number, mine in self.model.items()
            for index, state in mine.items()
            if state == "RUNNING"
        ]
        if not running:
            return
        number, index = random.Random(seed).choice(running)
        (launch,) = self.world.state.jobs[job_key(number, index)].launches
        here = self.world.agents["n1"].launches[launch]
        here.life = Life(code=code)
        self.world.agents["n1"]._exits(here, here.attempt)
        self.model[number][index] = "DONE" if code == 0 else "EXITED"
        self._settle()

    @rule()
    def takeover(self) -> None:
        """A cut, and another leader."""
        self.world.cut()
        self.world.change_leader()
        self._settle()

    @rule()
    def clean(self) -> None:
        """The clean period passes: what ended leaves."""
        self.world.run(self.world.config.clean_period_us + SECOND_US)
        for number in [number for number in self.model if self._over(number)]:
            assert number not in self.world.state.arrays
            del self.model[number]
        assert not any(job.state in ("DONE", "EXITED") for job in self.world.state.jobs.values())

    # -- what must hold ------------------------------------------------------------------------
    @invariant()
    def alike(self) -> None:
        """Every element is in the state that the model says, and counted so."""
        state = self.world.state
        assert set(state.arrays) == set(self.model)
        for number, mine in self.model.items():
            for index in range(1, 14):
                job = found_job(state, job_key(number, index))
                if job is not None or index in mine:
                    assert job is not None, (number, index)
                    assert job.state == mine[index], (number, index, job.state, mine)
            counts: dict[str, int] = {}
            for one in mine.values():
                counts[one] = counts.get(one, 0) + 1
            assert tally_of(state, number) == counts
            assert is_over(state, number) == self._over(number)
            assert running_of(state, number) == counts.get("RUNNING", 0)
        check(state)
        again, _ = recover(MemoryLog(self.world.store))
        again.epoch = state.epoch
        assert digest(again) == digest(state)

    # -- the model ------------------------------------------------------------------------------
    def _over(self, number: int) -> bool:
        return all(one in ("DONE", "EXITED") for one in self.model[number].values())

    def _some(
        self, seed: int, kind: type[c.Kill] | type[c.Suspend] | type[c.Resume]
    ) -> tuple[int, list[int], c.Command]:
        chance = random.Random(seed)
        if not self.model:
            return 0, [], c.Kill(actor=ANNA, job=1)
        number = chance.choice(sorted(self.model))
        if chance.random() < 0.3:
            index = chance.randint(1, 13)
            return number, [index], kind(actor=ANNA, job=job_key(number, index))
        runs = some_runs(chance, 13) if chance.random() < 0.7 else ()
        found = {i for first, last, step in runs for i in range(first, last + 1, step)}
        indices = sorted(found) if runs else list(self.model[number])
        return number, indices, kind(actor=ANNA, job=number, elements=runs)

    def _only_waiting(self, number: int, indices: list[int]) -> None:
        """Suspending what runs is the matter of other tests: here such elements end before."""
        mine = self.model[number]
        for index in [one for one in indices if mine.get(one) == "RUNNING"]:
            self.world.ask_body(c.Kill(actor=ANNA, job=job_key(number, index)))
            mine[index] = "EXITED"
        self._settle()
        again = [one for one in indices if mine.get(one) == "RUNNING"]
        if again:
            self._only_waiting(number, indices)

    def _settle(self) -> None:
        """Let the world come to rest, and place in the model what has room: in the order of the
        submissions, by index, within the slots and each array's limit."""
        self.world.run(60 * SECOND_US)
        free = SLOTS - sum(
            one == "RUNNING" for mine in self.model.values() for one in mine.values()
        )
        for number, mine in sorted(self.model.items()):
            limit = self.limits[number] or SLOTS
            room = limit - sum(one == "RUNNING" for one in mine.values())
            for index in sorted(mine):
                if mine[index] == "PENDING" and free > 0 and room > 0:
                    mine[index] = "RUNNING"
                    free, room = free - 1, room - 1


TestArrays = Arrays.TestCase
TestArrays.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
