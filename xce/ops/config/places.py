"""Where the fields of a TOML text are: line and column of every key and every item of a list.

The standard library's `tomllib` reads TOML and tells nothing of places. This walks over a text
that `tomllib` has accepted, so it need not check anything: it only keeps count of strings,
brackets and tables. A path such as `("emulate", "hosts", 1, "slots")` gets the 1-based place of
its key; a field that is not there gets the place of the nearest table around it.
"""

import re

Path = tuple[str | int, ...]
Place = tuple[int, int]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}#\n]+")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\])*"'),
    re.compile(r"'[^']*'"),
)


class Places:
    """The places of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: dict[Path, Place] = {}
        self._lists: dict[Path, int] = {}
        self._walk()

    def of(self, path: Path) -> Place:
        """Where `path` is, or the nearest thing around it."""
        while path and path not in self._found:
            path = path[:-1]
        return self._found.get(path, (1, 1))

    def _walk(self) -> None:
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _header(self) -> Path:
        """A `[table]` or one more of a `[[list of tables]]`; gives its path."""
        start = self._at
        repeated = self._text.startswith("[[", start)
        self._at += 2 if repeated else 1
        path: Path = ()
        for part in self._key():
            path = (*path, part)
            if path in self._lists:
                path = (*path, self._lists[path])
        if repeated:
            name = path[:-1] if isinstance(path[-1], int) else path
            self._lists[name] = self._lists.get(name, -1) + 1
            path = (*name, self._lists[name])
        self._at += 2 if repeated else 1
        self._note(path, start)
        return path

    def _pair(self, table: Path) -> None:
        start = self._at
        path = (*table, *self._key())
        self._note(path, start)
        self._at += 1
        self._value(path)

    def _key(self) -> list[str]:
        """The parts of a dotted key; stops at what follows it."""
        parts: list[str] = []
        while True:
            self._skip()
            if self._text[self._at] in "\"'":
                parts.append(self._string()[1:-1])
            else:
                found = _BARE.match(self._text, self._at)
                if found is None:
                    return parts
                parts.append(found.group())
                self._at = found.end()
            self._skip()
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, path: Path) -> None:
        self._skip()
        first = self._text[self._at]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._items(path)
        elif first == "{":
            self._inline(path)
        else:
            found = _SCALAR.match(self._text, self._at)
            self._at = found.end() if found else self._at + 1

    def _string(self) -> str:
        for form in _STRINGS:
            found = form.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
                return found.group()
        self._at += 1
        return ""

    def _items(self, path: Path) -> None:
        self._at += 1
        index = 0
        self._skip()
        while self._text[self._at] != "]":
            self._note((*path, index), self._at)
            self._value((*path, index))
            index += 1
            self._skip_comma()
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        self._skip()
        while self._text[self._at] != "}":
            self._pair(path)
            self._skip_comma()
        self._at += 1

    def _skip_comma(self) -> None:
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
        self._skip()

    def _note(self, path: Path, at: int) -> None:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        self._found[path] = (line, column)
        for end in range(1, len(path)):
            self._found.setdefault(path[:end], (line, column))
