"""Job arrays: many jobs of one submission, each one letter until it is dispatched.

An array keeps one letter per index in blocks; a block that is all of one letter is that letter.
So a million pending elements are a thousand letters, and what an event moves costs the blocks
that it touches. `JOB` says that the element is a job of its own in the state: the job has the
truth then. Runs are (first, last, step): the indices first, first + step, ... up to last.

Pure. An array is changed by `moved` alone, which also keeps `tally`: a count per letter.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from re import compile as pattern

from msgspec import Struct, structs

from xce.model.ids import TextName, job_key
from xce.model.job import Job

BLOCK = 1_024
PENDING, HELD, JOB, DONE, EXITED, KILLED, NONE = LETTERS = "PHJDXK."
"""KILLED ended before it was ever a job; NONE is no index of the array."""

COUNTED = LETTERS[:-1]
STATE_OF = {
    PENDING: "PENDING", HELD: "HELD", DONE: "DONE", EXITED: "EXITED", KILLED: "EXITED",
}  # fmt: skip

Run = tuple[int, int, int]
Runs = tuple[Run, ...]


class Array(Struct, frozen=True, gc=False, kw_only=True):
    """A job array. `text` is its list of indices as users write it, `last` the largest of them,
    `step` that of the first range; `limit` how many elements may run at once (0: all). `tally`
    counts the elements by letter, in the order of COUNTED. `exit_code` is that of the first
    element that left the state with one that is not 0; `killed_by` who last killed elements that
    waited; `ended_us` when the last element ended, 0 while one has not. `after` and what follows
    it is the dependency of all elements, as of a job."""

    number: int
    spec: TextName
    owner: int
    queue: str
    priority: int
    submit_us: int
    name: str
    text: str
    last: int
    step: int
    limit: int = 0
    pending_us: int = 0
    not_before_us: int = 0
    blocks: tuple[str, ...] = ()
    tally: tuple[int, ...] = (0,) * len(COUNTED)
    exit_code: int = 0
    killed_by: str = ""
    ended_us: int = 0
    position: int = 0
    after: str = ""
    after_ids: str = ""
    after_latched: tuple[int, ...] = ()
    after_met_us: int = 0

    def count(self, letter: str) -> int:
        """How many elements have the letter."""
        return self.tally[COUNTED.index(letter)]

    @property
    def size(self) -> int:
        """How many elements there are."""
        return sum(self.tally)

    def letter(self, index: int) -> str:
        """An index's letter."""
        place, at = divmod(index - 1, BLOCK)
        if index < 1 or place >= len(self.blocks):
            return NONE
        block = self.blocks[place]
        return block if len(block) == 1 else block[at]


