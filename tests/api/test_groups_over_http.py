"""Gangs, the cluster and agents over HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine, run, served
from xce.dispatch.protocol import PROTOCOL, Armed, Poll, Reconciled, Register, Reports
from xce.model.host import HostFacts
from xce.model.placing import Share
from xce.model.start import Allocation

MANIFEST = {
    "group": "pair",
    "roles": [{"name": "w", "count": 2, "command": ["true"], "resreq": "rusage[mem=1GB]"}],
}


def test_a_gang_is_taken_whole(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = await client.post("/v1/groups", json={"manifest": MANIFEST, "cwd": "/tmp"})
        assert (told.status_code, told.json()["group"], told.json()["jobs"]) == (
            201,
            "g1",
            ["1", "2"],
        )
        shown = (await client.get("/v1/groups/g1")).json()
        assert (shown["state"], shown["members"], shown["stats"]) == ("PENDING", 2, {"PEND": 2})
        assert shown["roles"][0]["first_job"] == "1"
        members = (await client.get("/v1/groups/g1/members")).json()["members"]
        assert [(one["role"], one["rank"], one["stat"]) for one in members] == [
            ("w", 0, "PEND"),
            ("w", 1, "PEND"),
        ]
        assert members[1]["stdout"] == "/tmp/xce-g1-w-1.out"
        listed = (await client.get("/v1/groups")).json()
        assert [item["id"] for item in listed["items"]] == ["g1"]

    over_socket(test)


def test_a_bad_manifest_is_refused_with_all_its_faults(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        bad = {"group": "g", "rolls": [], "queue": "normal"}
        told = (await client.post("/v1/groups", json={"manifest": bad})).json()
        assert (told["status"], told["code"], told["pointer"]) == (422, "invalid", "/rolls")
        assert [error["field"] for error in told["errors"]] == ["rolls", ""]
        later = {**MANIFEST, "success_policy": "any"}
        told = (await client.post("/v1/groups", json={"manifest": later})).json()
        assert (told["code"], told["pointer"]) == ("unsupported", "/success_policy")
        wrong = {**MANIFEST, "topology": {"required": "nvlnk"}}
        told = (await client.post("/v1/groups", json={"manifest": wrong})).json()
        assert told["hint"] == "did you mean 'nvlink'?"
        assert engine.state.groups == {}

    over_socket(test)


def test_a_bad_requirement_in_a_role_points_into_the_manifest(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        bad = {"group": "g", "roles": [{**MANIFEST["roles"][0], "resreq": "rusage[mem="}]}  # type: ignore[dict-item]
        told = (await client.post("/v1/groups", json={"manifest": bad})).json()
        assert (told["pointer"], told["text"]) == ("/roles/0/resreq", "rusage[mem=")
        assert told["column"] > 0

    over_socket(test)


def test_a_bad_select_of_a_claim_points_into_the_manifest(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        claim = {"name": "x", "type": "gpu", "select": "model=="}
        bad = {**MANIFEST, "roles": [{"name": "w", "command": ["a"], "claims": [claim]}]}
        told = (await client.post("/v1/groups", json={"manifest": bad})).json()
        assert (told["pointer"], told["text"]) == ("/roles/0/claims/0/select", "model==")
        assert told["column"] >= 7

    over_socket(test)


def test_a_dry_run_keeps_nothing(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = (await client.post("/v1/groups:dry-run", json={"manifest": MANIFEST})).json()
        assert (told["fits"], told["reason"]) == (False, "the cluster has no host")
        assert engine.state.groups == {}

    over_socket(test)


def test_killing_and_waiting_for_a_gang(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/groups", json={"manifest": MANIFEST})
        assert (await client.post("/v1/groups/g1/kill")).status_code == 202
        told = (await client.get("/v1/groups/g1/wait")).json()
        assert (told["ended"], told["state"], told["exit_code"]) == (True, "EXITED", 1)
        assert (await client.get("/v1/groups/g9")).status_code == 404
        steps = (await client.get("/v1/groups/g1/history")).json()["records"]
        assert [step["kind"] for step in steps] == ["GroupSubmitted", "KillAsked", "GroupEnded"]

    over_socket(test)


def place(engine: MemoryEngine, key: int, host: str, instances: tuple[str, ...] = ()) -> None:
    share = Share(host=host, tasks=1, counters=(("mem", 1 << 30),), instances=instances)
    granted = Allocation(number=9, job=key, attempt=1, shares=(share,), launches=(), generation=1)
    engine.state.put("allocation", 9, granted)
    engine.put("job", key, state="RUNNING", allocation=9)


def test_hosts_queues_and_instances_show_what_is_taken(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        engine.add_host("n1", slots=1)
        await client.post("/v1/jobs", json={"command": ["true"], "tasks": 3})
        await client.post("/v1/jobs", json={"command": ["true"]})
        place(engine, 2, "n1", ("n1/gpu/0",))
        engine.put("host", "n1", liveness="UP")
        (host,) = (await client.get("/v1/hosts")).json()["items"]
        assert (host["status"], host["tasks"], host["jobs"]) == ("closed_Full", 1, ["2"])
        assert host["counters"]["mem"] == {"total": 8 << 30, "used": 1 << 30}
        assert (host["instances"], host["instances_held"]) == (2, 1)
        queues = (await client.get("/v1/queues")).json()["items"]
        assert [queue["name"] for queue in queues] == ["normal", "night", "shut"]
        assert (queues[0]["tasks"], queues[0]["stats"]) == (4, {"PEND": 3, "RUN": 1})
        gpus = (await client.get("/v1/instances", params={"type": "gpu"})).json()["items"]
        assert [(gpu["name"], gpu["holder"]) for gpu in gpus] == [("0", "2"), ("1", None)]
        engine.put("host", "n1", liveness="DOWN")
        assert (await client.get("/v1/jobs/2")).json()["stat"] == "UNKWN"

    over_socket(test)


def test_a_host_has_a_history_of_its_own(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        engine.add_host("n1")
        engine.add_host("n1")
        told = (await client.get("/v1/history/host:n1")).json()
        assert [step["kind"] for step in told["records"]] == ["HostRegistered", "HostRegistered"]
        assert [one["event"] for one in told["records"][1]["changes"]] == ["register"]
        none = await client.get("/v1/history/host:n9")
        assert (none.status_code, none.json()["code"]) == (404, "not_found")

    over_socket(test)


def test_metrics_count_by_queue_and_state(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json={"command": ["true"]})
        text = (await client.get("/metrics")).text
        assert 'xce_jobs{queue="normal",stat="PEND"} 1.0' in text
        assert "xce_log_lsn 3.0" in text

    over_socket(test)


def test_an_agent_registers_polls_and_reports(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path) as (engine, service):
            token = (tmp_path / "agent.token").read_text().strip()
            bearer = {"Authorization": f"Bearer {token}"}
            url = f"http://127.0.0.1:{service.port}"
            async with httpx.AsyncClient(base_url=url, headers=bearer) as client:
                await talk(engine, client)

    run(main())


async def say(client: httpx.AsyncClient, what: str, message: msgspec.Struct) -> dict[str, Any]:
    answer = await client.post(f"/v1/agents/n1/{what}", content=msgspec.json.encode(message))
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def talk(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
    hello = Register(protocol=PROTOCOL, host="n1", boot_id="b", facts=HostFacts())
    told = await say(client, "register", hello)
    assert (told["epoch"], told["incarnation"], told["heartbeat_us"]) == (1, 1, 5_000_000)
    poll = Poll(protocol=PROTOCOL, host="n1", incarnation=1, epoch=1, stamp=0)
    assert (await say(client, "poll", poll))["reconcile"] is True
    batch = Reports(
        protocol=PROTOCOL,
        host="n1",
        boot_id="b",
        incarnation=1,
        epoch=1,
        reports=(Reconciled(seq=1), Armed(seq=2, launch=77, generation=1)),
    )
    told = await say(client, "reports", batch)
    assert (told["taken"], told["register"], told["anchor_hash"]) == ([1, 2], False, "hash")
    assert engine.state.hosts["n1"].reconciled_epoch == 1
    old = msgspec.structs.replace(batch, incarnation=9)
    told = await say(client, "reports", old)
    assert (told["taken"], told["register"], told["incarnation"]) == ([], True, 1)
    earlier = msgspec.structs.replace(batch, epoch=0)
    told = await say(client, "reports", earlier)
    assert (told["taken"], told["register"], told["epoch"]) == ([], False, 1)
    other = await client.post("/v1/agents/n2/poll", content=msgspec.json.encode(poll))
    assert (other.status_code, other.json()["pointer"]) == (422, "/host")


def test_openapi_describes_every_route(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        paths = (await client.get("/openapi.json")).json()["paths"]
        assert set(paths) >= {
            "/v1/jobs",
            "/v1/jobs:batch",
            "/v1/jobs/{job}/wait",
            "/v1/groups",
            "/v1/groups:dry-run",
            "/v1/groups/{group}/members",
            "/v1/claims",
            "/v1/instances",
            "/v1/hosts",
            "/v1/queues",
            "/v1/applications",
            "/v1/events",
            "/v1/agents/{host}/poll",
            "/healthz",
            "/metrics",
        }
        assert (await client.get("/v1/nothing")).json()["code"] == "not_found"

    over_socket(test)
