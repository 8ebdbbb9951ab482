"""The options of a submission as LSF's bsub has them: one table for every reader.

An option has a name, the kind of its value, and how far XCE acts on it: `honoured`, `kept` (read,
judged and shown, but nothing is done about it yet: readers name it in a warning), `site` (kept,
and never acted on: it belongs to other machines), `line_only` (it has a meaning on a command line
but not inside a script) and `no_job` (it submits no job). `field` is where the command line of
xcecli keeps an honoured value; `lacks` says what an honoured option does not do yet;
a flag that `turns_off` makes its field false; the file of one that is `anew` is emptied first.

`split_option` tells the option of a word from a value written together with it. Nothing is read
from anywhere and no grammar is needed: this module is cheap to import.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from xce.model.units import nearest


class Value(StrEnum):
    """What stands behind an option."""

    FLAG = "flag"
    TEXT = "text"
    FILE = "file"
    COUNT = "count"  # min[,max]
    NUMBER = "number"
    LIMIT = "limit"  # [h:]m[/host or model]
    SIZE = "size"  # N[unit], with a `!` perhaps
    TIME = "time"  # [[[year:]month:]day:]hour:minute
    PERCENT = "percent"
    RESREQ = "resreq"
    GPU = "gpu"
    NAME = "name"  # a job name, perhaps of an array
    DEPENDENCY = "dependency"
    EXITS = "exits"  # requeue exit values
    ENV = "env"  # names and assignments, joined by commas


class Support(StrEnum):
    """How far XCE acts on an option."""

    HONOURED = "honoured"
    KEPT = "kept"
    SITE = "site"
    LINE_ONLY = "line_only"
    NO_JOB = "no_job"


class Option(Struct, frozen=True, gc=False, kw_only=True):
    """One option. All of a `repeated` one count; of any other the last."""

    name: str
    value: Value
    about: str
    support: Support = Support.KEPT
    repeated: bool = False
    field: str = ""
    lacks: str = ""
    turns_off: bool = False
    anew: bool = False

    @property
    def takes_value(self) -> bool:
        """Whether a word belongs to it."""
        return self.value is not Value.FLAG


def _table(text: str, support: Support) -> dict[str, Option]:
    """Options of lines `name kind about`."""
    rows = [line.split(maxsplit=2) for line in text.strip().splitlines()]
    return {
        name: Option(name=name, value=Value(kind), about=about, support=support)
        for name, kind, about in rows
    }


def _honoured(name: str, value: Value, field: str, about: str, **rest: object) -> Option:
    fields = {"name": name, "value": value, "field": field, "about": about, **rest}
    return Option(support=Support.HONOURED, **fields)  # type: ignore[arg-type]


_HONOURED = (
    _honoured("-J", Value.NAME, "name", "name of the job, or of an array with its indices"),
    _honoured("-n", Value.COUNT, "tasks", "number of tasks, or the least and the most"),
    _honoured("-R", Value.RESREQ, "resreq", "resource requirement", repeated=True),
    _honoured("-gpu", Value.GPU, "resreq", "GPUs"),
    _honoured("-q", Value.TEXT, "queue", "queue"),
    _honoured("-app", Value.TEXT, "application", "application profile"),
    _honoured("-o", Value.FILE, "stdout", "file that the output is appended to"),
    _honoured("-oo", Value.FILE, "stdout", "file that the output is written to", anew=True),
    _honoured("-e", Value.FILE, "stderr", "file that the errors are appended to"),
    _honoured("-eo", Value.FILE, "stderr", "file that the errors are written to", anew=True),
    _honoured("-i", Value.FILE, "stdin", "input file"),
    _honoured("-H", Value.FLAG, "held", "submit it held"),
    _honoured("-K", Value.FLAG, "wait", "wait for its end"),
    _honoured("-sp", Value.NUMBER, "priority", "priority in its queue"),
    _honoured("-env", Value.ENV, "env", "what of the environment the job gets"),
    _honoured("-cwd", Value.FILE, "cwd", "directory of the job"),
    _honoured("-W", Value.LIMIT, "run_limit_us", "run limit"),
    _honoured("-We", Value.LIMIT, "run_estimate_us", "estimated run time"),
    _honoured("-b", Value.TIME, "begin", "begin time"),
    _honoured("-t", Value.TIME, "terminate", "termination time"),
    _honoured("-P", Value.TEXT, "project", "project"),
    _honoured("-G", Value.TEXT, "user_group", "user group that is charged"),
    _honoured("-U", Value.TEXT, "reservation", "advance reservation"),
    _honoured("-r", Value.FLAG, "rerunnable", "run again after a loss"),
    _honoured("-rn", Value.FLAG, "rerunnable", "do not run again after a loss", turns_off=True),
    _honoured("-Q", Value.EXITS, "requeue_exits", "exit values that requeue"),
    _honoured("-M", Value.SIZE, "mem_limit_bytes", "memory limit on each host"),
    _honoured("-Jd", Value.TEXT, "description", "description"),
    _honoured("-w", Value.DEPENDENCY, "after", "dependency on other jobs"),
    _honoured("-g", Value.TEXT, "job_group", "job group"),
    _honoured("-x", Value.FLAG, "exclusive", "hosts for itself alone"),
    _honoured("-ti", Value.FLAG, "end_if_impossible", "end as an orphan"),
)

_KEPT = """
-sla            text       service class
-Lp             text       licence project
-ul             flag       user limits of the shell
-a              text       submission filters (esub)
-is             file       input file, copied first
-outdir         file       output directory
-We+            limit      estimated run time from now on
-Wep            percent    estimated part of the run limit
-c              limit      CPU time limit
-v              size       virtual memory limit
-S              size       stack limit
-D              size       data limit
-F              size       file limit
-C              size       core file limit
-p              number     process limit
-T              number     thread limit
-hl             flag       limits per host, enforced by the system
-m              text       hosts and host groups
-hostfile       file       file of hosts and slots
-E              text       command before the job
-Ep             text       command after the job
-k              text       checkpoints
-mig            number     minutes until migration
-L              file       login shell
-f              text       files copied to and fro
-data           text       data to be staged
-datagrp        text       group of staged data
-stage          text       staging of the job
-B              flag       mail at its start
-N              flag       mail at its end
-Ne             flag       mail when it exits
-Nd             flag       mail when it is done
-u              text       address for mail
-notify         text       notice of changes
-aps            text       absolute priority
-ar             flag       resized by itself
-rnc            text       command after a change of size
-wa             text       action before a limit
-wt             limit      time of that action
-s              text       signal at a closed window
-ptl            limit      limit of pending time
-eptl           limit      limit of eligible pending
-rcacct         text       account of the resource connector
-freq           number     CPU frequency
-jobaff         text       affinity to other jobs
-template       text       job template
-I              flag       interactive
-Ip             flag       interactive with a terminal
-Is             flag       interactive with a shell's terminal
-IS             flag       interactive by ssh
-ISp            flag       interactive by ssh with a terminal
-IX             flag       interactive with X
-ISs            flag       interactive by ssh with a shell's terminal
-tty            flag       terminal
-XF             flag       X forwarding
-ext            text       external scheduler options
-extsched       text       external scheduler options
-clusters       text       clusters
"""

_SITE = """
-network        text       network of parallel environments
-csm            text       cluster service
-alloc_flags    text       flags of the launcher
-nnodes         number     hosts, taken whole
-cn_cu          text       compute nodes
-cn_mem         size       memory of compute nodes
-ln_slots       number     slots of launch nodes
-ln_mem         size       memory there
-core_isolation number     cores for the system
-smt            number     threads per core
-jsm            text       job step manager
-step_cgroup    text       control groups of steps
"""

_NO_JOB = """
-h              flag       help
-V              flag       version
-pack           file       many submissions
-json           file       submission as JSON
-yaml           file       submission as YAML
-jsdl           file       submission as JSDL
-jsdl_strict    file       submission as JSDL
"""

_ALL: dict[str, Option] = {
    **{option.name: option for option in _HONOURED},
    **_table(_KEPT, Support.KEPT),
    **_table(_SITE, Support.SITE),
    **_table("-Zs flag copy of the script", Support.LINE_ONLY),
    **_table(_NO_JOB, Support.NO_JOB),
}
_REPEATED = ("-f", "-a", "-data", "-stage")

BSUB: Mapping[str, Option] = MappingProxyType(
    {
        name: Option(name=name, value=option.value, about=option.about, repeated=True)
        if name in _REPEATED
        else option
        for name, option in _ALL.items()
    }
)

# What people write for an option who come from elsewhere.
_SAID = """
-q      queue partition
-J      name job-name jobname array
-o      output out
-e      error err
-i      input
-W      time walltime
-M      mem memory
-n      ntasks cpus
-nnodes nodes
-P      project account
-w      depend dependency
-H      hold
-K      wait
-u      mail-user mail
-N      mail-type
-gpu    gres gpus
-x      exclusive
-cwd    chdir workdir
-env    export
-R      resreq
-sp     priority
-b      begin
"""
_MEANT: Mapping[str, str] = MappingProxyType(
    {word: line.split()[0] for line in _SAID.strip().splitlines() for word in line.split()[1:]}
)


def split_option(word: str) -> tuple[Option | None, str]:
    """The option of a word and the value written together with it (`-M4GB`); (None, "") for
    what is no option. The longest name counts whose value begins with no letter, else the option
    of one letter if what follows can be its value."""
    option = BSUB.get(word)
    if option is not None:
        return option, ""
    for length in range(min(len(word) - 1, 16), 1, -1):
        option = BSUB.get(word[:length])
        rest = word[length:]
        if option is not None and option.takes_value and not rest[0].isalpha():
            return option, rest
    option = BSUB.get(word[:2])
    if option is not None and option.takes_value and _may_be_value(option, word):
        return option, word[2:]
    return None, ""


_WORDS = frozenset({Value.TEXT, Value.FILE, Value.NAME, Value.DEPENDENCY})


def _may_be_value(option: Option, word: str) -> bool:
    """Letters behind an option of one letter: a value if it takes words, and if the whole looks
    like no misspelt option (`-queue`)."""
    rest = word[2:]
    if option.value is Value.RESREQ:
        return any(sign in rest for sign in "[{=<>&|")
    long = [name[1:].lower() for name in BSUB if len(name) > 3]
    if option.value not in _WORDS or word[1:].startswith(tuple(long)):
        return False
    return not get_close_matches(word[1:].lower(), [*_MEANT, *long], n=1, cutoff=0.8)


def nearest_option(word: str) -> str:
    """The option that a word was most likely meant to be; "" when none is near."""
    plain = word.lstrip("-").split("=")[0].lower()
    if plain in _MEANT:
        return _MEANT[plain]
    if len(plain) < 2:
        other = f"-{plain.swapcase()}"
        return other if other in BSUB else ""
    if len(plain) == 2 and word[:2] in BSUB:
        return word[:2]
    by_text = {name[1:]: name for name in BSUB if len(name) > 2}
    near = nearest(plain, (*by_text, *_MEANT))
    return by_text.get(near) or _MEANT.get(near, "")
