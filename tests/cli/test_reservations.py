"""xcecli reservations: LSF's words, and what is wrong with a line."""

from typing import Any

Cli = Any


def test_nothing_is_reserved_at_first(live: Any, xcecli: Cli) -> None:
    assert xcecli("reservations") == (0, "", "No reservation found\n")


def test_times_and_users_are_checked_here(xcecli: Cli) -> None:
    when = ("-n", "1", "-b", "1:00", "-e", "2:00")
    line = ("reservations", "add", "-u", "nobody-of-that-name", *when)
    code, _, err = xcecli(*line)
    assert code == 2
    assert "nobody-of-that-name: No such user" in err
    code, _, err = xcecli("reservations", "add", "-u", "0", "-n", "1", "-b", "25:00", "-e", "2:00")
    assert code == 2


def test_what_is_not_there_cannot_be_removed(live: Any, xcecli: Cli) -> None:
    code, _, err = xcecli("reservations", "remove", "course")
    assert code == 4
    assert "Reservation <course>: No such reservation" in err
