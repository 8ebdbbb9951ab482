"""A numeric all-reduce over sockets, with nothing but the standard library.

The launcher listens at XCE_RENDEZVOUS. Every worker process opens a port of its own, tells the
launcher its rank and that port, gets the list of all, and joins a ring: connected to the next
rank, heard by the one before. Reduce-scatter and all-gather round the ring then give every rank
the sum of all vectors, which it compares, element by element, with the closed formula. Ranks say
how it went to the launcher; any exit code but 0 means that a sum was wrong or a rank was missing.
"""

import json
import os
import socket
import sys
import threading
from array import array

ELEMENTS = 24_000
WAIT_S = 30.0

Line = dict[str, object]


def value(member: int, index: int) -> float:
    """What member `member` (from 0) contributes at `index`; whole, so that sums are exact."""
    return float((member + 1) * (index % 1000 + 1))


def expected(members: int, index: int) -> float:
    """The sum over all members, in closed form."""
    return float(members * (members + 1) // 2 * (index % 1000 + 1))


def send_line(sock: socket.socket, line: Line) -> None:
    """One JSON object per line."""
    sock.sendall(json.dumps(line).encode() + b"\n")


def read_line(sock: socket.socket) -> dict[str, object]:
    """The next line; a closed connection is an error."""
    data = b""
    while not data.endswith(b"\n"):
        part = sock.recv(1)
        if not part:
            raise ConnectionError("the other side went away")
        data += part
    return dict(json.loads(data))


def read_exactly(sock: socket.socket, size: int) -> bytes:
    """`size` bytes."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise ConnectionError("the rank before went away")
        data += part
    return bytes(data)


def rendezvous() -> tuple[str, int]:
    """Where the launcher listens."""
    host, _, port = os.environ["XCE_RENDEZVOUS"].rpartition(":")
    return host, int(port)


# -- launcher --------------------------------------------------------------------------------


def launch() -> int:
    """Bring the workers together and hear how it went; 0 when every rank agrees."""
    members = int(os.environ["XCE_WORLD_SIZE"]) - 1
    with socket.create_server(rendezvous()) as listener:
        listener.settimeout(WAIT_S)
        print(f"launcher: {members} workers are to meet at {os.environ['XCE_RENDEZVOUS']}")
        sys.stdout.flush()
        peers = []
        while len(peers) < members:
            sock, _ = listener.accept()
            sock.settimeout(WAIT_S)
            try:
                peers.append((read_line(sock), sock))
            except ConnectionError:
                # Somebody only looked whether the port is open.
                sock.close()
    peers.sort(key=lambda peer: int(str(peer[0]["rank"])))
    ring = [peer["address"] for peer, _ in peers]
    for member, (_, sock) in enumerate(peers):
        send_line(sock, {"member": member, "ring": ring})
    verdicts = [read_line(sock) for _, sock in peers]
    good = sum(verdict["good"] is True for verdict in verdicts)
    sums = {str(verdict["checksum"]) for verdict in verdicts}
    print(f"launcher: {good} of {members} ranks have the right sum ({', '.join(sorted(sums))})")
    return 0 if good == members and len(sums) == 1 else 1


# -- worker ----------------------------------------------------------------------------------


def work() -> int:
    """Meet the others, reduce round the ring, check, tell; 0 when the sum is right."""
    with (
        socket.create_connection(rendezvous(), WAIT_S) as control,
        socket.create_server((control.getsockname()[0], 0)) as listener,
    ):
        listener.settimeout(WAIT_S)
        address = list(listener.getsockname()[:2])
        send_line(control, {"rank": os.environ["XCE_RANK"], "address": address})
        told = read_line(control)
        member, ring = int(str(told["member"])), list(told["ring"])  # type: ignore[call-overload]
        total = all_reduce(listener, member, ring)
        wrong = [i for i in range(ELEMENTS) if total[i] != expected(len(ring), i)]
        send_line(control, {"good": not wrong, "checksum": int(sum(total))})
    where = f"{os.environ.get('XCE_HOST', 'host')}, rank {os.environ['XCE_RANK']}"
    if wrong:
        print(f"{where}: WRONG at {len(wrong)} of {ELEMENTS} elements, the first is {wrong[0]}")
        return 1
    print(f"{where}: the sum over {len(ring)} ranks is right ({ELEMENTS} elements)")
    return 0


def all_reduce(listener: socket.socket, member: int, ring: list[list[object]]) -> array:
    """The element-wise sum of every member's vector."""
    members = len(ring)
    vector = array("d", (value(member, i) for i in range(ELEMENTS)))
    if members == 1:
        return vector
    host, port = ring[(member + 1) % members]
    with socket.create_connection((str(host), int(str(port))), WAIT_S) as ahead:
        behind, _ = listener.accept()
        with behind:
            behind.settimeout(WAIT_S)
            go_round(vector, member, members, ahead, behind)
    return vector


def go_round(
    vector: array, member: int, members: int, ahead: socket.socket, behind: socket.socket
) -> None:
    """Reduce-scatter, then all-gather: 2 (n - 1) steps, one chunk each way per step."""
    bounds = [ELEMENTS * i // members for i in range(members + 1)]
    for step in range(2 * (members - 1)):
        gathering = step >= members - 1
        out = (member - step) % members
        into = (out - 1) % members
        chunk = vector[bounds[out] : bounds[out + 1]].tobytes()
        # In a thread: all ranks send at the same moment, and a full pipe must not stop the ring.
        sender = threading.Thread(target=ahead.sendall, args=(chunk,))
        sender.start()
        heard = array("d")
        low, high = bounds[into], bounds[into + 1]
        heard.frombytes(read_exactly(behind, (high - low) * heard.itemsize))
        sender.join()
        if not gathering:
            pairs = zip(vector[low:high], heard, strict=True)
            heard = array("d", (mine + theirs for mine, theirs in pairs))
        vector[low:high] = heard


if __name__ == "__main__":
    sys.exit(launch() if "--launcher" in sys.argv[1:] else work())
