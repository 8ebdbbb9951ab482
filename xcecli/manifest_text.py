"""YAML and JSON text of a manifest to a plain document, with the place of every field.

Read with PyYAML's nodes, because only they know line and column. Of YAML 1.1's guesses only the
plain ones are kept: true and false, null, whole numbers, decimals; `yes`, `1:30` and dates stay
texts, so that a manifest means what it looks like. A key written twice, tags, and documents that
grow by aliases are refused. JSON is read by the same way: it is YAML.

Marks are 1-based (line, column): of the key for a mapping's field, of the item in a list.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]

TEXT_BYTES_MAX = 1 << 20
NODES_MAX = 200_000
DEPTH_MAX = 32

_CORE = "tag:yaml.org,2002:"
_TAGS = ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
_PLAIN = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


class TextError(Exception):
    """A text that is no manifest's spelling: what is wrong and where (1-based)."""

    def __init__(self, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


@dataclass
class Marked:
    """A document with the (line, column) of the field at each path; `values` of its value."""

    document: Any
    marks: dict[Path, tuple[int, int]] = field(default_factory=dict)
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def mark(self, path: Path) -> tuple[int, int]:
        """Where the field at `path` is, or the nearest field around it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, (1, 1))


def load_yaml(text: str) -> Marked:
    """The document of a YAML or JSON text; TextError where it cannot be read."""
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise TextError(f"the text is larger than {TEXT_BYTES_MAX >> 20} MiB")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _text_error(error) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        column = len(before) - before.rfind("\n")
        said = f"a character that YAML does not allow: U+{ord(text[error.position]):04X}"
        raise TextError(said, before.count("\n") + 1, column) from None
    except yaml.YAMLError as error:
        raise TextError(f"not readable as YAML: {error}".splitlines()[0]) from None
    except RecursionError:
        raise TextError(f"nested deeper than {DEPTH_MAX}") from None
    if node is None:
        raise TextError("the text is empty", 1, 1, "a manifest begins with 'group: NAME'")
    reader = _Reader()
    marked = Marked(None, reader.marks, reader.values)
    marked.document = reader.read(node, ())
    return marked


class _Reader:
    """Turns nodes into plain values and keeps their places."""

    def __init__(self) -> None:
        self.marks: dict[Path, tuple[int, int]] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self._count = 0

    def read(self, node: yaml.Node, path: Path) -> Any:
        """The value of a node; its own place is its mark unless its key set one."""
        self._count += 1
        at = _at(node)
        if self._count > NODES_MAX or len(path) > DEPTH_MAX:
            raise TextError("too large or nested too deep", *at)
        if node.tag.removeprefix(_CORE) not in _TAGS:
            raise TextError(f"the tag {node.tag.replace(_CORE, '!!')} is not known", *at)
        self.values[path] = at
        self.marks.setdefault(path, at)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        raise TextError("neither a mapping, a list nor a value", *at)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise TextError("a field's name must be a word", *_at(key_node))
            key = key_node.value
            if key in result:
                line, _ = self.marks[(*path, key)]
                raise TextError(f"'{key}' is given twice, first in line {line}", *_at(key_node))
            self.marks[(*path, key)] = _at(key_node)
            result[key] = self.read(value_node, (*path, key))
        return result


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style is not None or node.tag == f"{_CORE}str":
        return text
    if text in _PLAIN:
        return _PLAIN[text]
    if _INT.match(text) and len(text) <= 20:
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    return text


def _at(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _text_error(error: yaml.MarkedYAMLError) -> TextError:
    mark = error.problem_mark or error.context_mark
    said = str(error.problem or error.context or "not readable as YAML")
    hint = ""
    if "'\\t'" in said:
        said, hint = "a tab stands where blanks must", "indent with blanks"
    if mark is None:
        return TextError(said, 1, 1, hint)
    return TextError(said, mark.line + 1, mark.column + 1, hint)
