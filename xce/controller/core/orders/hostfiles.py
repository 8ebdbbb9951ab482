"""LSF's files on the host of a launch: what is in them, by the variable that names each.

A host writes them before a launch is armed and removes them when it is over; the paths are the
host's. They hold what an environment cannot for wide jobs: one string of it is limited by the
kernel. Each task of the job has one line, in the order of the shares, so that line N is task N.
`LSB_DJOB_RANKFILE` has the tasks in the order of their ranks: nothing reorders them here, so it
is the host file once more. `LSB_AFFINITY_HOSTFILE` is there for tasks bound to processors only:
MPI libraries take its mere presence as a binding. Pure; knows shares, no state and no paths.
"""

from collections.abc import Iterable

from xce.model.placing import Binding, Share


def host_files(shares: tuple[Share, ...]) -> dict[str, str]:
    """The content of each file, by the name of its variable."""
    hosts = _text(share.host for share in shares for _ in range(share.tasks))
    files = {"LSB_DJOB_HOSTFILE": hosts, "LSB_DJOB_RANKFILE": hosts}
    bound = affinity_lines(shares)
    if bound:
        files["LSB_AFFINITY_HOSTFILE"] = _text(bound)
    return files


def affinity_lines(shares: tuple[Share, ...]) -> list[str]:
    """For each bound task `host cpu,cpu` and, where memory is bound, its nodes and policy."""
    return [_affinity_line(share.host, one) for share in shares for one in share.bindings]


def rank_lines(shares: tuple[Share, ...]) -> list[str]:
    """The bound tasks as an MPI rank file has them."""
    tasks = ((share.host, one) for share in shares for one in share.bindings)
    return [f"rank {rank}={host} slot={listed(one.cpus)}" for rank, (host, one) in enumerate(tasks)]


def listed(numbers: Iterable[int]) -> str:
    """Numbers from low to high, with commas."""
    return ",".join(str(number) for number in sorted(numbers))


def _affinity_line(host: str, one: Binding) -> str:
    words = [host, listed(one.cpus)]
    if one.memory:
        words += [listed(one.nodes), one.memory]
    return " ".join(words)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
