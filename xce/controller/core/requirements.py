"""From a submission as written to the spec that is interned: its resreq resolved and checked."""

from functools import lru_cache

from msgspec import structs

from xce.controller.core.commands import Rejection
from xce.model.config import Config, QueueConfig
from xce.model.job import Spec
from xce.model.resources import BUILT_IN, Need
from xce.resreq.errors import ResreqError
from xce.resreq.parse import parse
from xce.resreq.print import canonical
from xce.resreq.resolve import resolve

TASKS_MAX = 1_000_000
ENV_BYTES_MAX = 1 << 20


def resolve_spec(config: Config, spec: Spec, queue: QueueConfig) -> Spec | Rejection:
    """The spec with its requirement in canonical text and resolved form."""
    if not spec.command and not spec.script:
        return Rejection(code="invalid", message="there is no command to run", field="command")
    if not 0 < spec.tasks <= TASKS_MAX:
        return Rejection(
            code="invalid",
            message=f"-n {spec.tasks}: the number of tasks must be from 1 to {TASKS_MAX}",
            field="tasks",
        )
    text = spec.resreq or queue.default_resreq
    try:
        resreq, need = resolved(text)
    except ResreqError as error:
        return Rejection(
            code=f"resreq_{error.code}",
            message=f"Bad resource requirement: {error.message}",
            field="resreq",
            line=1,
            column=error.column,
            hint=error.hint,
            text=text,
        )
    return structs.replace(spec, resreq=resreq, need=need)


@lru_cache(maxsize=65_536)
def resolved(text: str) -> tuple[str, Need]:
    """Canonical text and resolved form of a requirement; raises ResreqError."""
    if not text.strip():
        return "", Need()
    tree = parse(text, mode="compat").tree
    return canonical(tree), resolve(tree, types=BUILT_IN)
