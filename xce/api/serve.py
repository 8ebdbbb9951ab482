"""Serving: the unix socket with the peer's uid, the loopback port with a token.

`Service.start` opens both listeners, or none: a port in use or a socket that cannot be made is
told before anything is served. uvicorn runs in the caller's event loop and leaves signals alone.
The kernel tells the peer's uid for unix sockets only; on TCP the same call would say "root", so
the family is looked at first. Tokens are files of the home with mode 0600, made once.

A connection has some seconds to say what it wants, in a bounded number of bytes, and one uid may
hold only so many: else any local user could keep all others, and the agents, out.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import stat
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xce.api.app import make_app
from xce.api.gate import PEER_GID, PEER_UID, Doors
from xce.api.ports import Engine
from xce.api.problem import MEDIA, Problem

SOCKET, TOKEN, AGENT_TOKEN = "api.sock", "token", "agent.token"
_BACKLOG = 2048
_CONNECTIONS_MAX = 4096
_STOP_S = 2
_CREDENTIALS = struct.Struct("3i")
HEAD_BYTES_MAX = 64 << 10
HEAD_S, BODY_S = 10.0, 30.0
CONNECTIONS_PER_UID_MAX = 1_024


class CannotServe(Exception):
    """A listener or a token file could not be had: one sentence for people."""


class PeerProtocol(HttpToolsProtocol):
    """httptools, with the peer's uid and gid in the scope's state on unix sockets, and with
    bounds on what a client may take: time for a request, bytes of its head, connections."""

    held: Counter[int]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the credentials that the kernel kept at connect()."""
        super().connection_made(transport)
        peer: dict[str, Any] = dict(self.app_state)
        self._uid: int | None = None
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _, self._uid, peer[PEER_GID] = _CREDENTIALS.unpack(raw)
            peer[PEER_UID] = self._uid
            self.held[self._uid] += 1
        self.app_state = peer
        self._head_bytes: int | None = 0
        self._patience = self.loop.call_later(HEAD_S, self._give_up, HEAD_S)
        uid = self._uid
        if uid and uid != os.getuid() and self.held[uid] > CONNECTIONS_PER_UID_MAX:
            self._turn_away("busy", "too many connections of this user are open")

    def connection_lost(self, exc: Exception | None) -> None:
        """One connection of this uid less."""
        self._patience.cancel()
        if self._uid is not None:
            self.held[self._uid] -= 1
            if not self.held[self._uid]:
                del self.held[self._uid]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count while a head is coming in."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
                what = f"the request's head has more than {HEAD_BYTES_MAX >> 10} KiB"
                self._turn_away("headers_too_large", what)

    def on_message_begin(self) -> None:
        """A request begins: its head has HEAD_S to come in."""
        super().on_message_begin()
        self._head_bytes = 0
        self._wait(HEAD_S)

    def on_headers_complete(self) -> None:
        """The head is there; the body has BODY_S."""
        super().on_headers_complete()
        self._head_bytes = None
        self._wait(BODY_S)

    def on_message_complete(self) -> None:
        """The request is whole; how long the answer takes is ours."""
        super().on_message_complete()
        self._patience.cancel()

    def _wait(self, seconds: float) -> None:
        self._patience.cancel()
        self._patience = self.loop.call_later(seconds, self._give_up, seconds)

    def _give_up(self, seconds: float) -> None:
        if self.flow.read_paused:
            # We are the ones who do not read.
            self._wait(seconds)
        elif not self.transport.is_closing():
            self.transport.close()

    def _turn_away(self, code: str, detail: str) -> None:
        """Answer before there is a request, and close."""
        problem = Problem(code, detail)
        body = bytes(problem.response().body)
        lines = (
            f"HTTP/1.1 {problem.status} {problem.body()['title']}",
            f"content-type: {MEDIA}",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        self.transport.close()


def _protocol() -> type[PeerProtocol]:
    """The protocol of one service, with its own count of who holds connections."""
    return type("ServiceProtocol", (PeerProtocol,), {"held": Counter()})


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: the process has its own."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


class Service:
    """The API of one engine on one home. `port` is the one that was got (0 asks for any)."""

    def __init__(self, engine: Engine, home: Path, port: int = 0) -> None:
        self._engine = engine
        self._home = home
        self.port = port
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen and serve; CannotServe says why not."""
        doors = Doors(
            own_uid=os.getuid(),
            own_gid=os.getgid(),
            token=token_of(self._home / TOKEN),
            agent_token=token_of(self._home / AGENT_TOKEN),
            operators=lambda: self._engine.state.config.operators,
        )
        tcp = _listen_tcp(self.port)
        try:
            local = _listen_unix(self._home / SOCKET)
        except CannotServe:
            tcp.close()
            raise
        self.port = tcp.getsockname()[1]
        self._server = _Server(_settings(make_app(self._engine, doors)))
        self._task = asyncio.create_task(self._server.serve(sockets=[local, tcp]))
        while not self._server.started:
            if self._task.done():
                await self._task
                raise CannotServe("the server ended while it started")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Answer what is under way, then close and take the socket away."""
        if self._server is None or self._task is None:
            return
        self._server.should_exit = True
        await self._task
        self._server = self._task = None
        with contextlib.suppress(FileNotFoundError):
            (self._home / SOCKET).unlink()


def _settings(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_protocol(),
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=_CONNECTIONS_MAX,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_STOP_S,
    )


def token_of(path: Path) -> str:
    """The token in a file that only its owner may read; made when there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _new_token(path)
    except OSError as error:
        raise CannotServe(f"cannot read {path}: {error.strerror}") from None
    with os.fdopen(handle) as file:
        mode = os.fstat(file.fileno()).st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise CannotServe(f"{path} can be read by others; take that away (chmod 600)")
        token = file.read().strip()
    if len(token) < 32:
        raise CannotServe(f"{path} holds no token; remove it to get a new one")
    return token


def _new_token(path: Path) -> str:
    token = secrets.token_hex(32)
    fresh = path.with_name(f"{path.name}.new")
    try:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(f"{token}\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
    except OSError as error:
        raise CannotServe(f"cannot write {path}: {error.strerror}") from None
    return token


def _listen_tcp(port: int) -> socket.socket:
    try:
        sock = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise CannotServe(f"cannot listen on port {port}: {why}") from None
    sock.setblocking(False)
    return sock


def _listen_unix(path: Path) -> socket.socket:
    """A fresh socket; one that a killed server left is replaced, one that answers is not.

    It may be connected to by everybody who may enter the home: the peer's uid decides.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                if other.connect_ex(str(path)) == 0:
                    raise CannotServe(f"another server answers on {path}")
            path.unlink()
        sock.bind(str(path))
        path.chmod(0o666)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        what = "the path is too long" if "too long" in str(error) else error.strerror
        raise CannotServe(f"cannot listen on {path}: {what}") from None
    except CannotServe:
        sock.close()
        raise
    return sock
