"""The built-in load indices, worked out by hand from two readings."""

import threading
from math import exp

import pytest
from msgspec import structs

from xce.agent.reporters.board import Board
from xce.agent.reporters.load import MB, PAGE, LoadSampler, Readings, averaged, indices, read

FIRST = Readings(
    at_s=100.0,
    running=2.0,
    averages=(1.5, 0.75),
    busy_s=50.0,
    processors_s=200.0,
    swapped_bytes=0,
    disk_bytes=1_000_000,
    users=3,
    idle_s=359.0,
    tmp_bytes=512 * MB,
    swap_bytes=0,
    mem_bytes=1024 * MB,
)
SECOND = structs.replace(
    FIRST,
    at_s=110.0,
    running=4.0,
    busy_s=65.0,
    processors_s=220.0,
    swapped_bytes=20 * PAGE,
    disk_bytes=1_000_000 + 50 * 1024,
)


def test_rates_are_over_the_time_between_two_readings() -> None:
    found = indices(FIRST, SECOND, 2.0)
    assert found["ut"] == 0.75
    assert found["pg"] == 2.0
    assert found["io"] == 5.0
    assert found["r15s"] == pytest.approx(2 * exp(-10 / 15) + 4 * (1 - exp(-10 / 15)))


def test_levels_need_one_reading_and_sizes_are_megabytes() -> None:
    found = indices(None, FIRST, None)
    assert found == {
        "r15s": 2.0, "r1m": 1.5, "r15m": 0.75, "ls": 3, "it": 5.0,
        "tmp": 512.0, "swp": 0.0, "mem": 1024.0,
    }  # fmt: skip


def test_what_the_machine_does_not_count_is_unknown_and_not_nothing() -> None:
    found = indices(Readings(at_s=1.0), Readings(at_s=2.0), None)
    assert set(found.values()) == {None}


def test_counters_that_went_back_give_no_rate() -> None:
    back = structs.replace(SECOND, disk_bytes=5, processors_s=200.0)
    found = indices(FIRST, back, 2.0)
    assert (found["io"], found["ut"]) == (None, None)


def test_the_average_begins_with_the_first_sample() -> None:
    assert averaged(None, FIRST, None) == 2.0


def test_this_machine_has_all_of_them_within_their_bounds() -> None:
    board = Board()
    stop = threading.Event()
    stop.set()
    LoadSampler(board, 15.0).run(stop)
    told = board.told()
    assert told is not None
    values = {name: value for name, value, _ in told.values}
    assert {"r1m", "r15m", "r15s", "ls", "it", "mem", "swp", "tmp"} <= values.keys()
    assert float(values["mem"]) > 1
    before, now = read(), read()
    ut = indices(before, now, 0.0)["ut"]
    assert ut is None or 0 <= ut <= 1


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_board_tells_the_newest_with_its_age_and_later_sources_first() -> None:
    clock = Clock()
    board = Board(clock)
    assert board.told() is None
    board.put("load", {"r1m": 0.5, "mem": 100.0})
    clock.now_s = 2.0
    board.put("elim", {"mem": 70, "seats": 3})
    clock.now_s = 3.0
    told = board.told()
    assert told is not None
    assert told.values == (
        ("mem", 70, 1_000_000), ("r1m", 0.5, 3_000_000), ("seats", 3, 1_000_000),
    )  # fmt: skip
    board.put("elim", {"mem": None})
    told = board.told()
    assert told is not None
    assert told.values[0] == ("mem", 100.0, 3_000_000)


def test_the_board_is_bounded_and_forgets() -> None:
    clock = Clock()
    board = Board(clock)
    board.put("elim", {f"v{i}": i for i in range(1000)})
    told = board.told()
    assert told is not None
    assert len(told.values) == 256
    clock.now_s = 3601.0
    assert board.told() is None
