"""`xce host`: what an operator asks of hosts, over the home's socket.

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


def _change(home: Path, name: str, event: str, why: str, *, as_json: bool) -> int:
    try:
        told = ask(home, "POST", f"/v1/hosts/{quote(name, safe='')}/{event}", {"why": why})
    except NobodyThere as error:
        click.echo(f"xce: {error}", err=True)
        return EXIT_UNREACHABLE
    except Said as said:
        click.echo(f"xce: {said}", err=True)
        return EXIT_CODES.get(said.status, EXIT_REFUSED)
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
