"""Small parts of the agent by themselves: requests, outbox, facts, crash points, addresses."""

import json
from pathlib import Path

import pytest

from xce import crashpoint
from xce.agent.facts import FactsWrong, read_facts
from xce.agent.link import Addresses, Line, Refused, Unreachable
from xce.agent.outbox import Outbox
from xce.agent.supervisor.launch import cause_of, signal_number
from xce.agent.supervisor.wire import Lines, PeerBroken, check
from xce.dispatch.protocol import Armed, Ended, Reconciled
from xce.model.host import HostFacts, InstanceFacts


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({}, "no request is called None"),
        ({"do": "format"}, "no request is called 'format'"),
        ({"do": ["go"]}, "no request is called"),
        ({"do": "stop", "launch": "1", "generation": 1}, "stop: 'launch' must be int"),
        ({"do": "go", "launch": 1, "generation": 1, "go_env": []}, "'go_env' must be dict"),
        ({"do": "prepare", "launch": 1, "generation": 1, "task": {}}, "task: 'command' must be"),
        (
            {"do": "go", "launch": 1, "generation": 1, "go_env": {}, "task": 3},
            "go: its task is no object",
        ),
    ],
)
def test_a_request_that_lacks_something_is_refused(request_: dict[str, object], why: str) -> None:
    with pytest.raises(PeerBroken, match=why.replace("[", r"\[")):
        check(request_)


def test_lines_are_put_together_from_any_pieces() -> None:
    data = b'{"do":"hello"}\n{"do":"leave"}\n'
    for cut in range(len(data)):
        lines = Lines()
        found = lines.feed(data[:cut]) + lines.feed(data[cut:])
        assert found == [{"do": "hello"}, {"do": "leave"}]


@pytest.mark.parametrize("data", [b"nonsense\n", b"[1]\n", b"\xff\xfe\n"])
def test_what_is_no_object_breaks_the_line(data: bytes) -> None:
    with pytest.raises(PeerBroken):
        Lines().feed(data)


def test_the_outbox_keeps_order_and_counts_what_is_told_twice_once() -> None:
    outbox = Outbox(100)
    outbox.put(Armed, 1, launch=1, generation=1)
    outbox.put(Armed, 2, launch=2, generation=1)
    outbox.put(Armed, 1, launch=1, generation=1)
    assert [report.seq for report in outbox.batch(10, 0)] == [100, 101]
    assert [report.seq for report in outbox.batch(1, 0)] == [100]
    assert outbox.took((100, 7)) == [Armed(seq=100, launch=1, generation=1)]
    assert [report.seq for report in outbox.batch(10, 0)] == [101]


def test_a_newer_reconciliation_takes_the_place_of_an_older_one() -> None:
    outbox = Outbox(1)
    outbox.put(Reconciled, 0, question=1)
    outbox.put(Ended, 5, launch=5, generation=1, how="exited")
    outbox.put(Reconciled, 0, question=2)
    assert [type(report) for report in outbox.batch(10, 0)] == [Ended, Reconciled]
    assert outbox.batch(10, 0)[1].seq == 3
    assert outbox.took((1,)) == []


def test_facts_have_a_short_form_for_people(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(
        'slots = 4\nmem = "2GB"\nports = [20000, 20009]\n'
        '[amounts]\nlicences = 3\n[domains]\nblock = "b0"\n[attributes]\ntype = "X86_64"\n'
        '[[gpus]]\ncount = 2\nmodel = "H100"\nmem = "80GB"\ndomains = {nvlink = "b0/n0"}\n'
        '[[gpus]]\nmodel = "A10"\nuuid = "GPU-x"\n'
    )
    facts = read_facts(str(path), "n1")
    assert facts.counters == (("licences", 3), ("mem", 2 << 30), ("slots", 4))
    assert (facts.ports, facts.domains) == ((20000, 20009), (("block", "b0"),))
    assert facts.attributes == (("type", "X86_64"),)
    assert [one.name for one in facts.instances] == ["0", "1", "2"]
    assert facts.instances[1] == InstanceFacts(
        type="gpu",
        name="1",
        attributes=(("mem", 80 << 30), ("model", "H100"), ("uuid", "GPU-n1-1")),
        domains=(("nvlink", "b0/n0"),),
    )
    assert dict(facts.instances[2].attributes)["uuid"] == "GPU-x"


def test_facts_may_be_given_exactly(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"counters": [["slots", 2]], "ports": [1, 2]}))
    assert read_facts(str(path), "n1") == HostFacts(counters=(("slots", 2),), ports=(1, 2))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slotz = 1\n", "unknown field 'slotz'"),
        ('mem = "lots"\n', "expected a size"),
        ("slots = \n", "line 1"),
        ('slots = "many"\n', "Expected `int`"),
        ('[[gpus]]\ncount = 2\nuuid = "x"\n', "cannot share one uuid"),
    ],
)
def test_a_bad_facts_file_says_what_is_wrong(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(text)
    with pytest.raises(FactsWrong, match=why):
        read_facts(str(path), "n1")


def test_an_unknown_crash_point_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SystemExit, match="names are before_append"):
        crashpoint._parse("nowhere:1")
    assert crashpoint._parse("report.after_post:3,order.received") == {
        "report.after_post": 3,
        "order.received": 1,
    }


def test_addresses_are_tried_in_turn_and_a_named_leader_first() -> None:
    addresses = Addresses(("http://a:1", "http://b:2"))
    addresses.leave("http://a:1")
    assert addresses.current() == "http://b:2"
    addresses.leave("http://a:1")
    assert addresses.current() == "http://b:2"
    addresses.leave("http://b:2", leader="http://c:3")
    assert addresses.current() == "http://c:3"
    addresses.leave("http://c:3")
    assert addresses.current() == "http://a:1"


def test_a_bad_address_is_refused_and_an_absent_controller_is_waited_for() -> None:
    with pytest.raises(Refused, match="expected http://HOST:PORT or unix:/PATH"):
        Line(Addresses(("ftp://x",)), "", 1).post("/", b"")
    with pytest.raises(Refused, match="no controller address"):
        Addresses(())
    with pytest.raises(Unreachable):
        Line(Addresses(("unix:/no/such.sock",)), "", 1).post("/", b"")


@pytest.mark.parametrize(
    ("reason", "cause"),
    [("", "killed"), ("user", "killed"), ("run_limit", "run_limit"), ("drain", "stopped")],
)
def test_a_stop_reason_stands_for_a_cause(reason: str, cause: str) -> None:
    assert cause_of(reason) == cause


@pytest.mark.parametrize(
    ("name", "number"), [("USR1", 10), ("SIGUSR1", 10), ("term", 15), ("9", 9), ("x", 0)]
)
def test_signals_have_names_and_numbers(name: str, number: int) -> None:
    assert signal_number(name) == number
