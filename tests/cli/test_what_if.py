"""`xcecli what-if` against a served engine: what it asks for, and what it says."""

import json
from collections.abc import Callable

from tests.cli.conftest import Live, Told

Cli = Callable[..., Told]


def test_a_submission_and_a_change_are_looked_at_and_not_kept(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-n", "3", "true")
    before = live.engine.state.lsn
    for line in (("-n", "2", "-W", "5", "true"), ("1", "-n", "1"), ("-oo", "x", "-n2,4", "true")):
        code, out, err = xcecli("what-if", *line)
        assert (code, err) == (0, ""), line
        assert out.splitlines()[0].startswith("It would ")
    told = json.loads(xcecli("what-if", "--json", "true")[1])
    assert told["job"] == "2"
    assert (live.engine.state.lsn, list(live.engine.state.jobs)) == (before, [1])


def test_hosts_that_are_not_there_are_refused(live: Live, xcecli: Cli) -> None:
    assert live.engine.state.hosts == {}
    code, _, err = xcecli("what-if", "--add", "2xn1")
    assert (code, "2xn1: 1 to 1000 hosts like one that is there" in err) == (3, True)
    assert xcecli("what-if", "--drain", "nowhere")[0] in (3, 4, 7)


def test_what_is_no_question_is_refused(live: Live, xcecli: Cli) -> None:
    assert live.engine.state.jobs == {}
    for line in ((), ("--add", "n1"), ("--add", "0xn1"), ("-n", "2"), ("--drain", "n1", "true")):
        assert xcecli("what-if", *line)[0] in (2, 3), line
    code, _, err = xcecli("what-if", "-R", "select[", "true")
    assert (code, "select[" in err) == (3, True)
    assert xcecli("what-if", "99", "-n", "2")[0] == 4
