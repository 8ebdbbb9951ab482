"""Odd input to the `xce` command: one clear line, a code of the contract, nothing left behind."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from xce.ops.config.file import ConfigFaulty, read_site
from xce.ops.main import main
from xce.ops.talk import Said


@pytest.mark.parametrize("command", [["up"], ["controller"], ["agent"], ["host", "drain", "n1"]])
def test_an_empty_home_is_not_the_current_directory(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, [*command, "--home", ""])
    assert told.exit_code == 2
    assert "an empty name is no folder" in told.output
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_nested_too_deep_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "xce.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigFaulty) as faulty:
        read_site(path)
    assert [one.message for one in faulty.value.faults] == ["is nested too deep"]


def test_a_refusal_is_shown_and_not_obeyed() -> None:
    said = Said(404, {"detail": "\x1b[2J\nx: No such host", "hint": "a\u202eb"})
    assert str(said) == "\\x1b[2J\\nx: No such host (a\\u202eb)"
