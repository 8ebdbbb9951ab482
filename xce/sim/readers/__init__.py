"""Reading workloads: one neutral form, a reader for each kind of file, one way to open them.

Files may be compressed with gzip. A line that cannot be read is told with its number and left
out; with `strict` the first one ends the reading. What never ran is read as it is: whoever plays
a trace leaves it out and counts it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from xce.sim.readers import lines, lsbacct, openb, philly, swf
from xce.sim.readers.form import BrokenTrace, Fault, Reading, Trace, TraceJob, text_of

Parse = Callable[[Reading], None]
FORMATS: Mapping[str, Parse] = MappingProxyType(
    {
        "swf": swf.parse,
        "openb": openb.parse,
        "philly": philly.parse,
        "lsb.acct": lsbacct.parse,
        "lines": lines.parse,
    }
)


def read_trace(path: Path, form: str, *, strict: bool = False) -> Trace:
    """The workload of a file; `BrokenTrace` where nothing can be made of it."""
    text, digest = text_of(path)
    reading = Reading(path.name, text, strict=strict)
    FORMATS[form](reading)
    return reading.trace(digest)


__all__ = ["FORMATS", "BrokenTrace", "Fault", "Trace", "TraceJob", "read_trace"]
