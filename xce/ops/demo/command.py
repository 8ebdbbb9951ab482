"""The command line of `xce demo`."""

import sys
from pathlib import Path

import click


@click.command()
@click.option(
    "--home", type=click.Path(path_type=Path), help="Where to run; a new temporary folder else."
)
@click.option("--plain", is_flag=True, help="Lines instead of a picture, also on a terminal.")
def demo(home: Path | None, plain: bool) -> None:
    """See a gang run, in a few seconds.

    Starts a controller and the agents of 4 emulated hosts with 8 GPUs each, submits
    examples/gangs/allreduce.yaml, which runs real processes, shows who is placed where, what is
    READY and who is ARMED, and stops all it started. Exits with 0 when every rank has computed
    the right sum.

    \b
    xce demo
    xce demo --home /tmp/seen --plain
    """
    from xce.ops.demo.play import play
    from xce.ops.logs import set_up

    set_up("text", verbose=False)
    sys.exit(play(home, plain=plain))
