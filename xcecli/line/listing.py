"""Lists of jobs, elements of arrays and arrays: `xcecli jobs` once its line is read.

An array's number names all its elements, `12[1-50]` some of them; with -A each array is one line
with LSF's counts. Standard library only.
"""

from __future__ import annotations

import json

from xcecli import say
from xcecli.doing import format_of, hosts_text, named, place_of, quoted
from xcecli.wire import Place, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COLUMNS = (
    ("JOBID", 7),
    ("USER", 7),
    ("STAT", 5),
    ("QUEUE", 10),
    ("FROM_HOST", 11),
    ("EXEC_HOST", 11),
    ("JOB_NAME", 10),
    ("SUBMIT_TIME", 12),
)
ARRAY_COLUMNS = (
    ("JOBID", 8),
    ("ARRAY_SPEC", 12),
    ("OWNER", 7),
    ("NJOBS", 5),
    ("PEND", 4),
    ("DONE", 4),
    ("RUN", 4),
    ("EXIT", 4),
    ("SSUSP", 5),
    ("USUSP", 5),
    ("PSUSP", 5),
)
_FILTERS = ("user", "queue", "name", "group", "limit")
_COUNTED = {
    "PEND": ("PEND",), "DONE": ("DONE",), "RUN": ("RUN", "PROV", "UNKWN"),
    "EXIT": ("EXIT", "ZOMBI"), "SSUSP": ("SSUSP",), "USUSP": ("USUSP",),
    "PSUSP": ("PSUSP",),
}  # fmt: skip


def jobs(values: dict[str, Any], words: list[str]) -> int:
    """List jobs, or arrays."""
    how = format_of(values)
    place = place_of(values)
    arrays = bool(values.get("arrays"))
    answer, code = _named(place, values, words) if words else (_listed(place, values), say.OK)
    if how == "json":
        print(json.dumps(answer))
    elif arrays and answer["items"]:
        rows = [array_row(one) for one in answer["items"]]
        print(say.table(ARRAY_COLUMNS, rows, wide=True))
    elif values.get("long") and answer["items"]:
        _print_long(place, answer["items"])
    elif answer["items"]:
        rows = [row_of(job) for job in answer["items"]]
        print(say.table(COLUMNS, rows, wide=how == "wide"))
    elif not words:
        say.tell(_none_found(values))
    if len(answer["items"]) < answer["total"]:
        say.tell(f"{len(answer['items'])} of {answer['total']} are shown; --limit shows more")
    return code


def _listed(place: Place, values: dict[str, Any]) -> dict[str, Any]:
    """A list of all that the options ask for."""
    noun = "arrays" if values.get("arrays") else "jobs"
    status, answer = call(place, "GET", f"/v1/{noun}{_query(values)}")
    if status >= 300:
        raise say.failure_of(status, answer)
    told: dict[str, Any] = answer
    return told


def _named(place: Place, values: dict[str, Any], words: list[str]) -> tuple[dict[str, Any], int]:
    """What the words name, in their order, and the first failure's exit code."""
    items: list[dict[str, Any]] = []
    total, code = 0, say.OK
    for word in words:
        status, told = call(place, "GET", f"/v1/jobs/{named(word)}{_query(values)}")
        if status < 300 and values.get("arrays") and "array" not in told:
            status, told = 422, {"detail": f"Job <{word}> is no job array"}
        elif status < 300 and "array" in told and not values.get("arrays"):
            more = f"{_query(values) or '?'}&elements=all"
            status, told = call(place, "GET", f"/v1/jobs/{named(word)}{more}")
        if status >= 300:
            say.tell_failure(say.failure_of(status, told))
            code = code or say.exit_code_of(status)
            continue
        items += told.get("items", [told])
        total += told.get("total", 1)
    return {"items": items, "next": None, "total": total}, code


def array_row(one: dict[str, Any]) -> list[str]:
    """An array as a line of `jobs -A`."""
    counts = {
        head: sum(one["stats"].get(stat, 0) for stat in stats) for head, stats in _COUNTED.items()
    }
    spec = f"{one['name']}{one['array']}"
    shown = [str(count) for count in counts.values()]
    return [one["id"], spec, one["user"], str(one["elements"]), *shown]


def _print_long(place: Place, items: list[dict[str, Any]]) -> None:
    """Each job whole; one that has left meanwhile is passed over."""
    from xcecli.long import job_lines

    shown = []
    for item in items:
        status, told = call(place, "GET", f"/v1/jobs/{named(item['id'])}")
        if status < 300:
            shown.append("\n".join(map(say.line, job_lines(told))))
    print("\n\n".join(shown))


def _none_found(values: dict[str, Any]) -> str:
    for word in ("pending", "running", "suspended"):
        if values.get(word):
            return f"No {word} job found"
    return "No job found" if values.get("all") or values.get("ended") else "No unfinished job found"


def _query(values: dict[str, Any]) -> str:
    stats = []
    if values.get("pending"):
        stats += ["PEND", "PSUSP"]
    if values.get("suspended"):
        stats += ["PSUSP", "USUSP", "SSUSP"]
    if values.get("running"):
        stats += ["PROV", "RUN", "UNKWN", "ZOMBI", "FIN"]
    if values.get("ended"):
        stats += ["DONE", "EXIT"]
    parts = [f"stat={','.join(stats)}"] if stats else []
    if values.get("all"):
        parts.append("all=true")
    parts += [f"{name}={quoted(str(values[name]))}" for name in _FILTERS if name in values]
    return f"?{'&'.join(parts)}" if parts else ""


def row_of(job: dict[str, Any]) -> list[str]:
    """A job as a line of the list."""
    return [
        job["id"],
        job["user"],
        job["stat"],
        job["queue"],
        "-",
        hosts_text(job["hosts"]) or job["ended_on"] or "-",
        job["name"],
        say.when(job["submit_us"]),
    ]
