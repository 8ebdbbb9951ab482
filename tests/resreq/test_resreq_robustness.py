"""Whatever the text, there is an answer, and soon: a slice of the on-demand fuzz run.

`XCE_RESREQ_FUZZ=2000000 pytest tests/resreq/test_resreq_robustness.py` tries that many and
watches that memory does not grow.
"""

import random
import time

import pytest

from tests.resreq.fuzz import CLEARED_EVERY, COUNT, GROWTH_BYTES_MAX, mutated, resident_bytes
from xce.resreq import ResreqError, canonical, merge_requirements, parse
from xce.resreq.parse import _parse

SEEDS = [
    "select[type==any && mem>4000] order[-ut:mem] rusage[mem=4000:duration=30m:decay=1]",
    "type==any order[ut] same[model] rusage[mem=1]",
    "select[hname!='host06-x12' || !defined(lic)]",
    "rusage[mem=20:swp=50:duration=1h, license=1:duration=2]",
    "rusage[mem=(50 10):duration=(10):decay=(0)]",
    "rusage[mem=20:app=1||mem=20:swp=50/host]",
    "span[ptile='!',HP:8,LINUX:2] same[type]",
    "cu[type=rack:pref=maxavail:maxcus=2]",
    "affinity[core(2,same=socket,exclusive=(socket,injob))*2:cpubind=core:distribute=pack(numa=1)]",
    "1*{select[bigmem] rusage[mem=64G]} + 31*{rusage[mem=4G] span[ptile=8]} + {a}",
    "{2*{select[a100]}+4*{select[cpuonly]}} || {6*{select[v100]}}@30",
    "-:mem=500:-bsd",
    "ncpus*2>mem/1024 && -(it+1)<=3.5e",
]
PIECES = [
    *"[]{}()'\"!&|=<>+-*/,:;@.#% \t\n0aZ_",
    *["&&", "||", "==", "select[", "rusage[", "2*{", "defined(", "4GB", "9" * 50, "é", "“", "nan"],
]


def answered(text: str, mode: str) -> bool:
    """Parses; a refusal must have a place inside the text, a tree must print and read back."""
    try:
        made = parse(text, mode=mode).tree
    except ResreqError as error:
        refusal = error
    else:
        assert parse(canonical(made), mode=mode).tree == made
        return True
    assert 1 <= refusal.column <= len(text) + 1
    assert "^" in refusal.caret()
    return False


def test_mutated_requirements_are_answered_without_a_crash_a_hang_or_growing_memory() -> None:
    source = random.Random(20261129)
    count = COUNT or 1500
    taken, before = 0, 0
    for index in range(count):
        text = mutated(source, SEEDS, PIECES)
        began = time.process_time()
        taken += answered(text, "strict" if index % 2 else "compat")
        assert time.process_time() - began < 1, text
        if index % CLEARED_EVERY == 0:
            _parse.cache_clear()
        if index == count // 10:
            before = resident_bytes()
    assert 0 < taken < count
    assert resident_bytes() - before < GROWTH_BYTES_MAX


@pytest.mark.parametrize(
    "text",
    [
        "select[" + " && ".join(f"r{i}>0" for i in range(2000)) + "]",
        "select[" + "+".join("a" for _ in range(2000)) + ">1]",
        "select[" + "<".join("a" for _ in range(2000)) + "]",
        "select[" + "||".join("mem>1" for _ in range(3000)),
        " + ".join(f"1*{{select[mem>{i}]}}" for i in range(500)),
        "||".join(f"{{select[mem>{i}]}}" for i in range(300)),
        "rusage[" + "||".join(f"lic{i}=1" for i in range(400)) + "]",
        "(" * 100_000,
        "a" * 100_000,
        "9" * 100_000,
        "'" * 99_999,
        " " * 100_000 + "a",
        "!" * 100_000 + "a",
        "a-" * 50_000,
        "mem=" * 50_000,
        "[" * 100_000 + "]" * 100_000,
    ],
    ids=lambda text: f"{text[:12]}...{len(text)}",
)
def test_huge_texts_are_answered_in_time(text: str) -> None:
    began = time.process_time()
    answered(text, "strict")
    answered(text, "compat")
    assert time.process_time() - began < 5


def test_merging_many_requirements_is_quick() -> None:
    texts = [f"select[hname!=cn{i}]" for i in range(300)]
    began = time.process_time()
    merged = merge_requirements(texts).tree
    assert canonical(merged).count("&&") == 299
    assert time.process_time() - began < 3
