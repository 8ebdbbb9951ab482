"""/v1/resources: declared by administrators, refused with pointers, repeated without harm."""

import httpx
import msgspec

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine
from xce.controller.core.commands import LoadConfig, Sample, TakeTick
from xce.model.actor import CONTROLLER

FLUENT = {"name": "fluent", "scope": "shared", "interval": "30s"}


def test_a_type_is_made_once_and_its_repeat_with_the_same_key_is_the_same_answer(
    over_socket: "Test",
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        headers = {"Idempotency-Key": "k1"}
        first = await client.post("/v1/resources", json=FLUENT, headers=headers)
        again = await client.post("/v1/resources", json=FLUENT, headers=headers)
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json()["version"] == again.json()["version"]
        same = await client.post("/v1/resources", json=FLUENT)
        assert (same.status_code, same.json()["changed"]) == (200, False)

    over_socket(test)  # type: ignore[operator]


def test_a_bad_field_is_pointed_at(over_socket: "Test") -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        for body, pointer in (
            ({"name": "x", "layer": "conter"}, "/layer"),
            ({"name": "x", "interval": "soon"}, "/interval"),
            ({"name": "mem"}, "/name"),
            ({"name": "x", "sharing": 3}, "/sharing"),
        ):
            answer = await client.post("/v1/resources", json=body)
            assert (answer.status_code, answer.json()["pointer"]) == (422, pointer)
        answer = await client.post("/v1/resources", json={"name": "x", "colour": "red"})
        assert answer.status_code == 422

    over_socket(test)  # type: ignore[operator]


def test_pools_show_what_they_have_and_who_sees_them(over_socket: "Test") -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        engine.add_host("n1")
        engine.add_host("n2")
        await client.post("/v1/resources", json=FLUENT)
        path = "/v1/resources/fluent/pools"
        made = await client.post(path, json={"hosts": ["all", "~n2"], "reported": True})
        assert (made.status_code, made.json()["name"]) == (201, "fluent@1")
        (pool,) = (await client.get("/v1/resources/fluent")).json()["pools"]
        assert (pool["seen_by"], pool["total"], pool["free"]) == (["n1"], None, None)
        engine._take(
            TakeTick(actor=CONTROLLER, samples=(Sample(of="fluent@1", values=(("fluent", 7),)),))
        )
        body = (await client.get("/v1/resources/fluent")).json()
        assert (body["pools"][0]["total"], body["observed"]) == (7, {"fluent@1": 7})
        gone = await client.delete("/v1/resources/fluent@1")
        assert (gone.status_code, gone.json()["removed"]) == (200, True)
        missing = await client.delete("/v1/resources/fluent@1")
        assert missing.status_code == 404

    over_socket(test)  # type: ignore[operator]


def test_hosts_show_what_ticks_said_of_them(over_socket: "Test") -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        engine.add_host("n1")
        engine.add_host("n2")
        config = msgspec.structs.replace(engine.state.config, observe=("r1m",))
        engine._take(LoadConfig(actor=CONTROLLER, config=config, digest="d2"))
        sample = Sample(of="n1", values=(("r1m", 1500),))
        engine._take(TakeTick(actor=CONTROLLER, samples=(sample,)))
        first, second = (await client.get("/v1/hosts")).json()["items"]
        assert (first["observed"], second["observed"]) == ({"r1m": 1500}, {})

    over_socket(test)  # type: ignore[operator]
