"""Alibaba's cluster-trace-gpu-v2023: pods as jobs. Nodes are read by `clusters.openb_hosts`.

Columns by name: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where the list has them,
gpu_spec (models, joined by |), qos, pod_phase, creation_time and deletion_time. A list without
times is a queue of pods that come in order, one a second, and stay.
"""

from xce.sim.readers.form import SECOND_US, Reading, TraceJob, Unread, whole
from xce.sim.readers.table import rows

NEEDED = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
MIB = 1 << 20


def parse(reading: Reading) -> None:
    """All pods of a list."""
    for place, (number, row) in enumerate(rows(reading, NEEDED)):
        try:
            reading.add(number, _pod(row, place))
        except Unread as error:
            reading.fault(number, str(error))


def _pod(row: dict[str, str], place: int) -> TraceJob:
    timed = "creation_time" in row
    created = whole(row["creation_time"], "creation_time") if timed else place
    deleted = row.get("deletion_time", "")
    run = whole(deleted, "deletion_time") - created if deleted else -1
    if deleted and run < 0:
        raise Unread(f"{row['name']} is deleted before it is created")
    return TraceJob(
        number=_number(row["name"]),
        name=row["name"],
        submit_us=created * SECOND_US,
        run_us=run * SECOND_US if run >= 0 else -1,
        gpus=whole(row["num_gpu"], "num_gpu"),
        gpu_milli=whole(row["gpu_milli"], "gpu_milli"),
        gpu_models=tuple(word for word in row.get("gpu_spec", "").split("|") if word),
        cpu_milli=whole(row["cpu_milli"], "cpu_milli"),
        mem_bytes=whole(row["memory_mib"], "memory_mib") * MIB,
        queue=row.get("qos", ""),
    )


def _number(name: str) -> int:
    digits = name.rsplit("-", 1)[-1]
    if not digits.isdigit():
        raise Unread(f"expected a name that ends in a number, found {name!r}")
    return int(digits) + 1
