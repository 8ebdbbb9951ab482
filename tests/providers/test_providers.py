"""The providers by themselves."""

import os
import socket
import stat
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.agent.fake_controller import until
from xce.providers.contract import Place, ProviderFailed, Request
from xce.providers.directory import DirectoryProvider
from xce.providers.executable import ExecProvider
from xce.providers.gpu import NvmlProvider
from xce.providers.port import PortProvider
from xce.providers.registry import make_providers
from xce.providers.static import StaticProvider


def request(uid: int = -1, **parameters: str) -> Request:
    return Request(attachment=1, claim=7, generation=42, parameters=parameters, uid=uid)


def test_static_gives_its_value_after_the_delay() -> None:
    began_s = time.monotonic()
    assert StaticProvider().provision(request(value="v", delay="0.05")) == "v"
    assert time.monotonic() - began_s >= 0.05
    with pytest.raises(ProviderFailed, match="licence server said no"):
        StaticProvider().provision(request(fail="licence server said no"))
    with pytest.raises(ProviderFailed, match="delay=soon is no number"):
        StaticProvider().provision(request(delay="soon"))


@pytest.mark.parametrize("more", [{"hang": "1"}, {"delay": "60"}])
def test_static_stops_waiting_when_it_is_wanted_gone(more: dict[str, str]) -> None:
    asked = request(**more)
    threading.Timer(0.05, asked.cancelled.set).start()
    with pytest.raises(ProviderFailed):
        StaticProvider().provision(asked)


