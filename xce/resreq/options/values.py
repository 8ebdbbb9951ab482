"""The values of a submission's options: judged, and brought to one spelling.

`judge` gives what a value means: a limit as a duration, a size with its unit, a requirement in
its canonical text; and what of it XCE does not do yet. A value that cannot be taken is refused
with its column within the value. Words are taken as they are, but what was plainly left in by a
template, or waits for a shell that never reads it, is worth a warning.

Grammars are opened only for the kinds of value that have one.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from xce.model.job import TASKS_MAX
from xce.model.units import UnitError, format_duration, format_size, parse_size
from xce.resreq.errors import Code, Remark, ResreqError
from xce.resreq.options.bsub import Option, Value

NUMBER_MAX = 2**31 - 1
_MINUTE_US = 60_000_000

_COUNT = re.compile(r"(\d+)(?:,(\d+))?")
_LIMIT = re.compile(r"(?:(\d{1,9}):)?(\d{1,9})(?:/(.+))?")
_TIME = re.compile(r"(?:(?:(?:(\d{4}):)?(\d{1,2}):)?(\d{1,2}):)?(\d{1,2}):(\d{2})")
_EXITS = re.compile(
    r"\s*(all|~?\d{1,3}|EXCLUDE\(\s*(all|~?\d{1,3})(\s+~?\d{1,3})*\s*\))(?=\s|$)|\s+$"
)

# Of the `%` words only %J and %I mean something; %NAME% is a template's.
_PLACEHOLDER = re.compile(
    r"<[^<>]+>|%(?![JIHPUG]%)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*%|\{\{.*?\}\}|@[A-Z][A-Z0-9_]*@"
)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACKETED = re.compile(r"\[[A-Za-z][\w -]*\]")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\$\(|`")


class ValueFault(ResreqError):
    """A value that its option does not take."""

    syntax_text = "Bad value of an option"

    @classmethod
    def of(cls, said: str, value: str, hint: str = "", column: int = 1) -> "ValueFault":
        """The refusal of a value, from `column` on."""
        found = value[column - 1 :]
        return cls(
            Code.BAD_VALUE, said, column=column, end=column + len(found), found=found, hint=hint
        )


class Judged(Struct, frozen=True, gc=False, kw_only=True):
    """What a value means, in its one spelling; `lacks` is what is not done about it yet."""

    means: str
    lacks: str = ""
    remarks: tuple[Remark, ...] = ()


def judge(option: Option, value: str) -> Judged:
    """The meaning of a value; raises a ResreqError with a column of the value."""
    if not value.strip():
        raise ValueFault(Code.EMPTY, f"the value of {option.name} is empty")
    try:
        judged = _JUDGES[option.value](value, option)
    except ResreqError as error:
        raise _with_placeholder(error, value) from None
    if judged.remarks or option.value not in _WORDS:
        return judged
    return Judged(means=judged.means, lacks=judged.lacks, remarks=_remarks(option, value))


_WORDS = frozenset({Value.TEXT, Value.FILE, Value.NAME})


def _remarks(option: Option, value: str) -> tuple[Remark, ...]:
    """What was left in by a template, and what no shell will replace."""
    found = _PLACEHOLDER.search(value)
    if found is None and option.value is Value.TEXT:
        found = _BRACKETED.fullmatch(value)
    if found is not None:
        said = f"{found.group()} looks like a template's placeholder that was left in"
        return (Remark(code="placeholder", message=said, column=found.start() + 1),)
    found = None if option.name in ("-E", "-Ep", "-rnc") else _VARIABLE.search(value)
    if found is not None:
        said = f"no shell reads this line: {found.group()} stays as it is"
        return (Remark(code="variable", message=said, column=found.start() + 1),)
    return ()


def _with_placeholder(error: ResreqError, value: str) -> ResreqError:
    found = _PLACEHOLDER.search(value) or _VARIABLE.search(value)
    if found is not None:
        error.hint = f"{found.group()} was left in; no template and no shell reads this line"
    return error


def _plain(value: str, _option: Option) -> Judged:
    return Judged(means=value)


_refused = ValueFault.of


def _count(value: str, option: Option) -> Judged:
    found = _COUNT.fullmatch(value.replace(" ", ""))
    if found is None:
        raise _refused(
            f"{option.name} takes a number of tasks, not {value!r}", value, "as 4 or 4,16"
        )
    least, most = (int(part) if part and len(part) < 10 else None for part in found.groups())
    if least is None or not 1 <= least <= TASKS_MAX or (found[2] and most is None):
        raise _refused(f"a job has 1 to {TASKS_MAX} tasks, not {value}", value)
    if most is None or most == least:
        return Judged(means=str(least))
    if not least < most <= TASKS_MAX:
        raise _refused(f"the most, {most}, is not between {least} and {TASKS_MAX}", value)
    return Judged(means=f"{least},{most}")


def _number(value: str, option: Option) -> Judged:
    digits = value.isascii() and value.isdigit() and len(value) <= len(str(NUMBER_MAX))
    if not digits or int(value) > NUMBER_MAX:
        raise _refused(f"{option.name} takes a whole number, not {value!r}", value)
    return Judged(means=str(int(value)))


def limit_us(value: str) -> int:
    """Microseconds of `[h:]m[/host]`; raises ValueFault."""
    found = _LIMIT.fullmatch(value)
    if found is None:
        hint = "1:30 and 90 are both 90 minutes"
        raise _refused(f"a limit is [hours:]minutes, not {value!r}", value, hint)
    return (int(found[1] or 0) * 60 + int(found[2])) * _MINUTE_US


def _limit(value: str, _option: Option) -> Judged:
    duration = format_duration(limit_us(value))
    host = value.partition("/")[2]
    if not host:
        return Judged(means=duration)
    lacks = f"minutes are minutes on every host, whatever the speed of {host} is"
    return Judged(means=f"{duration}/{host}", lacks=lacks)


def _size(value: str, option: Option) -> Judged:
    at_once = "!" if value.endswith("!") and option.name == "-M" else ""
    bare = value[:-1] if at_once else value
    try:
        size = parse_size(bare)
    except UnitError as error:
        raise _refused(
            f"{option.name} takes a size, not {value!r}", value, error.expected
        ) from None
    return Judged(means=f"{format_size(size)}{at_once}")


def time_parts(value: str, name: str) -> tuple[int | None, int | None, int | None, int, int]:
    """Year, month, day (None: left out), hour and minute of a moment; raises ValueFault."""
    found = _TIME.fullmatch(value)
    month, day, hour, minute = (
        (int(part or 0) for part in found.groups()[1:]) if found else (99,) * 4
    )
    right = month <= 12 and day <= 31 and hour < 24 and minute < 60
    if found is None or not right or (found[2] and not month) or (found[3] and not day):
        hint = "[[[year:]month:]day:]hour:minute, as 20:30 or 12:31:08:00"
        raise _refused(f"{name} takes a time, not {value!r}", value, hint)
    year = int(found[1]) if found[1] else None
    return year, month if found[2] else None, day if found[3] else None, hour, minute


def _time(value: str, option: Option) -> Judged:
    time_parts(value, option.name)
    return Judged(means=value)


def _percent(value: str, option: Option) -> Judged:
    digits = value.removesuffix("%")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 3 or int(digits) > 100:
        raise _refused(f"{option.name} takes a percentage, not {value!r}", value)
    return Judged(means=f"{int(digits)}%")


def _exits(value: str, option: Option) -> Judged:
    at = 0
    while at < len(value):
        found = _EXITS.match(value, at)
        if found is None or found.end() == at:
            hint = '"all ~0 ~5" or "30 EXCLUDE(20)"'
            raise _refused(f"{option.name} takes exit values", value, hint, at + 1)
        at = found.end()
    return Judged(means=" ".join(value.split()))


def _env(value: str, option: Option) -> Judged:
    parts = [part.strip() for part in value.split(",")]
    for part in parts:
        name = part.removeprefix("~").partition("=")[0]
        if part and not _VARIABLE_NAME.fullmatch(name):
            said = f"{name!r} is no name of a variable"
            raise _refused(said, value, "as all,~SECRET,MODE=fast", value.index(part) + 1)
    return Judged(means=",".join(part for part in parts if part))


def _resreq(value: str, _option: Option) -> Judged:
    from xce.resreq.parse import COMPAT, parse
    from xce.resreq.print import canonical

    parsed = parse(value, mode=COMPAT, partial=True)
    return Judged(means=canonical(parsed.tree), remarks=parsed.warnings)


def _gpu(value: str, _option: Option) -> Judged:
    from xce.resreq.options.gpu import canonical_gpu, not_honoured, parse_gpu

    request = parse_gpu(value)
    unmet = list(not_honoured(request))
    unmet += [f"gmodel={request.gmodel}"] if request.gmodel and not request.model_bytes else []
    unmet += ["gmem"] if request.gmem_bytes else []
    lacks = f"{', '.join(unmet)} cannot be asked for by a submission yet" if unmet else ""
    return Judged(means=canonical_gpu(request), lacks=lacks)


def _name(value: str, _option: Option) -> Judged:
    from xce.resreq.options.arrays import canonical_array, is_array, parse_array

    if not is_array(value):
        return Judged(means=value)
    made = parse_array(value)
    return Judged(means=canonical_array(made))


def _dependency(value: str, _option: Option) -> Judged:
    from xce.resreq.options.dependency import canonical_dependency, parse_dependency

    return Judged(means=canonical_dependency(parse_dependency(value)))


_JUDGES: Mapping[Value, Callable[[str, Option], Judged]] = MappingProxyType(
    {
        Value.TEXT: _plain,
        Value.FILE: _plain,
        Value.COUNT: _count,
        Value.NUMBER: _number,
        Value.LIMIT: _limit,
        Value.SIZE: _size,
        Value.TIME: _time,
        Value.PERCENT: _percent,
        Value.RESREQ: _resreq,
        Value.GPU: _gpu,
        Value.NAME: _name,
        Value.DEPENDENCY: _dependency,
        Value.EXITS: _exits,
        Value.ENV: _env,
    }
)


def taken_as(option: Option, value: str, means: str) -> object:
    """What a submission takes of a value that was judged; `means` is "" where it was refused."""
    match option.value:
        case Value.FLAG:
            return not option.turns_off
        case Value.COUNT:
            return means if "," in means else int(means or 1)
        case Value.SIZE:
            return parse_size(value.removesuffix("!")) if means else 0
        case Value.LIMIT:
            return limit_us(value) if means else 0
        case Value.NUMBER:
            return int(means or 0)
        case Value.ENV | Value.EXITS:
            return means
    return value
