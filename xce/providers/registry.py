"""The providers of an agent, by name."""

from xce.providers.contract import Place, Provider
from xce.providers.directory import DirectoryProvider
from xce.providers.executable import ExecProvider
from xce.providers.gpu import NvmlProvider
from xce.providers.host import HostProvider
from xce.providers.port import PortProvider
from xce.providers.static import StaticProvider


def make_providers(
    place: Place, executables: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Provider]:
    """The built-in providers and those that are executables of the site."""
    found: list[Provider] = [
        StaticProvider(),
        DirectoryProvider(place),
        PortProvider(place),
        NvmlProvider(),
        HostProvider(),
    ]
    found += [ExecProvider(name, argv) for name, argv in (executables or {}).items()]
    return {provider.name: provider for provider in found}
