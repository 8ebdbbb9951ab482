"""The command line of `xce sim`."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from xce.ops.home import EXIT_FAILED, EXIT_REFUSED

_FILE = click.Path(path_type=Path, dir_okay=False)
FORMS = ("swf", "openb", "philly", "lsb.acct", "lines")


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A duration like `30s` or `5m`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        from xce.model.units import parse_duration

        if isinstance(value, int):
            return value
        try:
            return parse_duration(value, bare="s")
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Cadence(Duration):
    """`event`, or how often sessions are."""

    name = "event|seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds; 0 is `event`."""
        return 0 if value in ("event", 0) else super().convert(value, param, ctx)


DURATION = Duration()


@click.group()
def sim() -> None:
    """Play workloads and logs on a virtual clock, with the controller's own decisions.

    \b
    xce sim run --swf trace.swf.gz --procs 128 --policy easy
    xce sim replay log.jsonl
    """


_RUN = (
    click.option("--swf", type=_FILE, help="A trace in the Standard Workload Format, or"),
    click.option("--trace", type=_FILE, help="a trace of another --format."),
    click.option("--format", "form", type=click.Choice(FORMS), default="swf", show_default=True,
                 help="What the file of --trace is."),
    click.option("--strict", is_flag=True, help="End at the first line that cannot be read."),
    click.option("--jobs", type=click.IntRange(1), help="Only the first so many."),
    click.option("--procs", type=click.IntRange(1), help="A pool of so many slots, or"),
    click.option("--hosts", metavar="NxM[gpu]", help="hosts like 100x8 or 100x8gpu, or"),
    click.option("--cluster", type=_FILE, help="the hosts and queues of an xce.toml."),
    click.option("--policy", type=click.Choice(["fcfs", "easy", "conservative", "none"]),
                 help="How work overtakes; easy, or what the file of --cluster says."),
    click.option("--depth", type=click.IntRange(0), default=0, help="How many reserve; 0 is all."),
    click.option("--exact-estimates", "exact", is_flag=True, help="Limits are the run times."),
    click.option("--on-limit", type=click.Choice(["kill", "extend"]), default="kill",
                 show_default=True, help="What becomes of jobs that run longer than they asked."),
    click.option("--cadence", type=Cadence(), default="event", show_default=True,
                 help="A session when something happened, or every so often."),
    click.option("--order", type=click.Choice(["together", "apart"]), default="together",
                 show_default=True, help="One session for an instant, or one behind each event."),
    click.option("--start-delay", "start_us", type=DURATION, default="0s",
                 help="From a plan to the start on the host."),
    click.option("--end-delay", "end_us", type=DURATION, default="0s",
                 help="From an end on the host until it is known."),
    click.option("--schedule", type=_FILE, help="Write every job's times here, as CSV."),
    click.option("--metrics", "metrics_file", type=_FILE, help="Write the numbers here, as CSV."),
    click.option("--by", type=click.Choice(["size", "user", "queue"]), multiple=True,
                 help="Tell the numbers of these groups, too."),
    click.option("--log", type=_FILE, help="Write all records here, as `xce db export` does."),
    click.option("--verify", is_flag=True, help="Run twice, in two processes, and compare."),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
)  # fmt: skip


def run_options(command: Any) -> Any:
    """The options of a run."""
    for option in reversed(_RUN):
        command = option(command)
    return command


@sim.command()
@run_options
def run(**asked: Any) -> None:
    """Play a trace and tell what it came to.

    \b
    xce sim run --swf trace.swf.gz --procs 128 --policy easy --schedule out.csv
    xce sim run --trace jobs.jsonl --format lines --hosts 100x8gpu --cadence 30s
    """
    from xce.ops.sim.running import Refused, run_asked, verify_asked

    try:
        told = verify_asked(asked) if asked.pop("verify") else run_asked(asked)
    except Refused as error:
        click.echo(f"xce sim: {error}", err=True)
        sys.exit(EXIT_REFUSED)
    if asked["as_json"]:
        click.echo(msgspec.json.encode(told).decode())
    else:
        from xce.ops.sim.shown import show

        click.echo(show(told))


@sim.command()
@click.argument("log", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def replay(log: Path, as_json: bool) -> None:
    """Decide an exported LOG again and demand the same records.

    Every command is read back from what was written down, every session runs anew on the state
    that it saw. The first difference ends it, and is shown from both sides; then the exit code
    is 1.

    \b
    xce db export -o log.jsonl && xce sim replay log.jsonl
    """
    from xce.ops.sim.replaying import replay_file, show_replay
    from xce.ops.sim.running import Refused

    try:
        told = replay_file(log)
    except Refused as error:
        click.echo(f"xce sim: {error}", err=True)
        sys.exit(EXIT_REFUSED)
    click.echo(msgspec.json.encode(told).decode() if as_json else show_replay(told))
    sys.exit(EXIT_FAILED if told["difference"] else 0)
