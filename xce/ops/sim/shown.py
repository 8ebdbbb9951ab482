"""What `xce sim run` says to people."""

from typing import Any


def show(told: dict[str, Any]) -> str:
    """The header, the numbers, what was left out."""
    head, numbers = told["header"], told["metrics"]
    how = f"{head['policy']}, {head['estimates']} estimates, cadence {head['cadence']}"
    lines = [
        f"{head['trace']} on {head['processors']} processors: {how}, on limit {head['on_limit']}",
        f"jobs                {numbers['jobs']}",
    ]
    lines += [
        f"{name:19} " + "  ".join(f"{key} {n}" for key, n in numbers[name].items())
        for name in ("wait_s", "turnaround_s", "bounded_slowdown")
        if name in numbers
    ]
    lines += [
        f"{name:19} {numbers[name]}"
        for name in ("makespan_s", "utilisation", "utilisation_windowed", "backfilled_share")
        if name in numbers
    ]
    left = ", ".join(f"{name} {n}" for name, n in told["left_out"].items() if n)
    if left:
        lines.append(f"left out            {left}")
    lines += [f"line {fault['line']}: {fault['message']}" for fault in told["faults"]]
    counts = told["counts"]
    speed = f"{told['took']['jobs_per_s']} jobs/s"
    lines += [
        f"sessions {counts['sessions']}, records {counts['records']}, {speed}",
        f"starts {told['starts_sha256'][:20]}, log {told['log_head']['hash']}",
        ", ".join(f"{what} {head[what][:12]}" for what in ("code", "trace_sha256", "config")),
    ]
    if "verified" in told:
        lines.append(told["verified"])
    return "\n".join(lines)
