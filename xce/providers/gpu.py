"""`nvml`: the NVIDIA GPUs of a host, as instances of type gpu.

The library is handed in (`pynvml` by default), so that tests and emulation use another object with
the same calls. A host without the driver simply has no GPUs. An instance is named by its index;
model, memory, uuid and bus address are its attributes; GPUs of one fabric clique share a domain of
level nvlink. Provisioning only sees that the claimed uuids are there: the value is their list.
"""

from importlib import import_module
from typing import Any

from xce.model.host import InstanceFacts
from xce.providers.contract import Provider, ProviderFailed, Request

FABRIC_COMPLETED = 3


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class NvmlProvider(Provider):
    """GPUs through NVML."""

    name = "nvml"

    def __init__(self, library: Any = None) -> None:
        self._library = library

    def _nvml(self) -> Any:
        if self._library is None:
            self._library = import_module("pynvml")
        return self._library

    def discover(self) -> tuple[InstanceFacts, ...]:
        """All GPUs; none where there is no driver."""
        nvml = self._nvml()
        try:
            nvml.nvmlInit()
        except nvml.NVMLError:
            return ()
        try:
            count = nvml.nvmlDeviceGetCount()
            return tuple(self._describe(nvml, index) for index in range(count))
        except nvml.NVMLError as error:
            raise ProviderFailed(f"nvml: {error}") from error
        finally:
            nvml.nvmlShutdown()

    def _describe(self, nvml: Any, index: int) -> InstanceFacts:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        attributes: list[tuple[str, str | int | bool]] = [
            ("bus", _text(nvml.nvmlDeviceGetPciInfo(handle).busId)),
            ("mem", int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
            ("model", _text(nvml.nvmlDeviceGetName(handle))),
            ("uuid", _text(nvml.nvmlDeviceGetUUID(handle))),
        ]
        clique = self._clique(nvml, handle)
        domains = (("nvlink", clique),) if clique else ()
        return InstanceFacts(
            type="gpu", name=str(index), attributes=tuple(attributes), domains=domains
        )

    def _clique(self, nvml: Any, handle: Any) -> str:
        """`uuid.clique` of the GPU's fabric; "" outside of one or with an older driver."""
        try:
            info = nvml.c_nvmlGpuFabricInfo_v2_t()
            nvml.nvmlDeviceGetGpuFabricInfoV(handle, info)
        except (AttributeError, nvml.NVMLError):
            return ""
        cluster = bytes(info.clusterUuid)
        if info.state != FABRIC_COMPLETED or not any(cluster):
            return ""
        return f"{cluster.hex()}.{info.cliqueId}"

    def provision(self, request: Request) -> str:
        """The uuids of the parameter `uuids`, when the host has them all."""
        wanted = [part for part in request.parameters.get("uuids", "").split(",") if part]
        present = {dict(found.attributes)["uuid"] for found in self.discover()}
        missing = [uuid for uuid in wanted if uuid not in present]
        if missing:
            raise ProviderFailed(f"this host has no GPU {', '.join(missing)}")
        return ",".join(wanted)
