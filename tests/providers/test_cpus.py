"""Processors as the kernel tells them, from a folder that looks like its own."""

from pathlib import Path

from xce.model.host import CpuFacts
from xce.providers.cpus import processors


def told(root: Path, number: int, core: str, socket: str, node: int | None = None) -> None:
    folder = root / f"cpu{number}"
    (folder / "topology").mkdir(parents=True)
    (folder / "topology" / "core_id").write_text(f"{core}\n")
    (folder / "topology" / "physical_package_id").write_text(f"{socket}\n")
    if node is not None:
        (folder / f"node{node}").mkdir()


def test_threads_cores_sockets_and_nodes_are_read(tmp_path: Path) -> None:
    told(tmp_path, 0, "0", "0", 0)
    told(tmp_path, 1, "0", "1", 1)
    told(tmp_path, 2, "0", "0", 0)
    assert processors(tmp_path, [2, 0, 1]) == (
        CpuFacts(number=0, core=0, socket=0, numa=0),
        CpuFacts(number=1, core=0, socket=1, numa=1),
        CpuFacts(number=2, core=0, socket=0, numa=0),
    )


def test_only_what_may_be_used_is_told(tmp_path: Path) -> None:
    for number in range(4):
        told(tmp_path, number, str(number), "0", 0)
    assert [one.number for one in processors(tmp_path, {1, 3})] == [1, 3]


def test_a_machine_without_sockets_and_nodes_is_one_of_each(tmp_path: Path) -> None:
    told(tmp_path, 0, "0", "-1")
    assert processors(tmp_path, [0]) == (CpuFacts(number=0, core=0, socket=0, numa=0),)


def test_what_is_not_told_is_not_guessed(tmp_path: Path) -> None:
    told(tmp_path, 0, "0", "0")
    assert processors(tmp_path, [0, 1]) == ()
    told(tmp_path, 1, "much", "0")
    assert processors(tmp_path, [0, 1]) == ()
