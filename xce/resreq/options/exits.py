"""Exit values as `-Q` and queues name them: `[all] [~n ...] [n ...] [EXCLUDE(n ...)]`.

`all` is every code from 0 to 255, `~n` all but n. What stands in EXCLUDE requeues as well and
keeps the job from the host where it ended so.
"""

from functools import lru_cache

from msgspec import Struct

REQUEUE, EXCLUDE = "requeue", "exclude"


class Codes(Struct, frozen=True, gc=False):
    """A set of exit codes."""

    everything: bool = False
    without: tuple[int, ...] = ()
    named: tuple[int, ...] = ()

    def has(self, code: int) -> bool:
        """Whether the code is in it."""
        return code in self.named or (self.everything and code not in self.without)


class ExitValues(Struct, frozen=True, gc=False):
    """What exit values mean: `requeue` runs again anywhere, `exclude` anywhere else."""

    requeue: Codes
    exclude: Codes

    def meaning(self, code: int) -> str:
        """`exclude`, `requeue`, or "" where the code ends the job."""
        if self.exclude.has(code):
            return EXCLUDE
        return REQUEUE if self.requeue.has(code) else ""


@lru_cache(maxsize=1024)
def exit_values(text: str) -> ExitValues:
    """The meaning of a text that `values.judge` took."""
    inside = outside = ""
    rest = text
    while rest:
        before, mark, behind = rest.partition("EXCLUDE(")
        outside += f" {before}"
        held, _, rest = behind.partition(")") if mark else ("", "", "")
        inside += f" {held}"
    return ExitValues(_codes(outside), _codes(inside))


def _codes(text: str) -> Codes:
    words = text.split()
    return Codes(
        "all" in words,
        tuple(sorted({int(word[1:]) for word in words if word.startswith("~")})),
        tuple(sorted({int(word) for word in words if word.isdigit()})),
    )
