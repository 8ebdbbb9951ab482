"""How things are numbered and how their numbers are written.

Jobs are ints; an array element keeps its job's number in the low 32 bits and its index above,
so that one key type serves both, a plain job's key is its number, and JSON stays exact
(an index needs at most 21 bits). Everything else is numbered by a counter of its own that is
part of the state, so that a number is never given out twice, also not after a crash.

Texts: jobs `12`, elements `12[3]`, groups `g7`, claims `c7`, hosts `host:n1`, job groups
`jobgroup:/a`, queues `queue:q`, instances `instance:n1/gpu/0`. The texts name entities in
records, history and messages.
"""

import re
from typing import Annotated

from msgspec import Meta

TextName = Annotated[str, Meta(extra={"text": True})]
"""The hash of a text that is kept beside the records (spec, script, environment), "" for none. A
field of this type is found by recovery, wherever it is (`core/fold/interned.py`)."""

INDEX_SHIFT = 32
INDEX_MAX = 1 << 20
_INDEX_BITS = 21

_JOB = re.compile(r"(\d{1,10})(?:\[(\d{1,7})\])?\Z", re.ASCII)
_GROUP = re.compile(r"g(\d{1,12})\Z", re.ASCII)
_CLAIM = re.compile(r"c(\d{1,12})\Z", re.ASCII)


def job_key(number: int, index: int = 0) -> int:
    """The key of job `number`, or of its element `index` (1-based; 0 is the job itself)."""
    return index << INDEX_SHIFT | number


def array_key(number: int) -> int:
    """The key under which an array's elements wait together: behind each of them alone."""
    return job_key(number, INDEX_MAX + 1)


def is_array_key(key: int) -> bool:
    """Whether a key is an array's, not a job's."""
    return key >> INDEX_SHIFT > INDEX_MAX


def job_number(key: int) -> int:
    """The number that a user sees before the bracket."""
    return key & (1 << INDEX_SHIFT) - 1


def job_index(key: int) -> int:
    """The element's index, 0 for a job that is no element."""
    return key >> INDEX_SHIFT


def place_of(key: int) -> int:
    """A key as a place in the order of numbers, elements of one job by their index."""
    return job_number(key) << _INDEX_BITS | job_index(key)


def key_at(place: int) -> int:
    """The key at a place."""
    return job_key(place >> _INDEX_BITS, place & (1 << _INDEX_BITS) - 1)


def job_text(key: int) -> str:
    """`12` or `12[3]`."""
    index = job_index(key)
    return f"{job_number(key)}[{index}]" if index else str(key)


def parse_job(text: str) -> int | None:
    """The key that `12` or `12[3]` names, None when the text is no job id."""
    found = _JOB.match(text)
    if found is None:
        return None
    number, index = int(found[1]), int(found[2] or 0)
    if not 0 < number < 1 << INDEX_SHIFT or index > INDEX_MAX or (found[2] and index == 0):
        return None
    return job_key(number, index)


def group_text(group: int) -> str:
    """`g7`."""
    return f"g{group}"


def parse_group(text: str) -> int | None:
    """The number that `g7` names, None when the text is no group id."""
    found = _GROUP.match(text)
    return int(found[1]) if found else None


def claim_text(claim: int) -> str:
    """`c7`."""
    return f"c{claim}"


def parse_claim(text: str) -> int | None:
    """The number that `c7` names, None when the text is no claim id."""
    found = _CLAIM.match(text)
    return int(found[1]) if found else None


def claim_key(claim: int) -> int:
    """The key under which a claim stands where jobs do: what asks for a place, or holds one."""
    return -claim


def claim_of(key: int) -> int:
    """The claim of such a key, 0 for a job's."""
    return -key if key < 0 else 0


def asker_text(key: int) -> str:
    """`c7` for a claim's key, `12` or `12[3]` for a job's."""
    return claim_text(-key) if key < 0 else job_text(key)


def host_ref(name: str) -> str:
    """How records name a host."""
    return f"host:{name}"


def job_group_ref(path: str) -> str:
    """How records name a job group."""
    return f"jobgroup:{path}"


def instance_key(host: str, type_name: str, name: str) -> str:
    """The key of an instance: unique in the cluster and readable in a record."""
    return f"{host}/{type_name}/{name}"