def filled(array: Array, runs: Runs) -> Array:
    """The array with these indices pending and no others."""
    last = max(end for _, end, _ in runs)
    empty = structs.replace(array, blocks=(NONE,) * (-(-last // BLOCK)))
    return moved(empty, runs, PENDING)


def moved(array: Array, runs: Iterable[Run], letter: str) -> Array:
    """The array with the elements of these runs under `letter`."""
    blocks = list(array.blocks)
    tally = dict(zip(COUNTED, array.tally, strict=True))
    for first, last, step in runs:
        for place, inside in _by_block(first, last, step):
            block = blocks[place]
            before = block * len(inside) if len(block) == 1 else _at(block, inside)
            for one in COUNTED if len(block) > 1 else block:
                if one in tally:
                    tally[one] -= before.count(one)
            tally[letter] += len(inside)
            blocks[place] = _painted(block, inside, letter)
    return structs.replace(array, blocks=tuple(blocks), tally=tuple(tally[one] for one in COUNTED))


def _at(block: str, inside: range) -> str:
    return block[inside.start : inside.stop : inside.step]


def _by_block(first: int, last: int, step: int) -> Iterator[tuple[int, range]]:
    """A run as places of blocks and ranges inside them."""
    index = first
    while index <= last:
        place, at = divmod(index - 1, BLOCK)
        end = min(last - 1 - place * BLOCK, BLOCK - 1)
        inside = range(at, end + 1, step)
        yield place, inside
        index += len(inside) * step


def _painted(block: str, inside: range, letter: str) -> str:
    if len(inside) == BLOCK or block == letter:
        return letter
    paper = bytearray(block * BLOCK if len(block) == 1 else block, "ascii")
    paper[inside.start : inside.stop : inside.step] = letter.encode() * len(inside)
    text = paper.decode("ascii")
    return letter if text.count(letter) == BLOCK else text


# -- looking -----------------------------------------------------------------------------------


def indices_of(array: Array, letters: str, after: int = 0) -> Iterator[int]:
    """Indices beyond `after` that have one of the letters, ascending."""
    for first, last, _ in spans_of(array, letters, after + 1):
        yield from range(first, last + 1)


def spans_of(array: Array, letters: str, first: int = 1, last: int = 0) -> Iterator[Run]:
    """Stretches of indices from `first` to `last` (0: the end) that all have one of the letters.
    Costs the blocks, not the indices."""
    wanted = pattern(f"[{''.join(letters)}]+")
    end = min(last or array.last, array.last)
    begun = 0
    for place in range((first - 1) // BLOCK, len(array.blocks)):
        base = place * BLOCK + 1
        if base > end:
            break
        block, low, high = array.blocks[place], max(first, base), min(end, base + BLOCK - 1)
        if len(block) == 1:
            found = [(low, high)] if block in letters else []
        else:
            matches = wanted.finditer(block, low - base, high - base + 1)
            found = [(base + one.start(), base + one.end() - 1) for one in matches]
        if begun and (not found or found[0][0] != low):
            yield begun, low - 1, 1
            begun = 0
        for begin, stop in found:
            open_, begun = begun or begin, 0
            if stop == high == base + BLOCK - 1 and stop < end:
                begun = open_
            else:
                yield open_, stop, 1
    if begun:
        yield begun, end, 1


def has_index(runs: Iterable[Run], index: int) -> bool:
    """Whether an index is in one of the runs."""
    return any(first <= index <= last and not (index - first) % step for first, last, step in runs)


def among(array: Array, runs: Runs, letters: str) -> Runs:
    """The elements of these runs (none: of all) that have one of the letters, as runs that
    ascend and do not overlap, however the given ones do."""
    if not runs:
        return packed(spans_of(array, letters))
    found: list[Run] = []
    for first, last, step in _within(array, runs):
        if step == 1:
            found.extend(spans_of(array, letters, first, last))
        else:
            picked = (one for one in range(first, last + 1, step) if array.letter(one) in letters)
            found.extend(runs_of(picked))
    return packed(found)


def _within(array: Array, runs: Runs) -> Iterable[Run]:
    """Runs as far as the array goes, ascending; those that overlap as what they cover together."""
    end = array.last
    cut = ((first, min(last, end - (end - first) % step), step) for first, last, step in runs)
    ordered = sorted(run for run in cut if run[0] <= end)
    if all(before[1] < after[0] for before, after in pairwise(ordered)):
        return ordered
    empty = structs.replace(array, blocks=(), tally=(0,) * len(COUNTED))
    return spans_of(filled(empty, tuple(ordered)), PENDING)


def packed(runs: Iterable[Run]) -> Runs:
    """Runs of one index each, equally far apart, as one run."""
    found: list[Run] = []
    for first, last, step in runs:
        if found and first == last:
            begin, end, wide = found[-1]
            if begin == end or first - end == wide:
                found[-1] = (begin, first, first - end)
                continue
        found.append((first, last, step))
    return tuple(found)


def runs_of(indices: Iterable[int]) -> Runs:
    """Ascending indices as runs."""
    return packed((one, one, 1) for one in indices)


def runs_text(runs: Runs) -> str:
    """Runs as people write them: `1-10:2,20`."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}{f':{step}' if step > 1 else ''}"
        for first, last, step in runs
    )


def element_of(array: Array, index: int) -> Job:
    """The job that an element is, as its letter says it."""
    letter = array.letter(index)
    return Job(
        key=job_key(array.number, index),
        spec=array.spec,
        owner=array.owner,
        queue=array.queue,
        priority=array.priority,
        state=STATE_OF[letter],
        submit_us=array.submit_us,
        name=f"{array.name}[{index}]",
        pending_us=array.pending_us,
        not_before_us=array.not_before_us,
        after=array.after,
        after_ids=array.after_ids,
        after_latched=array.after_latched,
        after_met_us=array.after_met_us,
    )
