"""Who may come in: identity, the guard against browsers, and the cap on bodies. Pure ASGI.

On the unix socket the kernel says who asks (the peer's uid, put into the scope by `serve.py`);
elsewhere a bearer token does. Uid 0 and the server's own uid are admins. Any local user and any
web page can reach a loopback port, so requests with an `Origin`, from another site, or for a
`Host` that is not this machine are refused before anything else is looked at. Bodies are counted
while they come in. The actor is handed on in the scope's state. A refusal closes the connection:
what else comes on it was not asked for. A fault behind the gate is logged and told as one.
"""

import hmac
import logging
from collections.abc import Callable, Mapping

from msgspec import Struct
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xce.api.problem import Problem, broken
from xce.model.actor import ADMIN, HOST, OPERATOR, USER, Actor

log = logging.getLogger("xce.api")

ACTOR, PEER_UID, PEER_GID = "actor", "peer_uid", "peer_gid"

BODY_BYTES_MAX = 1 << 20
LARGE_BODY_BYTES_MAX = 16 << 20
_LARGE = ("/v1/jobs", "/v1/jobs:batch", "/v1/groups", "/v1/groups:dry-run")
_OPEN = ("/healthz", "/readyz", "/version")
_AGENTS = "/v1/agents/"
_TOO_LARGE = 413
_HERE = ("localhost", "127.0.0.1", "[::1]")
_KEPT = (b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-length")


class Doors(Struct, frozen=True, kw_only=True):
    """What the gate compares with. `operators` gives the uids that are operators now."""

    own_uid: int
    own_gid: int
    token: str
    agent_token: str
    operators: Callable[[], tuple[int, ...]]


class Gate:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in with its actor, or answer with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            headers = _kept(scope)
            path = scope["path"]
            _guard(scope, headers)
            scope["state"][ACTOR] = self._actor(scope, headers, path)
            capped = _capped(receive, headers, path)
        except Problem as problem:
            response = problem.response()
            response.headers["connection"] = "close"
            await response(scope, receive, send)
            return
        try:
            await self._app(scope, capped, answer)
        except Problem as problem:
            await problem.response()(scope, receive, answer)
        except ClientDisconnect:
            # Who asked has gone before the body was whole: nothing was done, nobody to tell.
            return
        except Exception as error:
            log.exception("%s %s failed", scope["method"], path[:200])
            if not answer.begun:
                await broken(error).response()(scope, receive, send)

    def _actor(self, scope: Scope, headers: Mapping[bytes, bytes], path: str) -> Actor | None:
        actor = self._who(scope, headers)
        if actor is None:
            if path in _OPEN:
                return None
            raise Problem(
                "not_authenticated",
                "who asks is not known",
                hint="use the unix socket, or send the token of HOME/token as a bearer token",
            )
        for_agents = path.startswith(_AGENTS)
        if for_agents != (actor.kind == HOST) and not (for_agents and actor.kind == ADMIN):
            raise Problem("not_allowed", f"{path} is not for {actor.text()}")
        return actor

    def _who(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Actor | None:
        bearer = headers.get(b"authorization")
        if bearer is not None:
            scheme, _, word = bearer.partition(b" ")
            if scheme.lower() == b"bearer" and _same(word, self._doors.agent_token):
                return Actor(kind=HOST)
            if scheme.lower() == b"bearer" and _same(word, self._doors.token):
                scope["state"].setdefault(PEER_GID, self._doors.own_gid)
                return Actor(kind=ADMIN, uid=self._doors.own_uid)
            raise Problem("not_authenticated", "the token is not known")
        uid = scope["state"].get(PEER_UID)
        if uid is None:
            return None
        if uid in (0, self._doors.own_uid):
            return Actor(kind=ADMIN, uid=uid)
        return Actor(kind=OPERATOR if uid in self._doors.operators() else USER, uid=uid)


class _Answer:
    """Passes an answer on and knows whether one has begun; after a body that was too large the
    connection is closed, so that the rest of it is not read."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        if message.get("status") == _TOO_LARGE:
            message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await self._send(message)


def _kept(scope: Scope) -> dict[bytes, bytes]:
    """The headers that are judged. One that is there twice would let two readers see two things."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _KEPT:
            if name in found:
                raise Problem("bad_request", f"the header {name.decode()} is there twice")
            found[name] = value
    return found


def _same(word: bytes, token: str) -> bool:
    return bool(token) and hmac.compare_digest(word.strip(), token.encode())


def _guard(scope: Scope, headers: Mapping[bytes, bytes]) -> None:
    if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") not in (
        b"none",
        b"same-origin",
    ):
        raise Problem("not_allowed", "requests from web pages are refused")
    host = headers.get(b"host", b"").decode("latin-1")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if PEER_UID not in scope["state"] and name.lower() not in _HERE:
        raise Problem("not_allowed", f"this server is not {host[:80] or 'nameless'}")


def _capped(receive: Receive, headers: Mapping[bytes, bytes], path: str) -> Receive:
    most = LARGE_BODY_BYTES_MAX if path in _LARGE else BODY_BYTES_MAX
    too_large = Problem("too_large", f"the body has more than {most >> 20} MiB")
    told = headers.get(b"content-length", b"0")
    if told.isdigit() and int(told) > most:
        raise too_large
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large
        return message

    return counted
