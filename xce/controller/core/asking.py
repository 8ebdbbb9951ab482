"""What goes with what is asked: the refusal, idempotency, and facts that the loop looked up."""

from typing import Any

from msgspec import Struct


class Rejection(Struct, frozen=True, gc=False, kw_only=True):
    """Why a command was refused; a value, for the asker's mistakes.

    `code` is stable (`not_found`, `not_allowed`, `conflict`, `invalid`, `unknown_queue`, ...),
    `message` one plain sentence, `field` the part of the request at fault, `column` and `line`
    1-based (0 when they do not apply), `hint` the likely cure, `text` the text that column is in.
    """

    code: str
    message: str
    field: str = ""
    line: int = 0
    column: int = 0
    hint: str = ""
    text: str = ""


class Request(Struct, frozen=True, gc=False, kw_only=True):
    """Idempotency of a user's request: the client's key and a digest of what it asked.
    `seen_digest`, `seen_answer`, `seen_lsn` are the loop's look-up of an earlier use of it."""

    key: str = ""
    digest: str = ""
    seen_digest: str = ""
    seen_answer: dict[str, Any] | None = None
    seen_lsn: int = 0
