"""The `-gpu` option: `num=2/task:mode=exclusive_process:gmodel=H100:gmem=40GB`.

A request keeps what was given and nothing else, so that levels can be merged key by key: the
job's, over its application's, over its queue's. It comes down to what a resource requirement
comes down to: `requirement` is the reservation it stands for, `instances` the instances of every
task with a select over their attributes. What the session cannot honour yet is kept in the
request and named by `not_honoured`, never dropped in silence.

`num` counts per host unless it says `/task`; a model matches by its beginning; a bare size is MB.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct, structs

from xce.model.need import InstanceNeed
from xce.model.units import UnitError, format_size, nearest, parse_size
from xce.resreq import tree
from xce.resreq.errors import Code, ResreqError
from xce.resreq.print import canonical_select

TYPE, RESERVED = "gpu", "ngpus_physical"
NUMBER_MAX = 65_536
DEFAULTS = "-"

SHARED, EXCLUSIVE = "shared", "exclusive_process"
_MPS_WORDS = ("yes", "no", "per_socket", "per_gpu")
_MPS_MORE = ("shared", "nocvd")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]*")
_MEMORY = re.compile(r"#|-(?=\d+(\.\d+)?[KMGTP]B?$)", re.IGNORECASE)


class GpuError(ResreqError):
    """A GPU requirement that cannot be taken."""

    syntax_text = "Invalid GPU requirement"


class GpuRequest(Struct, frozen=True, gc=False, kw_only=True):
    """What was given: 0, "" and () for what was not. Switches are `yes` or `no`; `mps` is its
    word and what follows it; `gtile` a number or `!`; `mig` the size of the GPU instance and, if
    given, of the compute instance. The memory of a `gmodel` stands in `model_bytes`."""

    num: int = 0
    per: tree.Per = tree.Per.DEFAULT
    mode: str = ""
    mps: tuple[str, ...] = ()
    j_exclusive: str = ""
    aff: str = ""
    block: str = ""
    gpack: str = ""
    gvendor: str = ""
    gmodel: str = ""
    model_bytes: int = 0
    gmem_bytes: int = 0
    gtile: str = ""
    glink: str = ""
    mig: tuple[int, ...] = ()


@lru_cache(maxsize=4096)
def parse_gpu(text: str) -> GpuRequest:
    """The request of a text; raises GpuError with a column."""
    try:
        return _read(text)
    except GpuError as error:
        error.text = text
        raise


def canonical_gpu(request: GpuRequest) -> str:
    """The one printed form; reads back as an equal request."""
    parts = [f"{key}={shown}" for key, show in _SHOWN.items() if (shown := show(request))]
    return ":".join(parts) or DEFAULTS


def merge_gpu(*levels: GpuRequest | None) -> GpuRequest | None:
    """What counts of several levels, the highest first: of each key the highest that gives it."""
    given = [level for level in levels if level is not None]
    if not given:
        return None
    fields: dict[str, object] = {}
    for level in reversed(given):
        own = {name: value for name, value in structs.asdict(level).items() if value}
        if "num" in own:
            own["per"] = level.per
        if "gmodel" in own:
            own["model_bytes"] = level.model_bytes
        fields.update(own)
    merged = GpuRequest(**fields)  # type: ignore[arg-type]
    _judge(merged, {})
    return merged


# --- what it comes down to ----------------------------------------------------------------------


def requirement(request: GpuRequest) -> tree.Simple:
    """The reservation that a request stands for: `rusage[ngpus_physical=N/host]`."""
    per = tree.Per.TASK if request.per is tree.Per.TASK else tree.Per.HOST
    amount = tree.Number(digits=request.num or 1)
    phase = tree.Phase(amount=amount)
    return tree.Simple(rusage=((tree.Reserve(name=RESERVED, phases=(phase,), per=per),),))


def instances(
    request: GpuRequest, *, tasks: int = 1, span: tree.Span | None = None
) -> InstanceNeed:
    """The instances of one task; a count of 0 is one that cannot be said per task."""
    return InstanceNeed(
        type=TYPE,
        count_per_task=per_task(request, tasks=tasks, span=span),
        select=select_of(request),
    )


def per_task(request: GpuRequest, *, tasks: int = 1, span: tree.Span | None = None) -> int:
    """How many for a task. A number per host is one if every host gets the same tasks; else 0."""
    number = request.num or 1
    if request.per is tree.Per.TASK:
        return number
    on_each = tasks if tasks == 1 else 0
    if span is not None and span.form is tree.SpanForm.HOSTS and span.count == 1:
        on_each = tasks
    if span is not None and span.form is tree.SpanForm.PTILE and span.count and not span.by_type:
        on_each = min(span.count, tasks) if tasks % span.count == 0 or tasks < span.count else 0
    return number // on_each if on_each and number % on_each == 0 else 0


def select_of(request: GpuRequest) -> str:
    """The condition on a GPU's attributes; "" takes any."""
    terms: list[tree.Expr] = []
    if request.gmodel:
        # Texts that begin alike are those from the beginning on up to its next neighbour.
        first = request.gmodel
        after = first[:-1] + chr(ord(first[-1]) + 1)
        model = tree.Name(name="model")
        terms.append(tree.infix((">=",), (model, tree.Text(text=first))))
        terms.append(tree.infix(("<",), (model, tree.Text(text=after))))
    if request.gmem_bytes:
        size = tree.Size(size_bytes=request.gmem_bytes)
        terms.append(tree.infix((">=",), (tree.Name(name="mem"), size)))
    return canonical_select(tree.conjunction(terms)) if terms else ""


