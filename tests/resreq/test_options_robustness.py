"""Array names, dependencies, -gpu strings and scripts: whatever the text, there is an answer.

`XCE_RESREQ_FUZZ=2000000 pytest tests/resreq/test_options_robustness.py` tries that many of each
kind and watches that memory does not grow.
"""

import random
import time
from collections.abc import Callable

import pytest

from tests.resreq.fuzz import CLEARED_EVERY, COUNT, GROWTH_BYTES_MAX, mutated, resident_bytes
from xce.resreq import ResreqError
from xce.resreq.options.arrays import canonical_array, parse_array
from xce.resreq.options.dependency import canonical_dependency, parse_dependency
from xce.resreq.options.gpu import canonical_gpu, parse_gpu
from xce.resreq.options.script import read_script
from xce.resreq.parse import _parse

ARRAYS = ["name[1-10:2,20]%3", "J[1,3,5-9]", "x-y.z_1[3-3]", "a[1-2147483647]", "a[ 1 - 5 ]"]
DEPENDENCIES = [
    'done(12) && (exit("prep", != 0) || numdone(13, >= 5))',
    "!(ended(chgres*) || started(5[3-4])) && external(7, 'ready')",
    "time(5:18:30-1:8:30 20:00-8:00) || post_err(a.b-c) && numhold(5, *)",
]
GPUS = [
    "num=2/task:mode=exclusive_process:mps=yes,shared,nocvd:j_exclusive=yes:aff=yes",
    "num=1/host:gmodel=TeslaV100-32G:gmem=12GB:gtile=!:glink=yes:gvendor=nvidia",
    "mig=3/2:block=yes",
    "-",
]
SCRIPTS = [
    "#!/bin/bash\n#BSUB -n 4,8 -R \"rusage[mem=4GB] span[hosts=1]\" # four\n#BSUB -J 'a[1-9]%2'\n",
    "#BSUB -gpu num=1:gmem=12G \\\n#BSUB -W 1:30/host -M 4GB! -q long\necho a\n##BSUB -x\n",
    "#!/bin/csh\r\n# BSUB -w 'done(1)' -b 20:00 -Q 'all ~0' -N 2\r\n#BUSB -x\r\n BSUB -x\n",
    "#BSUB -J <a name> -P [proj] -o %OUT%/$HOME -R\u201cmem>1\u201d \u2013n 4; -Rselect[a]\n",
]
PIECES = [
    *"[]{}()'\"!&|=<>+-*/,:;@.#% \t\n\r\\0a9_~$",
    *("&&", "||", "done(", "num=", "#BSUB ", "-R ", "-n", "%J", "9" * 30, "\u201c", "\u2013", "\0"),
]


def reads_back(parse: Callable[[str], object], canonical: Callable[..., str], text: str) -> bool:
    """Parses; a refusal has a place inside the text, what is taken prints and reads back."""
    try:
        made = parse(text)
    except ResreqError as error:
        refusal = error
    else:
        assert parse(canonical(made)) == made
        return True
    assert 1 <= refusal.column <= len(text) + 1
    assert "^" in refusal.caret()
    return False


def script_reads(text: str) -> bool:
    """Is read; everything found has a place inside the script."""
    reading = read_script(text)
    lines = text.split("\n")
    for one in (*reading.errors, *reading.warnings):
        assert 1 <= one.line <= len(lines)
        assert 1 <= one.column <= len(lines[one.line - 1]) + 2, (one, text)
    reading.effective()
    reading.fields()
    return reading.valid


KINDS: dict[str, tuple[list[str], Callable[[str], bool]]] = {
    "arrays": (ARRAYS, lambda text: reads_back(parse_array, canonical_array, text)),
    "dependencies": (
        DEPENDENCIES,
        lambda text: reads_back(parse_dependency, canonical_dependency, text),
    ),
    "gpus": (GPUS, lambda text: reads_back(parse_gpu, canonical_gpu, text)),
    "scripts": (SCRIPTS, script_reads),
}


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_texts_are_answered_without_a_crash_a_hang_or_growing_memory(kind: str) -> None:
    seeds, answered = KINDS[kind]
    source = random.Random(20261129)
    count = COUNT or 600
    taken, before = 0, 0
    for index in range(count):
        text = mutated(source, seeds, PIECES)
        began = time.process_time()
        taken += answered(text)
        assert time.process_time() - began < 1, text
        if index % CLEARED_EVERY == 0:
            for cached in (_parse, parse_array, parse_dependency, parse_gpu):
                cached.cache_clear()
        if index == count // 10:
            before = resident_bytes()
    assert 0 < taken < count
    assert resident_bytes() - before < GROWTH_BYTES_MAX


@pytest.mark.parametrize(
    "text",
    [
        "#BSUB " + "-n 4 " * 20_000,
        "#BSUB -J '" + "x" * 200_000,
        "#BSUB -n 4 \\\n" * 20_000,
        "#BSUB " + "a " * 50_000,
        "#BSUB -R " + "(" * 100_000,
        "##BSUB -n\n" * 50_000,
        "#BSUB -J " + "<a " * 2_000,
        "#BSUB -R select[a]\n" * 2_000,
        "#" * 200_000 + "BSUB",
        "# " * 100_000 + "BSUB -",
    ],
    ids=lambda text: f"{text[:14]!r}...{len(text)}",
)
def test_huge_scripts_are_answered_in_time(text: str) -> None:
    began = time.process_time()
    script_reads(text)
    assert time.process_time() - began < 5
