"""Where a job's input and output files are: one rule for whoever starts it and whoever shows it.

`-o` may hold `%J` (the job's number), `%I` (its index, 0 for none) and `%%`; a path that ends in
`/` is a directory and gets the default name. Without `-o`, output goes to `xce-<job>.out`, for a
gang's member to `xce-<group>-<role>-<rank>.out`, so that no two members share a file. Relative
paths are under the job's directory. Without `-e`, errors join the output ("" says so).
"""

import re

from msgspec import Struct

from xce.model.ids import group_text, job_index, job_number
from xce.model.job import Job, Spec

_PLACE = re.compile(r"%([JI%])")


class Outputs(Struct, frozen=True, gc=False, kw_only=True):
    """Absolute paths. `stdin` "" is nothing to read; `stderr` "" joins stdout."""

    stdin: str
    stdout: str
    stderr: str


def outputs_of(spec: Spec, job: Job) -> Outputs:
    """The files of one job."""
    return Outputs(
        stdin=_path(spec.stdin, spec, job) if spec.stdin else "",
        stdout=_path(spec.stdout or default_name(job), spec, job),
        stderr=_path(spec.stderr, spec, job) if spec.stderr else "",
    )


def default_name(job: Job) -> str:
    """The name of the output file when none was given."""
    if job.group:
        return f"xce-{group_text(job.group)}-{job.role}-{job.rank}.out"
    index = job_index(job.key)
    return f"xce-{job_number(job.key)}{f'-{index}' if index else ''}.out"


def _path(pattern: str, spec: Spec, job: Job) -> str:
    values = {"J": str(job_number(job.key)), "I": str(job_index(job.key)), "%": "%"}
    path = _PLACE.sub(lambda found: values[found[1]], pattern)
    if path.endswith("/"):
        path += default_name(job)
    return path if path.startswith("/") else f"{spec.cwd.rstrip('/')}/{path}"
