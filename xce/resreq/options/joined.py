"""All `-R` of a submission and its `-gpu` made into one requirement.

The GPUs become what they stand for: a reservation per task; per host where the number is per host
and the spread over hosts does not say how many that is for a task.
"""

from collections.abc import Sequence

from msgspec import Struct

from xce.model.resources import BUILT_IN
from xce.resreq import tree
from xce.resreq.check import type_of
from xce.resreq.errors import NAMED, Code, ResreqError
from xce.resreq.merge import merge_requirements
from xce.resreq.options.gpu import RESERVED, TYPE, GpuError, GpuRequest, parse_gpu, per_task
from xce.resreq.parse import COMPAT
from xce.resreq.print import canonical

_UNTOLD = "-gpu: not honoured together with a compound or alternative requirement yet"


class Joined(Struct, frozen=True, gc=False, kw_only=True):
    """The canonical text of all together, and what of the GPUs it does not say."""

    text: str = ""
    lacks: str = ""


def joined(texts: Sequence[str], gpu: str, tasks: int, *, resized: bool = False) -> Joined:
    """One requirement of all; raises a ResreqError where they do not go together. `resized` is
    whether the job is resized by itself (-ar)."""
    made: tree.Tree = merge_requirements(texts, mode=COMPAT).tree if texts else tree.Simple()
    if resized:
        _judge_resized(made)
    if not gpu:
        return Joined(text=canonical(made))
    request = parse_gpu(gpu)
    _judge_numbers(made)
    if not isinstance(made, tree.Simple):
        return Joined(text=canonical(made), lacks=_UNTOLD)
    return Joined(text=canonical(_with_gpus(made, request, tasks)))


def _with_gpus(made: tree.Simple, request: GpuRequest, tasks: int) -> tree.Simple:
    number = per_task(request, tasks=tasks, span=made.span)
    phase = tree.Phase(amount=tree.Number(digits=number or request.num or 1))
    per = tree.Per.DEFAULT if number else tree.Per.HOST
    reserve = tree.Reserve(name=RESERVED, phases=(phase,), per=per)
    rusage = tuple((*usage, reserve) for usage in made.rusage) or ((reserve,),)
    return tree.Simple(
        select=made.select, order=made.order, rusage=rusage, span=made.span, same=made.same,
        cu=made.cu, affinity=made.affinity, column=made.column,
    )  # fmt: skip


def _judge_resized(made: tree.Tree) -> None:
    what = "ALTERNATIVE_RSRCREQ_RESIZE" if isinstance(made, tree.Alternatives) else ""
    if not what and any(simple.cu is not None for simple in tree.simples(made)):
        what = "CU_AUTORESIZE"
    if what:
        raise ResreqError(Code.CONFLICT, NAMED[what], hint="leave out -ar").known_as(what)


def _judge_numbers(made: tree.Tree) -> None:
    """A number of GPUs is given once: by -gpu or by a requirement."""
    for simple in tree.simples(made):
        for usage in simple.rusage:
            for reserve in usage:
                type_ = type_of(reserve.name, BUILT_IN)
                if type_ is not None and TYPE in (type_.name, type_.stands_for):
                    said = f"the number of GPUs is given by {reserve.name} in -R and by -gpu"
                    fault = GpuError(Code.CONFLICT, said, hint="leave one of them out")
                    raise fault.known_as("GPU_NUM_CONFLICT")
