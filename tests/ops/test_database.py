"""`xce db` and `xce config` on the command line, on a home that a controller left."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.ops.xce_up import ONE_HOST, Service
from xce.ops.main import main

pytestmark = pytest.mark.processes


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which one job ran."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "one.toml").write_text(ONE_HOST)
    service = Service(folder / "h", "--cluster", folder / "one.toml")
    service.ready()
    service.await_state(service.submit("true"), "DONE")
    held = run("db", "verify", "--home", folder / "h")
    assert (held.exit_code, "is in use by process" in held.stderr) == (5, True)
    assert service.stop() == (0, "")
    return folder / "h"


@pytest.fixture
def home(used: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(used, tmp_path / "home", ignore=shutil.ignore_patterns("*.sock")))


def test_verify_finds_a_used_home_whole(home: Path) -> None:
    found = json.loads(run("db", "verify", "--home", home, "--json").stdout)
    assert (found["ok"], found["first_lsn"], found["jobs"], found["hosts"]) == (True, 1, 1, 1)
    assert found["cut_lsn"] == found["last_lsn"] == found["records"]
    assert run("db", "verify", "--home", home).stdout.startswith(f"{home}: whole; records 1 to ")


def test_a_flipped_byte_is_found_by_verify_and_refused_by_up(home: Path) -> None:
    path = home / "xce.db"
    data = bytearray(path.read_bytes())
    at = data.rfind(b"HostRegistered")
    data[at] ^= 1
    path.write_bytes(bytes(data))
    found = run("db", "verify", "--home", home)
    assert found.exit_code == 1
    assert found.stderr.startswith("xce: ")
    assert found.stderr.count("\n") == 1


def test_backup_is_checked_and_never_overwrites(home: Path) -> None:
    copy = home.parent / "copy.db"
    done = run("db", "backup", copy, "--home", home)
    assert done.stdout.startswith(f"{copy}: records 1 to ")
    assert run("db", "backup", copy, "--home", home).exit_code == 5
    fresh = home.parent / "fresh"
    fresh.mkdir(mode=0o700)
    shutil.copy(copy, fresh / "xce.db")
    (fresh / "holder").touch(mode=0o600)
    assert run("db", "verify", "--home", fresh).exit_code == 0


def test_a_copy_older_than_the_anchor_is_refused_with_what_is_missing(home: Path) -> None:
    copy = home.parent / "copy.db"
    assert run("db", "backup", copy, "--home", home).exit_code == 0
    service = Service(home)
    service.ready()
    assert service.stop()[0] == 0
    for name in ("xce.db", "xce.db-wal"):
        (home / name).unlink(missing_ok=True)
    shutil.copy(copy, home / "xce.db")
    found = run("db", "verify", "--home", home)
    assert found.exit_code == 1
    assert "acknowledged records missing" in found.stderr
    again = Service(home)
    _, said = again.process.communicate(timeout=30)
    assert again.process.returncode == 1
    assert "acknowledged records missing" in said


def test_export_writes_a_line_per_record(home: Path) -> None:
    out = home.parent / "log.jsonl"
    assert run("db", "export", "-o", out, "--home", home).exit_code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    kinds = [line["kind"] for line in lines if line["line"] == "record"]
    assert kinds[0] == "LeaderStarted"
    assert "JobSubmitted" in kinds
    assert run("db", "export", "--home", home).stdout == out.read_text()


def test_history_shows_finished_work(home: Path) -> None:
    (line,) = run("db", "history", "--home", home).stdout.splitlines()
    assert json.loads(line)["id"] == "1"
    assert json.loads(run("db", "history", "1", "--home", home).stdout)["job"]["state"] == "DONE"
    missing = run("db", "history", "g7", "--home", home)
    assert (missing.exit_code, missing.stderr) == (4, "xce: g7: no finished work of that name\n")


def test_a_folder_that_is_no_home_is_left_alone(tmp_path: Path) -> None:
    for command in ("verify", "upgrade", "export", "history"):
        done = run("db", command, "--home", tmp_path / "none")
        assert (done.exit_code, done.stderr) == (
            4,
            f"xce: {tmp_path / 'none'} is no controller's home\n",
        )
    assert not (tmp_path / "none").exists()


def test_upgrade_of_a_database_of_this_version_says_so(home: Path) -> None:
    assert run("db", "upgrade", "--home", home).stdout.endswith("is at this version's schema\n")


def test_config_check_tells_faults_as_text_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "xce.toml"
    path.write_text("clutser = 1\n")
    text = run("config", "check", path)
    told = f"{path}:1:1: unknown field 'clutser'; did you mean 'cluster'?\n"
    assert (text.exit_code, text.stderr) == (3, told)
    found = json.loads(run("config", "check", path, "--json").stdout)
    assert (found["ok"], found["faults"][0]["line"]) == (False, 1)
    path.write_text(ONE_HOST)
    assert run("config", "check", path).stdout == (
        f"{path} is good: 1 queue, 1 level, 0 types, 0 pools, 0 reporters, "
        "0 declared hosts, 1 emulated host\n"
    )


def test_config_explain_shows_values_with_their_meaning(tmp_path: Path) -> None:
    path = tmp_path / "xce.toml"
    path.write_text('[policies]\nhost_grace = "3m"\n')
    shown = run("config", "explain", "--cluster", path).stdout
    assert "  host_grace = 3m                  duration: silence until DOWN\n" in shown
    assert "  suspect_after = 15s              duration: silence until SUSPECT\n" in shown
    found = json.loads(run("config", "explain", "--cluster", path, "--json").stdout)
    assert found["host_grace_us"] == 180_000_000


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command of the tree."""
    import click

    assert isinstance(group, click.Group)
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*path, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


def test_every_command_has_help_and_most_have_an_example() -> None:
    tree = list(commands(main))
    assert ("up",) in tree
    assert ("host", "lost") in tree
    for words in tree:
        done = run(*words, "--help")
        assert done.exit_code == 0, words
        assert len(done.stdout) > 100, words
