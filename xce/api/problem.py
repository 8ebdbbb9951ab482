"""Problems: how the API says no (RFC 9457, application/problem+json).

Every refusal has a stable `code`, one sentence in `detail`, and where they apply `pointer` (the
field at fault), `line`, `column`, `text` (what the column is in) and `hint`. A `Problem` is
raised by routes and turned into an answer at the edge; it is never a stack trace. What somebody
sent is given back cut, never whole.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from xce.controller.core.commands import Rejection
from xce.model.manifest import Fault

MEDIA = "application/problem+json"

STATUS = {
    "bad_request": 400,
    "not_authenticated": 401,
    "not_allowed": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "finished": 409,
    "already_finished": 409,
    "key_reused": 409,
    "gone": 410,
    "too_large": 413,
    "wrong_media": 415,
    "headers_too_large": 431,
    "internal": 500,
    "busy": 503,
    "not_leading": 503,
    "outcome_unknown": 503,
}
_REFUSED = 422
SHOWN_CHARACTERS_MAX = 1_000


class Problem(Exception):
    """A request that is refused; see the module for its members."""

    def __init__(self, code: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.code, self.detail = code, cut(detail)
        self.members = {key: value for key, value in members.items() if value}
        for name in ("hint", "pointer"):
            if name in self.members:
                self.members[name] = cut(str(self.members[name]))

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return STATUS.get(self.code, _REFUSED)

    def body(self) -> dict[str, Any]:
        """The members of the answer."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> Response:
        """The answer."""
        headers = {"retry-after": "1"} if self.status == 503 else None
        if self.status == 401:
            headers = {"www-authenticate": "Bearer"}
        return Response(msgspec.json.encode(self.body()), self.status, headers, MEDIA)


def cut(text: str) -> str:
    """A sentence that may hold what somebody sent: long ones keep their beginning."""
    kept = text[:SHOWN_CHARACTERS_MAX]
    return kept if len(kept) == len(text) else f"{kept}..."


def broken(error: BaseException) -> Problem:
    """What an asker hears of a fault of ours; the log has the rest."""
    what = f"the controller failed at this request ({type(error).__name__}); its log says more"
    return Problem("internal", what)


def refused(rejection: Rejection) -> Problem:
    """The problem that a command's rejection is."""
    return Problem(
        rejection.code,
        rejection.message,
        pointer=pointer(rejection.field),
        line=rejection.line,
        column=rejection.column,
        text=rejection.text,
        hint=rejection.hint,
    )


def faulty(faults: Iterable[Fault]) -> Problem:
    """The problem of a manifest with faults; the first one speaks for all."""
    listed = tuple(faults)
    first = listed[0]
    errors = [
        {
            "code": fault.code,
            "pointer": fault.pointer(),
            "field": fault.where(),
            "detail": fault.message,
            "expected": fault.expected,
            "hint": fault.hint,
            "text": fault.text,
            "column": fault.column,
        }
        for fault in listed
    ]
    code = "unsupported" if first.code == "unsupported" else "invalid"
    return Problem(
        code,
        str(first),
        pointer=first.pointer(),
        hint=first.hint,
        text=first.text,
        column=first.column,
        errors=errors,
    )


def pointer(field: str) -> str:
    """A field such as `roles[1].resreq` as a JSON Pointer."""
    if not field or field.startswith("/"):
        return field
    steps = field.replace("[", ".").replace("]", "").split(".")
    return "".join(f"/{step}" for step in steps if step)
