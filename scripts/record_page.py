"""The page about records: kinds, versions and fields, drawn from `xce/model/records/`."""

import re
from collections.abc import Iterator
from typing import get_type_hints

from msgspec import Struct, structs

from xce.model import placing, records

_PARTS: tuple[type[Struct], ...] = (
    records.Change,
    records.RoleSpan,
    records.PlannedGroup,
    placing.MemberPlan,
    placing.Share,
    placing.ClaimPlan,
    placing.Holding,
    placing.AttachmentPlan,
    placing.LaunchPlan,
)

_HEAD = """# Records

Made from `xce/model/records/`; do not edit by hand.

Every record has `lsn, epoch, at_us, kind, v, cause, actor, entities, body, hash`. The body
holds the facts below in this order and ends with `then`: every change that follows, as
`[what, key, event, fields]`. `xcecli history THING` shows the records that name a thing.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, "## Kinds", "", *_kinds(), "", "## Parts", "", *_parts(), ""])


def _kinds() -> Iterator[str]:
    yield "| kind | v | meaning | facts |"
    yield "|---|---|---|---|"
    for name, body in records.BODIES.items():
        facts = [field for field in structs.fields(body) if field.name != "then"]
        told = ", ".join(_field(body, field.name) for field in facts)
        yield f"| `{name}` | {body.V} | {_meaning(body)} | {told} |"


def _parts() -> Iterator[str]:
    yield "| part | meaning | fields |"
    yield "|---|---|---|"
    for part in _PARTS:
        told = ", ".join(_field(part, field.name) for field in structs.fields(part))
        yield f"| `{part.__name__}` | {_meaning(part)} | {told} |"


def _meaning(part: type[Struct]) -> str:
    return " ".join((part.__doc__ or "").split())


def _field(part: type[Struct], name: str) -> str:
    kind = get_type_hints(part)[name]
    text = getattr(kind, "__name__", "") if not hasattr(kind, "__args__") else str(kind)
    return f"`{name}`: {_short(text or str(kind))}"


def _short(text: str) -> str:
    """A type without its modules, as a table can show it."""
    return re.sub(r"(?:\w+\.)+(\w+)", r"\1", text).replace("|", "or")
