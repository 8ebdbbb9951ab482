"""What can be wrong with a resource requirement, as one typed error with a place.

Every refusal has a code, one sentence, the 1-based columns of the culprit, what was found,
what could have stood there and, where it can be guessed, the likely intention. `lsf_text` is
the message that an LSF user knows for it. The text of the whole requirement is kept so that
`caret` can point at the culprit; long texts are shown as a window around it.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Self

import msgspec

WINDOW_CHARACTERS = 76
_ELLIPSIS = "..."


class Code(StrEnum):
    """The kinds of refusal. The first block needs the text alone, the second the types."""

    SYNTAX = "syntax"
    EMPTY = "empty"
    UNBALANCED = "unbalanced"
    CHARACTER = "character"
    UNKNOWN_SECTION = "unknown_section"
    DUPLICATE = "duplicate"
    BAD_VALUE = "bad_value"
    BAD_UNIT = "bad_unit"
    BAD_NAME = "bad_name"
    CONFLICT = "conflict"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    UNKNOWN_NAME = "unknown_name"
    WRONG_KIND = "wrong_kind"
    NOT_CONSUMABLE = "not_consumable"
    NOT_WHOLE = "not_whole"
    NOT_STATIC = "not_static"
    NOT_ORDERED = "not_ordered"
    NOT_SUPPORTED_HERE = "not_supported_here"
    OVER_QUEUE = "over_queue"
    OUT_OF_RANGE = "out_of_range"
    RANGE_SCOPE = "range_scope"


LSF_TEXT: Mapping[Code, str] = MappingProxyType(
    {
        Code.UNKNOWN_NAME: "Bad resource name",
        Code.NOT_ORDERED: "Bad resource name",
        Code.NOT_STATIC: "Bad resource name",
        Code.NOT_CONSUMABLE: "Non-consumable resource in the RUSAGE section",
        Code.OVER_QUEUE: "Cannot exceed queue's resource reservation",
        Code.OUT_OF_RANGE: (
            "Error in rusage section: The merged job-level and application-level rusage value is "
            "outside the range set by RESRSV_LIMIT"
        ),
        Code.RANGE_SCOPE: "Error in rusage section: RESRSV_LIMIT is set for another scope",
    }
)


NAMED: Mapping[str, str] = MappingProxyType(
    {
        "CU_EXCL_BALANCE": (
            "Compound or alternative resource requirements cannot have compute units specified "
            "with excl or balance"
        ),
        "COMPOUND_QUEUE_RUSAGE_OR": (
            '"||" is used in rusage[] for the queue resource requirement. It is in conflict with '
            "the compound resource requirement"
        ),
        "ALTERNATIVE_QUEUE_RUSAGE_OR": (
            '"||" is used in rusage[] for the queue resource requirement. It is in conflict with '
            "the alternative resource requirement"
        ),
        "ALTERNATIVE_RSRCREQ_RESIZE": "Resizable job cannot have alternative resource requirements",
        "CU_AUTORESIZE": "Resizable job cannot have compute unit requirements",
        "GPU_NUM_CONFLICT": (
            "GPU number in GPU resource requirements and -gpu cannot be specified at the same time"
        ),
    }
)
"""Texts that an LSF user knows of single conflicts, by LSF's names for them."""


class ResreqError(Exception):
    """A requirement that cannot be taken; see the module for its fields."""

    syntax_text = "Bad resource requirement syntax"

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        column: int = 1,
        end: int = 0,
        found: str = "",
        expected: tuple[str, ...] = (),
        hint: str = "",
        text: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.column = column
        self.end = max(end, column + 1)
        self.found = found
        self.expected = expected
        self.hint = hint
        self.text = text
        self.lsf_text = LSF_TEXT.get(code, self.syntax_text)

    def known_as(self, name: str) -> Self:
        """Itself, with the text that an LSF user knows of this one conflict."""
        self.lsf_text = NAMED[name]
        return self

    def __str__(self) -> str:
        said = f"column {self.column}: {self.message}"
        if self.hint:
            return f"{said} ({self.hint})"
        return f"{said}; expected {_listed(self.expected)}" if self.expected else said

    def caret(self, text: str = "") -> str:
        """Two lines: the requirement (or a window of it) and a caret under the culprit."""
        line = "".join(c if c.isprintable() else " " for c in (text or self.text))
        first = self.column - 1
        width = max(1, min(self.end - self.column, len(line) - first))
        start = 0
        if len(line) > WINDOW_CHARACTERS:
            start = max(0, min(first - WINDOW_CHARACTERS // 2, len(line) - WINDOW_CHARACTERS))
            width = min(width, WINDOW_CHARACTERS - (first - start)) or 1
        shown = line[start : start + WINDOW_CHARACTERS]
        before = _ELLIPSIS if start else ""
        after = _ELLIPSIS if start + WINDOW_CHARACTERS < len(line) else ""
        pointer = " " * (len(before) + first - start) + "^" * max(width, 1)
        return f"{before}{shown}{after}\n{pointer}"


class Remark(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Something that was taken but is not what the documents promise to take."""

    code: str
    message: str
    column: int = 1


def _listed(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + f" or {words[-1]}"
