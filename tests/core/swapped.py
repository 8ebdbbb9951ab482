"""Another value under a name, for a while: how mistakes are planted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def swapped(home: Any, name: str, other: Any) -> Iterator[None]:
    """Another value under a name, for a while."""
    own = home.__dict__[name]
    setattr(home, name, other)
    try:
        yield
    finally:
        setattr(home, name, own)
