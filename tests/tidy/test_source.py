"""The code keeps to the sizes and habits of CONTRIBUTING.md."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.tidy.source import PRODUCT, PURE, ROOT, files, functions, imports, length, name, tree

IMPURE = {
    "time", "datetime", "random", "secrets", "uuid", "os", "pathlib", "tempfile", "shutil",
    "asyncio", "threading", "multiprocessing", "concurrent", "socket", "ssl", "select", "http",
    "urllib", "logging", "subprocess", "signal", "sqlite3", "sqlalchemy", "psycopg", "fastapi",
}  # fmt: skip
VAGUE = re.compile(r"^(utils?|common|helpers?|misc|managers?|handlers?|stuff)\.py$")
CROWDED = {"xce/model": 12}
"""Rooms beyond twelve files, which is where a room is usually two: they may shrink, not grow."""
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")


def test_no_file_has_more_than_400_lines() -> None:
    counts = {name(path): path.read_text().count("\n") for path in files(*PRODUCT, "tests")}
    assert {file: count for file, count in counts.items() if count > 400} == {}


def test_no_function_has_more_than_60_lines_and_most_have_fewer_than_30() -> None:
    sizes = {
        f"{name(path)}:{node.lineno} {node.name}": length(node)
        for path in files(*PRODUCT)
        for node in functions(path)
    }
    assert {where: size for where, size in sizes.items() if size > 60} == {}
    assert sum(size >= 30 for size in sizes.values()) <= len(sizes) // 10


def test_no_function_has_more_than_six_positional_parameters() -> None:
    many = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in files(*PRODUCT)
        for node in functions(path)
        if len(node.args.posonlyargs) + len(node.args.args) > 6
    ]
    assert many == []


def test_no_class_has_more_than_twenty_public_methods() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    counts = {
        f"{name(path)} {node.name}": sum(
            isinstance(part, kinds) and not part.name.startswith("_") for part in node.body
        )
        for path in files(*PRODUCT)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    }
    assert {where: count for where, count in counts.items() if count > 20} == {}


def test_no_folder_has_more_than_twelve_source_files() -> None:
    counts = Counter(name(path.parent) for path in files(*PRODUCT) if path.name != "__init__.py")
    crowded = {folder: count for folder, count in counts.items() if count > 12}
    assert {f: count for f, count in crowded.items() if count > CROWDED.get(f, 0)} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        name(path)
        for path in files(*PRODUCT)
        if path.read_text().strip() and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name(path) for path in files(*PRODUCT, "tests") if VAGUE.match(path.name)] == []


def test_nothing_is_marked_as_unfinished() -> None:
    marked = [
        f"{name(path)}:{number}"
        for path in files(*PRODUCT)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert marked == []


def test_no_error_is_caught_bare_or_swallowed_without_a_reason() -> None:
    bad = [
        f"{name(path)}:{node.lineno}"
        for path in files(*PRODUCT)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or swallows(path, node))
    ]
    assert bad == []


def swallows(path: Path, node: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing and no comment in it says why that is right."""
    if len(node.body) != 1 or not isinstance(node.body[0], ast.Pass):
        return False
    lines = path.read_text().splitlines()[node.lineno - 1 : node.body[0].lineno]
    return not any("#" in line for line in lines)


def test_pure_rooms_import_no_clock_chance_or_world() -> None:
    impure = {name(path): sorted(imports(path) & IMPURE) for path in files(*PURE)}
    assert {file: found for file, found in impure.items() if found} == {}


def test_pure_rooms_do_not_walk_over_sets() -> None:
    """Order must not come from hashes: a loop over a set display or a `set(...)` call."""
    loops = [
        f"{name(path)}:{node.lineno}"
        for path in files(*PURE)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.For | ast.comprehension)
        for over in [node.iter]
        if isinstance(over, ast.Set | ast.SetComp)
        or (
            isinstance(over, ast.Call)
            and isinstance(over.func, ast.Name)
            and over.func.id in {"set", "frozenset"}
        )
    ]
    assert loops == []


def test_the_checkout_has_the_rooms_that_the_design_names() -> None:
    for room in ("xce/controller", "xce/scheduler", "xce/resreq", "xce/wal", "xce/dispatch"):
        assert (ROOT / room / "__init__.py").is_file(), room
    assert (ROOT / "migrations" / "env.py").is_file()
    assert (ROOT / "xcecli" / "__init__.py").is_file()
