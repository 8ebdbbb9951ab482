"""What `xcecli claim list` says of what a claim holds."""

from typing import Any

import pytest

from xcecli.commands.claims import row_of
from xcecli.line.amounts import amount_of
from xcecli.say import Failure

CLAIM: dict[str, Any] = {
    "id": "c7", "name": "data", "type": "gpu", "scope": "standalone", "state": "BOUND",
    "ready": True, "user": "anna", "group": None, "job": None, "until_us": None,
}  # fmt: skip


def _instance(host: str, name: str) -> dict[str, Any]:
    return {"host": host, "instance": f"{host}/gpu/{name}", "counter": "", "amount": 0}


def _counter(amount: int) -> dict[str, Any]:
    return {"host": "n1", "instance": "", "counter": "some", "amount": amount}


@pytest.mark.parametrize(
    ("holdings", "values", "said"),
    [
        ([], [], "-"),
        ([_instance("n1", "a"), _instance("n1", "b"), _instance("n2", "a")], [], "2*n1 1*n2"),
        ([_counter(64 << 30)], [], "64GB*n1"),
        ([_counter(3)], [], "3*n1"),
        ([_counter(10 << 30)], ["/scratch/c7-1"], "/scratch/c7-1"),
    ],
)
def test_the_list_says_what_a_claim_holds_and_where(
    holdings: list[dict[str, Any]], values: list[str], said: str
) -> None:
    attachments = [{"value": value} for value in values]
    assert row_of({**CLAIM, "holdings": holdings, "attachments": attachments})[-1] == said


@pytest.mark.parametrize(
    ("text", "type_", "amount"),
    [
        ("8", "mem", 8 << 20),
        ("8", "directory", 8 << 20),
        ("8GB", "mem", 8 << 30),
        ("8", "licence", 8),
        ("8GB", "burst_buffer", 8 << 30),
    ],
)
def test_an_amount_means_what_it_means_in_a_requirement(text: str, type_: str, amount: int) -> None:
    assert amount_of(text, type_) == amount


def test_what_is_no_amount_is_refused() -> None:
    with pytest.raises(Failure, match="--amount lots: not a size"):
        amount_of("lots", "mem")
