"""What a run came to, in numbers. The definitions, with sources, are in docs/reference/metrics.md.

Sums are whole microseconds and fractions; only what is printed is rounded, so that equal results
are equal texts everywhere.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from xce.sim.readers.form import SECOND_US
from xce.sim.results import Row

TAU_US = 10 * SECOND_US
"""The bound of the bounded slowdown: shorter runs count as ten seconds."""
SHARES = (50, 95, 99)
EDGE = 20
"""A twentieth of the time at either end is left out of the windowed utilisation."""
SIZES = ((1, "1"), (7, "2-7"), (8, "8"), (72, "9-72"))

Numbers = dict[str, Any]


def wait_us(row: Row) -> int:
    """From submission to start."""
    return row.start_us - row.submit_us


def turnaround_us(row: Row) -> int:
    """From submission to end."""
    return row.end_us - row.submit_us


def slowdown(row: Row) -> Fraction:
    """The bounded slowdown."""
    run_us = row.end_us - row.start_us
    return max(Fraction(1), Fraction(wait_us(row) + run_us, max(run_us, TAU_US)))


def percentile(ordered: Sequence[Any], share: int) -> Any:
    """The smallest value that `share` percent of all do not exceed."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _spread(values: Iterable[int], unit: int, places: int) -> Numbers:
    ordered = sorted(values)
    if not ordered:
        return {}
    found: Numbers = {"mean": _decimal(Fraction(sum(ordered), len(ordered) * unit), places)}
    for share in SHARES:
        found[f"p{share}"] = _decimal(Fraction(percentile(ordered, share), unit), places)
    found["max"] = _decimal(Fraction(ordered[-1], unit), places)
    return found


def _decimal(value: Fraction, places: int) -> float:
    """A fraction as a decimal, rounded half up by whole numbers."""
    scale = 10**places
    digits = (value.numerator * scale * 2 + value.denominator) // (2 * value.denominator)
    return float(digits / scale)


NANO = 1_000_000_000


def of_jobs(rows: Sequence[Row]) -> Numbers:
    """The numbers that are about jobs by themselves."""
    if not rows:
        return {"jobs": 0}
    return {
        "jobs": len(rows),
        "wait_s": _spread(map(wait_us, rows), SECOND_US, 4),
        "turnaround_s": _spread(map(turnaround_us, rows), SECOND_US, 4),
        "bounded_slowdown": _spread(map(_nano, rows), NANO, 6),
        "backfilled_share": _decimal(Fraction(sum(row.overtook for row in rows), len(rows)), 6),
    }


def _nano(row: Row) -> int:
    """The bounded slowdown in whole thousandths of millionths: sums of many stay small."""
    value = slowdown(row)
    return value.numerator * NANO // value.denominator


def of_cluster(rows: Sequence[Row], processors: int) -> Numbers:
    """The numbers that are about the cluster: makespan and utilisation."""
    if not rows or not processors:
        return {}
    first_us, last_us = min(row.submit_us for row in rows), max(row.end_us for row in rows)
    span_us = last_us - first_us
    edge_us = span_us // EDGE
    return {
        "makespan_s": span_us // SECOND_US,
        "utilisation": _used(rows, processors, first_us, last_us),
        "utilisation_windowed": _used(rows, processors, first_us + edge_us, last_us - edge_us),
    }


def _used(rows: Sequence[Row], processors: int, from_us: int, until_us: int) -> float:
    used = sum(
        max(0, min(row.end_us, until_us) - max(row.start_us, from_us)) * row.processors
        for row in rows
    )
    return _decimal(Fraction(used, max(1, until_us - from_us) * processors), 6)


def size_class(row: Row) -> str:
    """The class of a job's size."""
    return next((name for most, name in SIZES if row.processors <= most), ">72")


GROUPS: dict[str, Callable[[Row], str]] = {
    "size": size_class,
    "user": lambda row: str(row.user),
    "queue": lambda row: row.queue,
}


def metrics(rows: Sequence[Row], processors: int, by: Sequence[str] = ()) -> Numbers:
    """All numbers of a run; `by` names groups that are told one by one, too."""
    found = {**of_jobs(rows), **of_cluster(rows, processors)}
    for name in by:
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(GROUPS[name](row), []).append(row)
        found[f"by_{name}"] = {key: of_jobs(groups[key]) for key in sorted(groups)}
    return found


def flat(numbers: Numbers, path: str = "") -> Iterable[tuple[str, Any]]:
    """Numbers as (dotted name, value), for tables."""
    for name, value in numbers.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value
