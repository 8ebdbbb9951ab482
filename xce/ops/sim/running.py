"""What `xce sim run` does: reads, plays, writes; and the same twice for `--verify`."""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from xce import __version__
from xce.model.config import Config
from xce.model.host import HostFacts
from xce.model.units import format_duration
from xce.ops.config.file import ConfigFaulty, read_site
from xce.sim import clusters
from xce.sim.agents import Delays
from xce.sim.instant import Order
from xce.sim.metrics import flat, metrics
from xce.sim.readers import BrokenTrace, Trace, read_trace
from xce.sim.results import Header, code_digest, config_digest, hosts_digest, write_schedule
from xce.sim.run import Play, Run
from xce.sim.tape import Tape
from xce.sim.world import Rules


class Refused(Exception):
    """What was asked cannot be done; one sentence says why."""


def run_asked(asked: dict[str, Any]) -> dict[str, Any]:
    """Plays what the options say; gives what is told of it."""
    trace = _trace(asked)
    config, hosts = _cluster(asked)
    delays = Delays(start_us=asked["start_us"], end_us=asked["end_us"])
    order = Order(asked["order"])
    rules = Rules(order=order, cadence_us=asked["cadence"], delays=delays)
    cards = clusters.total(hosts, "gpu")
    by_gpu = bool(cards) and trace.unit == "gpu"
    play = Play(exact=asked["exact"], extend=asked["on_limit"] == "extend", gpus=by_gpu)
    jobs = trace.jobs[: asked["jobs"]]
    processors = cards if by_gpu else clusters.total(hosts, "slots")
    header = _header(asked, trace, (config, hosts), processors, len(jobs))
    tape = _tape(asked["log"])
    began = time.monotonic()
    run = Run(config, hosts, rules, play, tape)
    results = run.all(jobs)
    tape.close()
    took = time.monotonic() - began
    if asked["schedule"] is not None:
        with _opened(asked["schedule"]) as out:
            write_schedule(out, header, results)
    numbers = metrics(list(results), processors, asked["by"])
    if asked["metrics_file"] is not None:
        with _opened(asked["metrics_file"]) as out:
            csv.writer(out, lineterminator="\n").writerows([("name", "value"), *flat(numbers)])
    return {
        "header": msgspec.to_builtins(header),
        "metrics": numbers,
        "left_out": {**msgspec.to_builtins(run.left), "broken_lines": trace.fault_count},
        "faults": msgspec.to_builtins(trace.faults[:10]),
        "counts": msgspec.to_builtins(run.world.counts),
        "starts_sha256": results.starts_digest(),
        "log_head": {"lsn": tape.lsn, "hash": tape.hash.hex()},
        "took": {"seconds": round(took, 3), "jobs_per_s": round(len(results) / max(took, 1e-9))},
    }


def _trace(asked: dict[str, Any]) -> Trace:
    if (asked["swf"] is None) == (asked["trace"] is None):
        raise Refused("say which trace: one of --swf FILE and --trace FILE")
    path, form = (asked["swf"], "swf") if asked["swf"] else (asked["trace"], asked["form"])
    try:
        return read_trace(path, form, strict=asked["strict"])
    except BrokenTrace as error:
        raise Refused(str(error)) from error


def _cluster(asked: dict[str, Any]) -> tuple[Config, dict[str, HostFacts]]:
    """The configuration and the hosts."""
    said = [name for name in ("procs", "hosts", "cluster") if asked[name] is not None]
    if len(said) != 1:
        raise Refused("say which cluster: one of --procs P, --hosts NxM[gpu] and --cluster FILE")
    config, policy = clusters.plain_config(), asked["policy"] or "easy"
    try:
        if said == ["procs"]:
            hosts = clusters.pool(asked["procs"])
        elif said == ["hosts"]:
            hosts = clusters.shaped(asked["hosts"])
        else:
            site = read_site(asked["cluster"])
            hosts = {**site.declared, **site.emulated}
            if not hosts:
                raise Refused(f"{asked['cluster']} names no hosts")
            if asked["policy"] is None:
                return site.config, hosts
            config = site.config
    except (ConfigFaulty, ValueError) as error:
        raise Refused(str(error)) from error
    return clusters.with_policy(config, policy, asked["depth"], 0), hosts


def _header(
    asked: dict[str, Any], trace: Trace, cluster: tuple[Config, dict[str, HostFacts]],
    processors: int, jobs: int,
) -> Header:  # fmt: skip
    config, hosts = cluster
    delays = {"start": asked["start_us"], "end": asked["end_us"]}
    return Header(
        xce=__version__,
        code=code_digest(),
        trace=trace.name,
        trace_sha256=trace.digest,
        config=config_digest(config),
        hosts=hosts_digest(hosts),
        processors=processors,
        policy=asked["policy"] or config.backfill.policy,
        seed=0,
        cadence=format_duration(asked["cadence"]) if asked["cadence"] else "event",
        order=asked["order"],
        on_limit=asked["on_limit"],
        estimates="exact" if asked["exact"] else "user",
        delays=" ".join(f"{name} {format_duration(us)}" for name, us in delays.items()),
        jobs=jobs,
    )


def _tape(path: Path | None) -> Tape:
    try:
        return Tape(path)
    except FileExistsError:
        raise Refused(f"{path} is there already") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


def _opened(path: Path) -> Any:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


# -- twice ----------------------------------------------------------------------------------------


def verify_asked(asked: dict[str, Any]) -> dict[str, Any]:
    """The same run in two processes with other hash seeds; `Refused` names the first difference."""
    words = [word for word in sys.argv[1:] if word not in ("--verify", "--json")]
    with tempfile.TemporaryDirectory(prefix="xce-verify-") as folder:
        logs = [Path(folder) / f"{seed}.jsonl" for seed in (1, 2)]
        told = [
            _again([*words, "--json", "--log", str(log)], seed) for seed, log in enumerate(logs, 1)
        ]
        if told[0]["log_head"] != told[1]["log_head"]:
            raise Refused(f"two runs of the same differ: {first_difference(*logs)}")
    return {**told[0], "verified": "two processes, hash seeds 1 and 2: every record is the same"}


def _again(words: list[str], seed: int) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-m", "xce.ops.main", *words],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Refused(done.stderr.decode().strip().removeprefix("xce sim: "))
    found: dict[str, Any] = msgspec.json.decode(done.stdout)
    return found


def first_difference(one: Path, other: Path) -> str:
    """The first line in which two exported logs differ."""
    with one.open() as left, other.open() as right:
        next(left), next(right)
        for a, b in zip(left, right, strict=False):
            if a != b:
                return f"\n  {a.strip()[:400]}\n  {b.strip()[:400]}"
    return "one log is longer than the other"
