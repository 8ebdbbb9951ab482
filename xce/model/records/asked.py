"""Records of what users ask."""

from msgspec import Struct

from xce.model.ids import TextName
from xce.model.job import Past
from xce.model.records.form import Body


class JobSubmitted(Body, frozen=True, gc=False, kw_only=True):
    """A job was accepted. `array` is the index text, "" for a plain job, `indices` its runs
    (first, last, step) and `array_limit` how many elements may run at once; `asked` the requirement
    as it was written, where it is not the canonical one that the spec holds. `after` is its
    dependency as it was written, `after_ids` with numbers for names, `past` what the history said
    of work that it names and that had left the state; what of it holds at once is in `then`."""

    job: int
    array: str = ""
    spec: TextName
    owner: int
    queue: str
    priority: int
    after: str = ""
    name: str = ""
    asked: str = ""
    held: bool = False
    after_ids: str = ""
    indices: tuple[tuple[int, int, int], ...] = ()
    array_limit: int = 0
    past: tuple[Past, ...] = ()


class RoleSpan(Struct, frozen=True, gc=False, array_like=True):
    """The members of one role: `count` jobs from `first_job` on, ranks 0 .. count-1."""

    name: str
    first_job: int
    count: int


class GroupSubmitted(Body, frozen=True, gc=False, kw_only=True):
    """A gang was accepted whole; its members are named by role, first job and count. `asked`
    holds each role's requirement as it was written, where it is not the canonical one."""

    group: int
    name: str
    spec: TextName
    owner: int
    queue: str
    priority: int
    roles: tuple[RoleSpan, ...]
    member_specs: tuple[TextName, ...]
    asked: tuple[str, ...] = ()


class GroupSealed(Body, frozen=True, gc=False, kw_only=True):
    """A group that was built up takes no more members."""

    group: int


class JobChanged(Body, frozen=True, gc=False, kw_only=True):
    """One field of a job was changed on request (hold and its end among them); of an array that of
    `elements` (none: all). `launches` are those whose hosts must hear of it; `spec` is the blob of
    its new spec, "" where that stays."""

    job: int
    field: str
    new: str
    spec: TextName = ""
    launches: tuple[int, ...] = ()
    elements: tuple[tuple[int, int, int], ...] = ()


class Latched(Struct, frozen=True, gc=False, array_like=True):
    """What is known for good of one job's dependency: the places of conditions that came to
    hold, and whether all of it is met."""

    job: int
    conditions: tuple[int, ...]
    met: bool


class DependencyLatched(Body, frozen=True, gc=False, kw_only=True):
    """What one event means for all jobs that waited for it."""

    jobs: tuple[Latched, ...]


class JobGroupChanged(Body, frozen=True, gc=False, kw_only=True):
    """A job group was made (`add`), has another limit (`modify`), or went (`remove`)."""

    path: str
    event: str
    limit: int
    owner: int


class KillAsked(Body, frozen=True, gc=False, kw_only=True):
    """A user, an operator or a rule asked that a job or a group end; of an array those of
    `elements` (none: all)."""

    job: int = 0
    group: int = 0
    reason: str = "user"
    signal: str = ""
    elements: tuple[tuple[int, int, int], ...] = ()


class SuspendAsked(Body, frozen=True, gc=False, kw_only=True):
    """A job or a gang is to be stopped, or, while it is pending, held; of an array what runs of
    `elements` (none: all). `by`: user (its owner), operator or system; `why` is for people."""

    job: int = 0
    group: int = 0
    by: str
    why: str = ""
    elements: tuple[tuple[int, int, int], ...] = ()


class ResumeAsked(Body, frozen=True, gc=False, kw_only=True):
    """A suspended job or gang is to go on; of an array what was stopped of `elements` (none: all).
    Where something of it was lent, a plan gives that back first."""

    job: int = 0
    group: int = 0
    by: str
    elements: tuple[tuple[int, int, int], ...] = ()
