"""`xce config`: check a file, and explain what one may say."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from xce.model.config import Config
from xce.ops.config.fields import TABLES_OF
from xce.ops.config.file import ConfigFaulty, Site, read_site
from xce.ops.config.kinds import Field
from xce.ops.home import EXIT_REFUSED
from xce.ops.main import home_option

_FILE = click.Path(path_type=Path, dir_okay=False)
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.group()
def config() -> None:
    """Check and explain the file xce.toml.

    \b
    xce config check xce.toml
    xce config explain
    xce config reload xce.toml
    """


@config.command()
@click.argument("file", type=_FILE)
@_json
def check(file: Path, as_json: bool) -> None:
    """Say everything that is wrong with FILE, with line and column.

    \b
    xce config check examples/clusters/dgx-4.toml
    """
    try:
        site = read_site(file)
    except ConfigFaulty as error:
        if as_json:
            faults = [msgspec.to_builtins(fault) for fault in error.faults]
            _print({"ok": False, "file": str(file), "faults": faults})
        else:
            click.echo(str(error), err=True)
        sys.exit(EXIT_REFUSED)
    if as_json:
        _print({"ok": True, "file": str(file), "digest": site.digest, **_counts(site)})
        return
    counts = ", ".join(
        f"{count} {what.removesuffix('s') if count == 1 else what}"
        for what, count in _counts(site).items()
    )
    click.echo(f"{file} is good: {counts}")


@config.command()
@click.argument("file", type=_FILE)
@click.option(
    "--allow-root", is_flag=True, envvar="XCE_ALLOW_ROOT", help="Let work of uid 0 run.",
    show_envvar=True,
)  # fmt: skip
@_json
@home_option
def reload(file: Path, allow_root: bool, as_json: bool, home: Path) -> None:
    """Put FILE in force in the running controller; nothing that runs is touched.

    \b
    xce config reload xce.toml
    """
    from xce.ops.hosts import post
    from xce.ops.serving import with_root

    try:
        site = read_site(file)
    except ConfigFaulty as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_REFUSED)
    site = with_root(site, allow_root)
    body = {"config": msgspec.to_builtins(site.config), "digest": site.digest}
    code, told = post(home, "/v1/config", body)
    if code:
        sys.exit(code)
    if as_json:
        _print(told)
        return
    click.echo("the configuration is in force" if told["changed"] else "nothing has changed")
    for name in told.get("kept", ()):
        click.echo(f"kept because it is in use: {name}", err=True)
    if told.get("root_refused"):
        click.echo("work of root is refused from now on; --allow-root lets it run", err=True)


@config.command()
@click.option("--cluster", type=_FILE, help="Show this file's values instead of the defaults.")
@_json
def explain(cluster: Path | None, as_json: bool) -> None:
    """Show every field: what it takes, its value, what it is for.

    \b
    xce config explain
    xce config explain --cluster xce.toml --json
    """
    try:
        found = read_site(cluster).config if cluster else Config()
    except ConfigFaulty as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_REFUSED)
    if as_json:
        _print(msgspec.to_builtins(found))
        return
    for title, known in TABLES_OF.items():
        click.echo(f"\n{title}" if title else "at the top")
        for name, field in known.items():
            click.echo(_line(name, field, found if title in _VALUED else None))


_VALUED = ("", "[policies]", "[auth]")


def _line(name: str, field: Field, config: Config | None) -> str:
    value = ""
    if config is not None and field.to:
        value = f" = {_shown(field, getattr(config, field.to))}"
    needed = " (needed)" if field.needed else ""
    return f"  {name + value:32} {field.kind.word}: {field.about}{needed}"


def _shown(field: Field, value: Any) -> str:
    from xce.model.units import format_duration

    if field.kind.word == "duration":
        return format_duration(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _counts(site: Site) -> dict[str, int]:
    return {
        "queues": len(site.config.queues),
        "levels": len(site.config.levels),
        "types": len(site.config.types),
        "pools": len(site.config.pools),
        "reporters": len(site.reporters),
        "declared hosts": len(site.declared),
        "emulated hosts": len(site.emulated),
    }


def _print(body: dict[str, Any]) -> None:
    click.echo(msgspec.json.encode(body).decode())
