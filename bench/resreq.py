"""Figures of the resource requirement language: how long a text, a tree and a match take.

`cold_us` parses texts never seen before, `warm_us` one that was; `match_us` asks one host,
`columns_us` 10,000 hosts at once, `columns_of_five_us` the same with five conditions. Medians of
several rounds, in microseconds; `processor_us` has the same without the time in which others had
the processor.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from xce.model.resources import BUILT_IN
from xce.resreq import canonical, match, parse, parse_select, resolve
from xce.resreq.columns import columns_of, matching

TYPICAL = "select[mem>4000 && type==X86_64] rusage[mem=4000:ngpus_physical=2] span[ptile=4]"
SELECT = "mem>4000 && type==X86_64"
FIVE = "mem>4000 && swp>100 && type==X86_64 && (ut<0.5 || ncpus*200>mem/16)"
ROUNDS = 5
MB = 1 << 20


def run(argv: Sequence[str]) -> dict[str, object]:
    """Measures and gives the figures; prints nothing."""
    arguments = argparse.ArgumentParser(prog="bench resreq")
    arguments.add_argument("--texts", type=int, default=400, help="texts per round")
    arguments.add_argument("--hosts", type=int, default=10_000, help="hosts of the columns")
    given = arguments.parse_args(argv)
    wall, processor = _figures(given.texts, given.hosts)
    return {
        "name": "resreq",
        "figures": wall,
        "processor_us": processor,
        "setting": {"texts": given.texts, "hosts": given.hosts, "rounds": ROUNDS, "text": TYPICAL},
    }


def _figures(texts: int, hosts: int) -> tuple[dict[str, float], dict[str, float]]:
    made = parse(TYPICAL).tree
    node = parse_select(SELECT)
    five = parse_select(FIVE)
    rows = [_host(i) for i in range(hosts)]
    columns = columns_of(rows)
    seen = iter(range(10**9))
    measured = {
        "cold_us": _median_us(lambda: parse(TYPICAL.replace("4000", str(next(seen)))), texts),
        "warm_us": _median_us(lambda: parse(TYPICAL), 100 * texts),
        "print_us": _median_us(lambda: canonical(made), texts),
        "resolve_us": _median_us(lambda: resolve(made, types=BUILT_IN), texts),
        "match_us": _median_us(lambda: match(node, rows[-1]), 10 * texts),
        "columns_us": _median_us(lambda: matching(node, columns), 100),
        "columns_of_five_us": _median_us(lambda: matching(five, columns), 100),
    }
    wall = {name: both[0] for name, both in measured.items()}
    return wall, {name: both[1] for name, both in measured.items()}


def _host(i: int) -> dict[str, int | str | bool | None]:
    kind = "X86_64" if i % 2 else "ARM"
    return {"mem": i * MB, "swp": i * MB, "ncpus": i % 64, "ut": i % 1000, "type": kind}


def _median_us(call: Callable[[], object], times: int) -> tuple[float, float]:
    """By the clock, and by the processor."""
    call()
    rounds = [_round_us(call, times) for _ in range(ROUNDS)]
    wall, processor = zip(*rounds, strict=True)
    return round(statistics.median(wall), 2), round(statistics.median(processor), 2)


def _round_us(call: Callable[[], object], times: int) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    ended, spent = time.perf_counter(), time.process_time()
    return (ended - began) / times * 1e6, (spent - used) / times * 1e6
