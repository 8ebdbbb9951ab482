"""Dependencies against a slow evaluator: random expressions over random histories.

The judge here is another one: it reads nothing but the log, keeps every job's state in a dict and
values each expression from its own tree after each decision. A job must be met at exactly the
decision at which its expression first held, and must never have been placed before.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.lab import Life, lab
from tests.kit.words import OPS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.records import JobSubmitted, Record

Tree = Any
TRUE, LATER, NEVER = "true", "later", "never"
FOR_GOOD = ("done", "ended", "exit")
LEAVES = st.tuples(
    st.sampled_from(("done", "ended", "exit", "exit0", "exit1", "started")), st.integers(0, 40)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("!"), inner),
        st.tuples(st.just("&&"), inner, inner),
        st.tuples(st.just("||"), inner, inner),
    ),
    max_leaves=5,
)
ACTS = st.lists(
    st.tuples(
        st.sampled_from(("submit", "submit", "submit", "kill", "requeue", "lead", "cut", "wait")),
        TREES,
        st.integers(0, 1_000),
    ),
    min_size=6,
    max_size=24,
)


def leaf_text(leaf: Tree, known: int) -> tuple[str, str, int]:
    """A leaf of the tree as (text, word, job)."""
    word, pick = leaf
    number = 1 + pick % known
    if word in ("exit0", "exit1"):
        return f"exit({number}, {'== 0' if word == 'exit0' else '>= 1'})", word, number
    return f"{word}({number})", word, number


def text_of(tree: Tree, known: int) -> str:
    """The expression as a user writes it."""
    if tree[0] == "!":
        return f"!({text_of(tree[1], known)})"
    if tree[0] in ("&&", "||"):
        return f"({text_of(tree[1], known)}) {tree[0]} ({text_of(tree[2], known)})"
    return leaf_text(tree, known)[0]


class Slow:
    """All that a log says of jobs, and what it means for expressions."""

    def __init__(self) -> None:
        self.states: dict[int, str] = {}
        self.codes: dict[int, int] = {}
        self.held: dict[tuple[int, str, int], None] = {}

    def fold(self, record: Record) -> None:
        if isinstance(record.body, JobSubmitted):
            self.states[record.body.job] = "PENDING"
        for change in record.body.then:
            if change.what != "job" or change.set is None:
                continue
            key = int(change.key)
            ended = change.set.get("exit")
            if ended is not None:
                how = ended["how"] if isinstance(ended, dict) else ended.how
                code = ended["code"] if isinstance(ended, dict) else ended.code
                self.codes[key] = code if how == "exited" else 128 + code if code else 0
            self.states[key] = change.set.get("state", self.states.get(key, ""))

    def leaf(self, who: int, leaf: Tree, known: int) -> str:
        _, word, number = leaf_text(leaf, known)
        if (who, word, number) in self.held:
            return TRUE
        state = self.states[number]
        if word == "started":
            return TRUE if state in ("RUNNING", "ENDING", "DONE", "EXITED") else LATER
        if state not in ("DONE", "EXITED"):
            return LATER
        code = self.codes.get(number, 0)
        good = {
            "done": state == "DONE",
            "ended": True,
            "exit": state == "EXITED",
            "exit0": state == "EXITED" and code == 0,
            "exit1": state == "EXITED" and code >= 1,
        }[word]
        if good:
            self.held[who, word, number] = None
        return TRUE if good else NEVER

    def value(self, who: int, tree: Tree, known: int, no: bool = False) -> str:
        if tree[0] == "!":
            return self.value(who, tree[1], known, not no)
        if tree[0] in ("&&", "||"):
            both = [self.value(who, one, known, no) for one in tree[1:]]
            worst_first = (tree[0] == "&&") != no
            order = (NEVER, LATER, TRUE) if worst_first else (TRUE, LATER, NEVER)
            return next(one for one in order if one in both)
        found = self.leaf(who, tree, known)
        if not no:
            return found
        if found == TRUE:
            return LATER if tree[0] == "started" else NEVER
        return TRUE


def judged_slowly(world: World, asked: dict[int, tuple[Tree, int]]) -> dict[int, int]:
    """By job, the moment at which its expression first held, from the log alone."""
    slow, met, begun = Slow(), {}, {}
    records = world.records
    for at, record in enumerate(records):
        slow.fold(record)
        if at + 1 < len(records) and records[at + 1].cause == record.cause:
            continue
        for key, (tree, known) in asked.items():
            if key in met or key not in slow.states:
                continue
            if slow.states[key] in ("DONE", "EXITED"):
                continue
            if slow.value(key, tree, known) == TRUE:
                met[key] = record.at_us
            elif slow.states[key] not in ("PENDING", "HELD"):
                begun[key] = record.lsn
    assert not begun, f"placed before they were met: {begun}"
    return met


def play(acts: list[tuple[str, Tree, int]]) -> tuple[World, dict[int, tuple[Tree, int]]]:
    """A world in which all that was done."""
    world = lab(1, slots=3)
    asked: dict[int, tuple[Tree, int]] = {}
    for number in range(1, 4):
        world.submit(job(name=f"j{number}"))
    for what, tree, pick in acts:
        known = world.state.last("job")
        key = 1 + pick % known
        if what == "submit":
            life = Life(run_us=(pick % 5) * 700_000 + 1_000, code=pick % 3)
            world.scripts.lives[str(known + 1)] = life
            made = world.submit(job(after=text_of(tree, known)))
            asked[made] = (tree, known)
        elif what == "kill":
            world.ask(c.Kill(actor=OPS, job=key))
        elif what == "requeue":
            world.ask(c.RequeueJob(actor=OPS, job=key, which=("running", "done", "exited")))
        elif what == "lead":
            world.change_leader()
        elif what == "cut":
            world.cut()
        world.run(pick * 2_000)
    world.run(30 * SECOND_US)
    return world, asked


@settings(max_examples=60, deadline=None)
@given(ACTS)
def test_each_job_is_met_when_a_slow_evaluator_says_so(
    acts: list[tuple[str, Tree, int]],
) -> None:
    world, asked = play(acts)
    met = judged_slowly(world, asked)
    for key in asked:
        found = world.state.jobs[key].after_met_us
        assert found == met.get(key, 0), f"job {key} {world.state.jobs[key].after_ids}"
