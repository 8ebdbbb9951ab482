"""The `xce` command: its tree and its options; what it does is imported when it is asked for.

Results go to stdout, talk to stderr. Exit codes are those of contract.md: 0 ok, 1 failed,
2 usage, 3 refused, 5 conflict, 6 unreachable; 70 is a controller that a failed commit ended.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import click

from xce import __version__
from xce.ops.home import default_home

Command = Callable[..., Any]


class Folder(click.Path):
    """A folder by its name; an empty one would silently be the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of the name."""
        if value == "":
            self.fail("an empty name is no folder", param, ctx)
        return super().convert(value, param, ctx)


_FOLDER = Folder(path_type=Path, readable=False)
_FILE = click.Path(path_type=Path, dir_okay=False, readable=False)

home_option = click.option(
    "--home", type=_FOLDER, default=default_home, show_default="XCE_HOME or ./.xce",
    help="The controller's folder: log, anchor, socket, tokens, hosts.",
)  # fmt: skip
_CONTROLLER = (
    home_option,
    click.option("--cluster", type=_FILE, help="An xce.toml; kept in the home for later starts."),
    click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="any free one",
                 help="The TCP port on 127.0.0.1; the socket HOME/api.sock is always there."),
    click.option("--database", default="sqlite", show_default=True, metavar="URL",
                 help="sqlite, sqlite:PATH or postgresql://USER@HOST/NAME."),
    click.option("--allow-root", is_flag=True, envvar="XCE_ALLOW_ROOT", show_envvar=True,
                 help="Let work of uid 0 run."),
    click.option("--log", "style", type=click.Choice(["text", "json"]), default="text",
                 help="How lines on stderr look."),
    click.option("-v", "--verbose", is_flag=True, help="Say what goes as planned, too."),
)  # fmt: skip


def controller_options(command: Command) -> Command:
    """The options of everything that runs a controller."""
    for option in reversed(_CONTROLLER):
        command = option(command)
    return command


class Late(click.Group):
    """A group whose further commands live in modules that are imported when they are used."""

    LATE: ClassVar[dict[str, str]] = {
        "demo": "xce.ops.demo.command:demo",
        "db": "xce.ops.database:db",
        "config": "xce.ops.config.command:config",
        "host": "xce.ops.hosts:host",
        "queue": "xce.ops.hosts:queue",
        "sim": "xce.ops.sim.command:sim",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them."""
        return sorted({*super().list_commands(ctx), *self.LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import what is asked for."""
        if cmd_name not in self.LATE:
            return super().get_command(ctx, cmd_name)
        from importlib import import_module

        module, name = self.LATE[cmd_name].split(":")
        found: click.Command = getattr(import_module(module), name)
        return found


@click.group(cls=Late, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="xce")
def main() -> None:
    """Run and look after XCE. Users' commands are in `xcecli`.

    \b
    See it work:            xce demo
    A cluster to play with: xce up --cluster examples/clusters/dgx-4.toml
    This machine alone:     xce up
    """


@main.command()
@controller_options
def up(home: Path, cluster: Path | None, port: int, database: str, **rest: Any) -> None:
    """Run a controller and its agents until Ctrl-C.

    Agents are those of the file's [emulate] table, else one for this machine. Ctrl-C ends the
    jobs, too; a second Ctrl-C does so at once.

    \b
    xce up --cluster examples/clusters/dgx-4.toml
    xce up --home /srv/xce --port 7480
    xce up --database postgresql://xce@db.example/xce
    """
    from xce.ops.up import options_of, run, run_here

    run(run_here(_options(options_of, (home, cluster, port, database), rest)))


@main.command()
@controller_options
def controller(home: Path, cluster: Path | None, port: int, database: str, **rest: Any) -> None:
    """Run the controller and its API alone.

    Agents come by themselves.

    \b
    xce controller --port 7480 --cluster xce.toml
    """
    from xce.ops.up import options_of, run, run_alone

    run(run_alone(_options(options_of, (home, cluster, port, database), rest)))


def _options(options_of: Command, words: tuple[Any, ...], rest: dict[str, Any]) -> Any:
    from xce.ops.logs import set_up

    set_up(rest["style"], verbose=rest["verbose"])
    return options_of(*words, allow_root=rest["allow_root"])


_AGENT = (
    home_option,
    click.option("--host", metavar="NAME", help="The host's name; this machine's by default."),
    click.option("--controller", "urls", multiple=True, metavar="URL",
                 help="http://HOST:PORT or unix:PATH; may be given several times."),
    click.option("--token-file", type=_FILE, help="By default HOME/agent.token."),
    click.option("--cluster", type=_FILE, help="An xce.toml that says what the host has."),
    click.option("--facts", "facts_file", type=_FILE,
                 help="A TOML or JSON file with all that the host has; it wins over --cluster."),
    click.option("--cgroup", type=click.Choice(["auto", "v2", "v1", "none"]), default="auto",
                 show_default=True, help="How the processes of a job are held together."),
    click.option("--boot-id", metavar="TEXT", default="",
                 help="Tells one boot from another where the kernel's does not: in a container."),
    click.option("--poll", "poll_s", type=click.FloatRange(0.05, 30.0), default=5.0,
                 show_default=True, metavar="S", help="How long a question for orders may wait."),
    click.option("--on-leave", type=click.Choice(["keep", "stop"]), default="keep",
                 show_default=True, help="What becomes of jobs when the agent is told to stop."),
    click.option("--allow-root", is_flag=True, envvar="XCE_ALLOW_ROOT", show_envvar=True,
                 help="Let work of uid 0 run."),
)  # fmt: skip


def agent_options(command: Command) -> Command:
    """The options of an agent."""
    for option in reversed(_AGENT):
        command = option(command)
    return command


@main.command()
@agent_options
def agent(home: Path, host: str | None, urls: tuple[str, ...], **rest: Any) -> None:
    """Run the agent of one host until it is told to stop.

    \b
    xce agent --host n1 --cluster examples/clusters/dgx-4.toml
    xce agent --controller http://127.0.0.1:7480 --token-file /etc/xce/agent.token
    """
    from xce.ops.one_agent import run_one

    sys.exit(run_one(home, host, urls, rest))


if __name__ == "__main__":
    main()