def test_a_directory_is_made_once_closed_and_wiped(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    provider = DirectoryProvider(Place(scratch=str(scratch)))
    path = Path(provider.provision(request(uid=os.geteuid())))
    assert path == scratch / "c7-42"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    (path / "data").write_text("x")
    assert provider.provision(request()) == str(path)
    assert (path / "data").read_text() == "x"
    assert provider.check(request()) == str(path)
    provider.release(request())
    provider.release(request())
    assert list(scratch.iterdir()) == []
    with pytest.raises(ProviderFailed, match="is gone"):
        provider.check(request())


def test_a_retained_directory_is_set_aside_and_survives_the_cleaning(tmp_path: Path) -> None:
    provider = DirectoryProvider(Place(scratch=str(tmp_path)))
    path = Path(provider.provision(request()))
    (path / "data").write_text("x")
    provider.release(request(reclaim="retain"))
    (tmp_path / "c8-1").mkdir()
    (tmp_path / "c9-1").mkdir()
    (tmp_path / "c6-1.gone").mkdir()
    (tmp_path / "other").mkdir()
    provider.clean([(9, 1)])
    names = ["c7-42.kept", "c9-1", "other"]
    until(lambda: sorted(one.name for one in tmp_path.iterdir()) == names)
    assert (tmp_path / "c7-42.kept" / "data").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away")
def test_a_directory_belongs_to_the_claims_user(tmp_path: Path) -> None:
    provider = DirectoryProvider(Place(scratch=str(tmp_path)))
    assert Path(provider.provision(request(uid=65534))).stat().st_uid == 65534


def test_a_port_is_ready_when_it_can_be_bound() -> None:
    provider = PortProvider(Place(scratch="", address="127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        threading.Timer(0.1, holder.close).start()
        assert provider.provision(request(port=str(port))) == f"127.0.0.1:{port}"
    assert provider.provision(request(port=f"{port},{port + 1}")).count(":") == 2


def test_a_taken_port_fails_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xce.providers.port.PATIENCE_S", 0.05)
    provider = PortProvider(Place(scratch="", address="127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(ProviderFailed, match=f"port {port} of 127.0.0.1 cannot be bound"):
            provider.provision(request(port=str(port)))
    with pytest.raises(ProviderFailed, match="'99999' is no port number"):
        provider.provision(request(port="99999"))


def executable(tmp_path: Path, body: str) -> ExecProvider:
    path = tmp_path / "provider"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return ExecProvider("site", (str(path),), limit_s=5)


def test_an_executable_is_asked_in_json_and_answers_in_json(tmp_path: Path) -> None:
    body = 'q=$(cat)\necho "$1 $q" >> ' + str(tmp_path / "log") + '\necho \'{"value": "v1"}\''
    provider = executable(tmp_path, body)
    assert provider.provision(request(size="3")) == "v1"
    provider.release(request())
    first, second = (tmp_path / "log").read_text().splitlines()
    assert first.startswith("provision {")
    assert '"parameters": {"size": "3"}' in first
    assert second.startswith("release {")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('echo \'{"error": "no room"}\'', "no room"),
        ("echo broken >&2; exit 3", "site provision: broken"),
        ("exit 3", "site provision: exit code 3"),
        ("echo nonsense", "its answer is no JSON object"),
    ],
)
def test_an_executable_that_fails_says_why(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(ProviderFailed, match=why):
        executable(tmp_path, body).provision(request())


def test_an_executable_that_hangs_is_given_up(tmp_path: Path) -> None:
    provider = executable(tmp_path, "exec sleep 5")
    provider.limit_s = 0.1
    with pytest.raises(ProviderFailed, match=r"no answer in 0\.1 s"):
        provider.provision(request())


def test_an_executable_may_list_instances(tmp_path: Path) -> None:
    body = 'echo \'{"instances": [{"type": "fpga", "name": "0"}]}\''
    (found,) = executable(tmp_path, body).discover()
    assert (found.type, found.name) == ("fpga", "0")


class NvmlMissing(Exception):
    """What the fake library raises."""


def nvml(count: int, clique: bool = True) -> SimpleNamespace:
    """A library with the calls that the provider makes."""

    def fabric(_handle: int, info: SimpleNamespace) -> None:
        info.state, info.clusterUuid, info.cliqueId = 3, bytes(range(16)), 5

    library = SimpleNamespace(
        NVMLError=NvmlMissing,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetPciInfo=lambda index: SimpleNamespace(busId=b"0000:0%d:00.0" % index),
        nvmlDeviceGetMemoryInfo=lambda _index: SimpleNamespace(total=80 << 30),
        nvmlDeviceGetName=lambda _index: "NVIDIA H100",
        nvmlDeviceGetUUID=lambda index: f"GPU-{index}",
    )
    if clique:
        library.c_nvmlGpuFabricInfo_v2_t = SimpleNamespace
        library.nvmlDeviceGetGpuFabricInfoV = fabric
    return library


def test_gpus_are_found_with_their_facts_and_their_fabric() -> None:
    first, second = NvmlProvider(nvml(2)).discover()
    assert (first.type, first.name, second.name) == ("gpu", "0", "1")
    assert dict(second.attributes) == {
        "bus": "0000:01:00.0",
        "mem": 80 << 30,
        "model": "NVIDIA H100",
        "uuid": "GPU-1",
    }
    assert first.domains == (("nvlink", "000102030405060708090a0b0c0d0e0f.5"),)
    assert NvmlProvider(nvml(1, clique=False)).discover()[0].domains == ()


def test_a_host_without_the_driver_has_no_gpus() -> None:
    def missing() -> None:
        raise NvmlMissing

    library = nvml(1)
    library.nvmlInit = missing
    assert NvmlProvider(library).discover() == ()


def test_claimed_gpus_must_be_there() -> None:
    provider = NvmlProvider(nvml(2))
    assert provider.provision(request(uuids="GPU-1,GPU-0")) == "GPU-1,GPU-0"
    with pytest.raises(ProviderFailed, match="this host has no GPU GPU-9"):
        provider.provision(request(uuids="GPU-9"))


def test_a_site_has_the_built_in_providers_and_its_own() -> None:
    found = make_providers(Place(scratch="/s"), {"lustre": ("/opt/lustre",)})
    assert sorted(found) == ["directory", "host", "lustre", "nvml", "port", "static"]
