"""The source files of the project, parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("xce", "xcecli", "bench")
PURE = ("xce/model", "xce/resreq", "xce/scheduler", "xce/dispatch", "xce/controller/core")


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """Python files below the folders, in order."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return tuple(sorted(path for path in found if "__pycache__" not in path.parts))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def name(path: Path) -> str:
    """A file's name in the checkout."""
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a file, inner ones too."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree(path)) if isinstance(node, kinds)]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines a function has."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def imports(path: Path) -> set[str]:
    """The top-level modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found
