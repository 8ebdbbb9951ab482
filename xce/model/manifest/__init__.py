"""The gang manifest: one JSON Schema is the norm, YAML and JSON are two spellings of it.

`lint` says everything that is wrong with a document (schema, then names and sums, then what this
version cannot do), `resolve` turns a sound one into a `GroupSpec` and one `Spec` per role.
Faults name their place by path; whoever read the text adds line and column. The committed
`manifest.schema.json` is interpreted, not copied, so that it cannot say something else than the
code. This package reads that one file of its own and nothing else; it knows no YAML and no files.
"""

import pkgutil
from functools import lru_cache
from typing import Any

import msgspec

from xce.model.config import Config
from xce.model.group import GroupSpec
from xce.model.job import Spec
from xce.model.manifest.check import Fault, Path, check, path_text
from xce.model.manifest.limits import remarks, unsupported
from xce.model.manifest.resolve import Origin, group_of, members_of
from xce.model.manifest.rules import Site, judge, site_of

__all__ = [
    "Fault",
    "ManifestError",
    "Origin",
    "Path",
    "Site",
    "lint",
    "path_text",
    "remarks",
    "resolve",
    "schema",
    "site_of",
]


class ManifestError(Exception):
    """A manifest that cannot be taken; `faults` in the order they were found."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    text = pkgutil.get_data(__name__, "manifest.schema.json")
    if text is None:
        raise ManifestError((Fault(code="bad_value", path=(), message="the schema is missing"),))
    loaded: dict[str, Any] = msgspec.json.decode(text)
    return loaded


def lint(document: Any, *, site: Site | None = None) -> tuple[Fault, ...]:
    """All faults; later kinds of checks run only on what passed the earlier ones."""
    return check(document, schema()) or judge(document, site) or unsupported(document)


def resolve(
    document: Any, origin: Origin, *, config: Config | None = None
) -> tuple[GroupSpec, tuple[Spec, ...]]:
    """The group and one spec per role; ManifestError when anything is wrong.

    With a `config` its defaults are used and its queues, levels and types must be named right.
    """
    faults = lint(document, site=None if config is None else site_of(config))
    if faults:
        raise ManifestError(faults)
    group = group_of(document, config or Config())
    return group, members_of(document, group, origin)