def not_honoured(request: GpuRequest) -> tuple[str, ...]:
    """The keys, as printed, that are kept but not acted on yet. Whole GPUs go to one job at a
    time, so `shared`, `j_exclusive` and every `no` are satisfied as they are."""
    switches = ("aff", "block", "gpack", "glink")
    unmet = {key for key in switches if getattr(request, key) == "yes"}
    unmet |= {"mode"} if request.mode == EXCLUSIVE else set()
    unmet |= {"mps"} if request.mps and request.mps[0] != "no" else set()
    unmet |= {key for key in ("gvendor", "gtile", "mig") if getattr(request, key)}
    found = [f"{key}={show(request)}" for key, show in _SHOWN.items() if key in unmet]
    if request.model_bytes:
        found.append(f"the memory in gmodel={_model_text(request)}")
    return tuple(found)


# --- reading ------------------------------------------------------------------------------------


def _read(text: str) -> GpuRequest:
    if not text.strip():
        raise GpuError(Code.EMPTY, "the GPU requirement is empty", hint="`-` asks for the default")
    if text.strip() == DEFAULTS:
        return GpuRequest()
    fields: dict[str, object] = {}
    columns: dict[str, int] = {}
    offset = 0
    for part in text.split(":"):
        key, value, column = _pair(part, offset)
        name = "glink" if key == "nvlink" else key
        if name in columns:
            said = f"{name} is given twice"
            hint = "nvlink is its old name" if "nvlink" in text else ""
            raise _refused(Code.DUPLICATE, said, value, column, hint)
        columns[name] = column
        fields.update(_READ[key](value, column))
        offset += len(part) + 1
    request = GpuRequest(**fields)  # type: ignore[arg-type]
    _judge(request, columns)
    return request


def _pair(part: str, offset: int) -> tuple[str, str, int]:
    """A key, its value and the column of the value."""
    key, mark, value = part.partition("=")
    column = offset + len(key) - len(key.lstrip()) + 1
    key = key.strip()
    if key not in _READ:
        if not key:
            said = "a part is empty" if not mark else "a key is missing before `=`"
            raise GpuError(Code.SYNTAX, said, column=column, expected=("key=value",))
        near = nearest(key, _READ)
        hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(_READ)}"
        raise _refused(Code.BAD_NAME, f"no key of -gpu is called {key!r}", key, column, hint)
    if not mark or not value.strip():
        raise _refused(Code.SYNTAX, f"{key} has no value", key, column, f"write {key}=VALUE")
    place = offset + len(part) - len(value.lstrip()) + 1
    return key, value.strip(), place


def _refused(code: Code, said: str, found: str, column: int, hint: str = "") -> GpuError:
    return GpuError(code, said, column=column, end=column + len(found), found=found, hint=hint)


Fields = Mapping[str, object]


def _one_of(field: str, allowed: tuple[str, ...]) -> Callable[[str, int], Fields]:
    def read(value: str, column: int) -> Fields:
        if value in allowed:
            return {field: value}
        near = nearest(value, allowed)
        hint = f"did you mean `{near}`?" if near else f"write {' or '.join(allowed)}"
        raise _refused(Code.BAD_VALUE, f"no value of {field}: {value!r}", value, column, hint)

    return read


def _whole(value: str, column: int, what: str) -> int:
    digits = value.isascii() and value.isdigit() and len(value) <= len(str(NUMBER_MAX))
    if not digits or not 1 <= int(value) <= NUMBER_MAX:
        said = f"{what} is a whole number from 1 to {NUMBER_MAX}, not {value!r}"
        raise _refused(Code.BAD_VALUE, said, value, column)
    return int(value)


def _num(value: str, column: int) -> Fields:
    number, mark, scope = value.partition("/")
    if mark and scope not in ("task", "host"):
        said = f"a number of GPUs is per task or per host, not per {scope!r}"
        raise _refused(
            Code.BAD_VALUE, said, scope, column + len(number) + 1, "write /task or /host"
        )
    per = tree.Per.TASK if scope == "task" else tree.Per.DEFAULT
    return {"num": _whole(number.strip(), column, "num"), "per": per}


