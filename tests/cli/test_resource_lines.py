"""`xcecli resources`: the very text, and the exit codes."""

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]


def test_a_type_with_its_pools_is_declared_listed_and_removed(live: Live, xcecli: Cli) -> None:
    live.engine.add_host("n1")
    live.engine.add_host("n2")
    words = ("--scope", "shared", "--pool", "5@n1", "--pool", "3@[others]")
    assert xcecli("resources", "add", "fluent", *words, "--description", "solver seats") == (
        0,
        (
            "Resource <fluent> is declared.\nResource <fluent@1> is declared.\n"
            "Resource <fluent@2> is declared.\n"
        ),
        "",
    )
    _, out, _ = xcecli("resources", "--own")
    assert out.splitlines() == [
        (
            "RESOURCE_NAME LAYER   KIND   ORDER SCOPE  INTERVAL CONSUMABLE ORIGIN "
            "POOLS       DESCRIPTION"
        ),
        (
            "fluent        counter number Dec   shared -        Yes        run    "
            "1:0/5 2:0/3 solver seats"
        ),
    ]
    _, out, _ = xcecli("resources", "show", "fluent")
    assert out.splitlines()[-2:] == [
        "  pool fluent@1 [n1]: 0 of 5 used (run)",
        "  pool fluent@2 [others]: 0 of 3 used (run)",
    ]
    code, out, err = xcecli("resources", "remove", "fluent")
    assert (code, out) == (5, "")
    assert err == "the type 'fluent' is in use: used by pool fluent@1, pool fluent@2\n"
    for name in ("fluent@1", "fluent@2", "fluent"):
        assert xcecli("resources", "remove", name) == (0, f"Resource <{name}> is removed.\n", "")
    assert json.loads(xcecli("resources", "--own", "--json")[1])["items"] == []


def test_a_pool_of_its_own_name_changes_and_a_reported_one_is_unknown(
    live: Live, xcecli: Cli
) -> None:
    xcecli("resources", "add", "seats", "--scope", "shared", "--interval", "30s", "--pool", "@all")
    _, out, _ = xcecli("resources", "show", "seats")
    assert out.splitlines() == [
        "Resource <seats>, no description",
        "  layer counter, kind number, scale 1, direction decreasing, scope shared, consumable yes",
        "  reported every 30 s, unknown after 90 s",
        f"  from run, version {live.engine.state.config.types[0].version}",
        "  pool seats@1 [all]: 0 of ? used (reported)",
    ]
    code, out, _ = xcecli("resources", "add", "seats@1", "--amount", "4", "--hosts", "all,~n9")
    assert (code, out) == (0, "Resource <seats@1> is declared.\n")
    assert live.engine.state.config.pools[0].hosts == ("all", "~n9")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "mem"), 3, "the type 'mem' is built in"),
        (("add", "x", "--kind", "sting"), 3, "kind: expected boolean or string or number"),
        (("add", "x", "--interval", "5 parsecs"), 3, "interval: "),
        (("add", "x", "--pool", "5"), 2, "--pool 5: expected AMOUNT@HOSTS, like 5@all"),
        (("add", "mem@1", "--amount", "3"), 3, "there is no shared type 'mem'"),
        (("show", "memm"), 4, "memm: No such resource type\nhint: did you mean 'mem'?"),
        (("remove", "nothing"), 4, "nothing: No such resource type"),
        (("remove", "a@b"), 4, "a@b: No such pool"),
        (("shwo",), 2, "Did you mean 'show'?"),
    ],
)
def test_refusals(live: Live, xcecli: Cli, words: tuple[str, ...], code: int, said: str) -> None:
    found, _, err = xcecli("resources", *words)
    assert found == code
    assert said in err


def test_the_list_has_lsf_names_with_their_order(live: Live, xcecli: Cli) -> None:
    _, out, _ = xcecli("resources", "list", "--json")
    items = {one["name"]: one for one in json.loads(out)["items"]}
    assert {"r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem"} <= set(items)
    assert (items["r1m"]["direction"], items["mem"]["direction"]) == ("increasing", "decreasing")
    assert (items["mem"]["origin"], items["mem"]["ttl_us"]) == ("built_in", 45_000_000)
