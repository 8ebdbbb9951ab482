"""What a process can be given: words, variables and paths as the kernel takes them.

A start that exec could never do is refused when it is submitted, not tried again and again on
hosts. The figures are those of Linux: one word or variable has at most 128 KiB with its end, a
path 4,095 bytes, all words and variables together less than 2 MiB, of which a part is kept for
what XCE adds. Each function gives the sentence to say, "" when nothing is wrong. Requirements are
bounded here, too: reading one takes time in proportion to its length.
"""

from collections.abc import Iterable

from xce.model.units import KB, MB

WORD_BYTES_MAX = 128 * KB - 1
PATH_BYTES_MAX = 4 * KB - 1
COMMAND_BYTES_MAX = 768 * KB
ENVIRONMENT_BYTES_MAX = MB
REQUIREMENT_CHARACTERS_MAX = 8_192
_POINTER_BYTES = 8


def wrong_command(words: Iterable[str]) -> str:
    """What makes these words no argument vector."""
    total = 0
    for number, word in enumerate(words, 1):
        if "\0" in word:
            return f"word {number} of the command holds a NUL"
        size = len(word.encode())
        if size > WORD_BYTES_MAX:
            return f"word {number} of the command has more than {WORD_BYTES_MAX} bytes"
        if number == 1 and not size:
            return "the command's first word is empty"
        total += size + 1 + _POINTER_BYTES
    if total > COMMAND_BYTES_MAX:
        return f"the command is larger than {COMMAND_BYTES_MAX >> 10} KiB"
    return ""


def wrong_environment(variables: Iterable[tuple[str, str]]) -> str:
    """What makes these names and values no environment."""
    total = 0
    for name, value in variables:
        if not name or "=" in name or "\0" in name:
            return f"{name[:40]!r} is no name of a variable"
        if "\0" in value:
            return f"the variable {name[:40]!r} holds a NUL"
        size = len(name.encode()) + 1 + len(value.encode())
        if size > WORD_BYTES_MAX:
            return f"the variable {name[:40]!r} has more than {WORD_BYTES_MAX} bytes"
        total += size + 1 + _POINTER_BYTES
    if total > ENVIRONMENT_BYTES_MAX:
        return f"the environment is larger than {ENVIRONMENT_BYTES_MAX >> 10} KiB"
    return ""


def wrong_path(path: str) -> str:
    """What makes this no path of a file."""
    if "\0" in path:
        return "the path holds a NUL"
    if len(path.encode()) > PATH_BYTES_MAX:
        return f"the path has more than {PATH_BYTES_MAX} bytes"
    return ""
