"""Who makes a claim usable on a host, and what its provider is told."""

from collections.abc import Iterable

from xce.controller.core.fold.state import State
from xce.model.config import Config
from xce.model.placing import Holding
from xce.model.resources import BUILT_IN, UNDECLARED


def provider_of(config: Config, type_name: str) -> str:
    """The provider that makes a claim of this type usable, "" when none is needed."""
    for own in config.types:
        if own.name == type_name:
            return own.provider
    known = BUILT_IN.get(type_name)
    if known is None:
        return type_name if type_name in UNDECLARED else ""
    return known.provider if known.provision else ""


def parameters_of(
    state: State, name: str, type_name: str, host: str, holdings: Iterable[Holding]
) -> dict[str, str]:
    """What the provider is told of a claim besides what its template says."""
    told = {"name": name}
    for holding in holdings:
        if holding.instance and type_name == "port":
            told["port"] = holding.instance.rsplit("/", 1)[1]
            told["address"] = state.hosts[host].facts.address
    return told
