"""`xce host` and `xce queue`: what an operator asks of them, over the home's socket.

Hosts join by themselves when their agent registers, so there is nothing to add by hand.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import msgspec

from xce.ops.home import EXIT_REFUSED, EXIT_UNREACHABLE
from xce.ops.main import home_option
from xce.ops.talk import NobodyThere, Said, ask

EXIT_CODES = {403: 7, 404: 4, 409: 5}
Command = Callable[..., Any]


@click.group()
def host() -> None:
    """Drain, open, close hosts; declare one lost; remove one.

    \b
    xce host drain n1 --why "new disks"
    xce host open n1
    xce host lost n3 --why "burnt down"
    """


def _host_command(event: str, doc: str) -> None:
    @host.command(event, help=doc)
    @click.argument("names", nargs=-1, required=True, metavar="HOST...")
    @click.option("--why", default="", help="The reason; it is kept in the log.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object per host.")
    @home_option
    def run(names: tuple[str, ...], why: str, as_json: bool, home: Path) -> None:
        codes = [_change(home, name, event, why, as_json=as_json) for name in names]
        sys.exit(max(codes))


def post(home: Path, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The answer to a POST, or the exit code of what went wrong, which is told."""
    try:
        return 0, ask(home, "POST", path, body)
    except NobodyThere as error:
        click.echo(f"xce: {error}", err=True)
        return EXIT_UNREACHABLE, {}
    except Said as said:
        click.echo(f"xce: {said}", err=True)
        return EXIT_CODES.get(said.status, EXIT_REFUSED), {}


def _change(home: Path, name: str, event: str, why: str, *, as_json: bool) -> int:
    code, told = post(home, f"/v1/hosts/{quote(name, safe='')}/{event}", {"why": why})
    if code:
        return code
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
    else:
        state = told.get("admin") or told.get("liveness")
        click.echo(f"host {name} is {state}")
    return 0


for _event, _doc in {
    "drain": "Place nothing more on HOST; what runs there goes on.",
    "close": "Place nothing more on HOST, until it is opened.",
    "open": "Let HOST take work again.",
    "lost": "Say that a silent HOST runs nothing any more.\n\nIts work ends as host_lost.",
    "remove": "Forget a HOST that has no work.",
}.items():
    _host_command(_event, _doc)


# -- queues ---------------------------------------------------------------------------------------


@click.group()
def queue() -> None:
    """Open, close, activate and inactivate queues.

    \b
    xce queue close night --why "moving"
    xce queue inactive normal
    """


def _queue_command(event: str, doc: str) -> None:
    @queue.command(event, help=doc)
    @click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
    @click.option("--why", default="", help="The reason; it is kept in the log.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON object per queue.")
    @home_option
    def run(names: tuple[str, ...], why: str, as_json: bool, home: Path) -> None:
        codes = []
        for name in names:
            code, told = post(home, f"/v1/queues/{quote(name, safe='')}/{event}", {"why": why})
            codes.append(code)
            if not code:
                click.echo(msgspec.json.encode(told).decode() if as_json else told["said"])
        sys.exit(max(codes))


for _event, _doc in {
    "open": "Let QUEUE take submissions again.",
    "close": "Let QUEUE take no more submissions; what is in it goes on.",
    "active": "Let QUEUE give out work again.",
    "inactive": "Let QUEUE give out no more work; what runs goes on.",
}.items():
    _queue_command(_event, _doc)
