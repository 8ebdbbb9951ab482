"""Order policies: what each puts first, and that each is a number of the work alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xce.scheduler.policies import ORDERS, Waits, parts

MINUTE_US = 60_000_000
WORK = st.builds(
    Waits,
    st.integers(0, 100),
    st.integers(0, 10**9),
    st.integers(1, 64),
    st.integers(0, 5),
    st.just(10 * MINUTE_US),
)


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [
        ("fcfs", Waits(50, 1), Waits(99, 2)),
        ("priority", Waits(51, 9), Waits(50, 1)),
        ("smallest", Waits(1, 9, tasks=1), Waits(9, 1, tasks=2)),
        ("largest", Waits(1, 9, tasks=2), Waits(9, 1, tasks=1)),
    ],
)
def test_each_puts_first_what_its_name_says(policy: str, first: Waits, second: Waits) -> None:
    assert ORDERS[policy](first) < ORDERS[policy](second)


def test_what_came_before_fairshare_decides_between_accounts() -> None:
    before, after = parts(("smallest", "fairshare", "priority", "fcfs"), Waits(50, 7, tasks=3))
    assert (before, after) == ((3,), (-50, 7))
    assert parts(("priority", "fcfs"), Waits(50, 7)) == ((), (-50, 7))


@given(WORK, WORK, st.integers(0, 10**10))
def test_with_ageing_the_order_is_that_of_any_one_moment(
    one: Waits, two: Waits, later_us: int
) -> None:
    """A priority that grows by `add` every ten minutes, in tenths of a millionth, at one moment."""
    add = 3
    one, two = (
        Waits(one.priority, one.submit_us, 1, add, one.age_every_us),
        Waits(two.priority, two.submit_us, 1, add, two.age_every_us),
    )
    now_us = 10**9 + later_us

    def grown(work: Waits) -> int:
        return work.priority * work.age_every_us + add * (now_us - work.submit_us)

    left, right = ORDERS["priority"](one), ORDERS["priority"](two)
    assert (left < right) == (grown(one) > grown(two))


@pytest.mark.parametrize("policy", ORDERS)
@given(WORK)
def test_every_policy_is_a_whole_number_of_the_work_alone(policy: str, work: Waits) -> None:
    assert type(ORDERS[policy](work)) is int
    assert ORDERS[policy](work) == ORDERS[policy](work)