def _mps(value: str, column: int) -> Fields:
    first, *more = (word.strip() for word in value.split(","))
    _one_of("mps", _MPS_WORDS)(first, column)
    allowed = _MPS_MORE if first != "no" else ()
    for word in more:
        if word not in allowed or more.count(word) > 1:
            said = f"{word!r} does not stand behind mps={first}"
            hint = f"after it: {', '.join(allowed)}" if allowed else ""
            raise _refused(Code.BAD_VALUE, said, word, column + value.index(word, len(first)), hint)
    return {"mps": (first, *sorted(more, reverse=True))}


def _gmodel(value: str, column: int) -> Fields:
    parts = _MEMORY.search(value)
    model = value[: parts.start()] if parts else value
    if not _MODEL.fullmatch(model):
        said = f"{model!r} is no GPU model"
        raise _refused(
            Code.BAD_VALUE, said, model, column, "as nvidia-smi shows it, or its beginning"
        )
    size = _bytes(value[parts.end() :], column + parts.end()) if parts else 0
    return {"gmodel": model, "model_bytes": size}


def _gmem(value: str, column: int) -> Fields:
    return {"gmem_bytes": _bytes(value, column)}


def _bytes(value: str, column: int) -> int:
    try:
        size = parse_size(value)
    except UnitError as error:
        raise _refused(Code.BAD_UNIT, error.message, value, column, error.expected) from None
    if not 0 < size <= 2**62:
        raise _refused(Code.BAD_VALUE, f"no GPU has this memory: {value!r}", value, column)
    return size


def _gtile(value: str, column: int) -> Fields:
    return {"gtile": value if value == "!" else str(_whole(value, column, "gtile"))}


def _mig(value: str, column: int) -> Fields:
    sizes = value.split("/")
    if len(sizes) > 2:
        raise _refused(Code.BAD_VALUE, "mig is G or G/C", value, column)
    return {"mig": tuple(_whole(size.strip(), column, "a size of mig") for size in sizes)}


_SWITCH = ("yes", "no")
_READ: Mapping[str, Callable[[str, int], Fields]] = MappingProxyType(
    {
        "num": _num,
        "mode": _one_of("mode", (SHARED, EXCLUSIVE)),
        "mps": _mps,
        **{key: _one_of(key, _SWITCH) for key in ("j_exclusive", "aff", "block", "gpack")},
        "gvendor": _one_of("gvendor", ("nvidia", "amd")),
        "gmodel": _gmodel,
        "gmem": _gmem,
        "gtile": _gtile,
        "glink": _one_of("glink", _SWITCH),
        "nvlink": _one_of("glink", _SWITCH),
        "mig": _mig,
    }
)


def _judge(request: GpuRequest, columns: Mapping[str, int]) -> None:
    """What does not go together."""
    pairs: list[tuple[str, str]] = []
    sharing = request.mps[:1] not in ((), ("no",))
    if request.gvendor == "amd":
        pairs += [("mps", "gvendor=amd")] if sharing else []
        pairs += [("mode", "gvendor=amd")] if request.mode == EXCLUSIVE else []
        pairs += [("mig", "gvendor=amd")] if request.mig else []
    if request.mig and "shared" in request.mps:
        pairs.append(("mps", "mig"))
    if request.block == request.gpack == "yes":
        pairs.append(("gpack", "block"))
    if request.gtile and request.mig:
        pairs.append(("gtile", "mig"))
    for key, other in pairs[:1]:
        column = columns.get(key, 1)
        raise GpuError(Code.CONFLICT, f"{key} does not go together with {other}", column=column)


# --- printing -----------------------------------------------------------------------------------


def _num_text(request: GpuRequest) -> str:
    if not request.num:
        return ""
    return f"{request.num}/task" if request.per is tree.Per.TASK else str(request.num)


def _model_text(request: GpuRequest) -> str:
    return request.gmodel + (f"#{format_size(request.model_bytes)}" if request.model_bytes else "")


def _plain(field: str) -> Callable[[GpuRequest], str]:
    return lambda request: str(getattr(request, field))


_SHOWN: Mapping[str, Callable[[GpuRequest], str]] = MappingProxyType(
    {
        "num": _num_text,
        "mode": _plain("mode"),
        "mps": lambda request: ",".join(request.mps),
        **{key: _plain(key) for key in ("j_exclusive", "aff", "block", "gpack", "gvendor")},
        "gmodel": _model_text,
        "gmem": lambda request: format_size(request.gmem_bytes) if request.gmem_bytes else "",
        "gtile": _plain("gtile"),
        "glink": _plain("glink"),
        "mig": lambda request: "/".join(str(size) for size in request.mig),
    }
)
