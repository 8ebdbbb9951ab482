"""Fairshare: LSF's formula on paper, how history fades, and whose turn it is."""

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from xce.model.config.shares import ShareTree, UserGroup, account_of, matches
from xce.scheduler.order import Line, Place
from xce.scheduler.sharing.fairshare import (
    HOUR_US,
    Account,
    Factors,
    Used,
    decayed,
    priority_of,
    weight_of,
)

SLOT = 3000 * HOUR_US


def fresh(shares: int) -> Account:
    """An account that has used nothing: a denominator of (1 + 0) * 3.0 hours."""
    return Account(shares=shares, weight=SLOT, slot_weight=SLOT)


def test_the_dynamic_priority_is_lsf_s_formula_worked_out_on_paper() -> None:
    # 10 / (2 * 0.7 + (3 + 1) * 0.7 + (1 + 4) * 3.0) = 10 / 19.2 = 0.520833
    used = Used(cpu_us=2 * HOUR_US, past_us=3 * HOUR_US, run_us=HOUR_US, slots=4)
    assert weight_of(used, Factors()) == 19_200 * HOUR_US
    assert priority_of(10, weight_of(used, Factors())) == 520_833


def test_who_has_used_nothing_has_a_third_of_his_shares() -> None:
    assert priority_of(10, weight_of(Used(), Factors())) == 3_333_333


def test_every_factor_counts_as_its_name_says() -> None:
    factors = Factors(
        cpu_time=1000, run_time=2000, committed=500, slots=0, adjustment=100, gpu_time=4000
    )
    used = Used(
        cpu_us=3 * HOUR_US,  # 3 * 1.0
        past_us=HOUR_US,  # (1 + 2) * 2.0
        run_us=2 * HOUR_US,
        committed_us=8 * HOUR_US,  # (8 - 2) * 0.5
        adjustment=20_000,  # 20 * 0.1
        gpu_us=2 * HOUR_US,  # 2 * 4.0
    )
    assert weight_of(used, factors) == (3 + 6 + 3 + 2 + 8) * 1000 * HOUR_US


def test_history_falls_to_a_tenth_within_its_hours() -> None:
    five = 5 * HOUR_US
    assert decayed(1_000_000, 0, five) == 1_000_000
    assert decayed(1_000_000, five, five) == 100_000
    assert decayed(1_000_000, 3 * five, five) == 1_000
    assert decayed(1_000_000, five // 2, five) in (316_226, 316_227)  # 10 ** -0.5
    assert decayed(10**12, five // 4, five) // 10**6 == 562_341  # 10 ** -0.25
    assert decayed(10**18, 100 * five, five) == 0
    assert decayed(7, five, 0) == 7


@given(st.integers(0, 10**15), st.integers(0, 40 * HOUR_US), st.integers(0, 40 * HOUR_US))
def test_it_only_falls_and_in_two_steps_falls_as_in_one(amount: int, one: int, two: int) -> None:
    five = 5 * HOUR_US
    both = decayed(amount, one + two, five)
    twice = decayed(decayed(amount, one, five), two, five)
    assert both <= decayed(amount, one, five) <= amount
    assert abs(both - twice) <= 34 + amount // 2**13


# -- accounts -------------------------------------------------------------------------------------

GROUPS = (
    UserGroup(name="physics", members=("1", "@theory"), shares=(("1", 4), ("default", 1))),
    UserGroup(name="theory", members=("2", "3")),
    UserGroup(name="loop", members=("@loop", "9")),
)
TREE = ShareTree(
    name="main",
    queues=("normal",),
    shares=(("@physics", 10), ("7", 5), ("theory@", 2), ("others", 1)),
)


def test_the_way_to_an_account_goes_by_group_then_by_name_then_by_the_rest() -> None:
    assert account_of(GROUPS, TREE, 1) == (("main/physics", 10), ("main/physics/1", 4))
    assert account_of(GROUPS, TREE, 2) == (("main/physics", 10), ("main/physics/2", 1))
    assert account_of(GROUPS, TREE, 7) == (("main/7", 5),)
    assert account_of(GROUPS, TREE, 8) == (("main/others", 1), ("main/others/8", 1))


def test_each_of_a_group_has_its_own_account_where_it_says_so() -> None:
    each = ShareTree(name="main", shares=(("theory@", 2), ("default", 1)))
    assert account_of(GROUPS, each, 3) == (("main/3", 2),)
    assert account_of(GROUPS, each, 1) == (("main/1", 1),)


def test_the_group_that_work_names_wins_over_the_user_s_own_name() -> None:
    tree = ShareTree(name="main", shares=(("2", 9), ("@physics", 10), ("@theory", 3)))
    assert account_of(GROUPS, tree, 2) == (("main/2", 9),)
    assert account_of(GROUPS, tree, 2, "theory")[0] == ("main/physics", 10)
    assert account_of(GROUPS, tree, 2, "nobody") == (("main/2", 9),)


def test_whom_no_list_has_room_for_has_no_shares() -> None:
    tree = ShareTree(name="main", shares=(("@theory", 3),))
    assert account_of(GROUPS, tree, 8) == (("main/8", 0),)


def test_a_group_that_holds_itself_ends() -> None:
    tree = ShareTree(name="main", shares=(("@loop", 3),))
    assert account_of(GROUPS, tree, 9, "loop") == (("main/loop", 3), ("main/loop/9", 1))


def test_a_list_of_users_names_by_group_by_all_and_takes_out() -> None:
    assert matches(GROUPS, ("@physics",), 2)
    assert not matches(GROUPS, ("all", "~@theory"), 2)
    assert matches(GROUPS, ("~2",), 3)
    assert not matches(GROUPS, ("1",), 3)


# -- turns ----------------------------------------------------------------------------------------


def item(number: int, account: str = "", rank: int = 30) -> tuple[Place, int]:
    key = (-rank, 0, -50, number, 0, number)
    return Place(key, account), number


def turns(items: list[tuple[Place, int]], accounts: Mapping[str, Account]) -> list[int]:
    """The numbers in turn, each given one slot."""
    line, found = Line(sorted(items, key=lambda one: one[0].key), accounts), []
    for number in line:
        found.append(number)
        line.booked(1)
    return found


def test_without_accounts_keys_alone_decide() -> None:
    assert turns([item(3), item(1), item(2, rank=40)], {}) == [2, 1, 3]


def test_three_shares_to_one_take_three_turns_to_one() -> None:
    accounts = {"t/a": fresh(3), "t/b": fresh(1)}
    items = [item(n, "t/a" if n < 10 else "t/b") for n in range(1, 19)]
    # a: 3/(3+3k), b: 1/(3+3k): a while 3/(1+k) > 1/(1+m); at equality the name decides.
    assert turns(items, accounts)[:8] == [1, 2, 3, 10, 4, 5, 6, 11]


def test_a_group_takes_its_turn_as_one_and_divides_it() -> None:
    accounts = {"t/g": fresh(1), "t/g/1": fresh(1), "t/g/2": fresh(1), "t/9": fresh(1)}
    items = [item(1, "t/g/1"), item(2, "t/g/1"), item(3, "t/g/2"), item(4, "t/9"), item(5, "t/9")]
    # 9 is before g by name; then g: 1, then 9 again, then g: 2's first, then what is left.
    assert turns(items, accounts) == [4, 1, 5, 3, 2]


def test_what_is_not_booked_costs_nothing() -> None:
    accounts = {"t/a": fresh(1), "t/b": fresh(1)}
    items = [item(1, "t/a"), item(2, "t/a"), item(3, "t/b")]
    line = Line(sorted(items, key=lambda one: one[0].key), accounts)
    assert list(line) == [1, 2, 3]


def test_a_higher_queue_goes_first_whatever_was_used() -> None:
    heavy = Account(shares=1, weight=10**6 * SLOT, slot_weight=SLOT)
    accounts = {"t/a": heavy, "t/b": fresh(1)}
    items = [item(1, "t/b"), item(2, "t/a", rank=40), item(3, rank=35)]
    assert turns(items, accounts) == [2, 3, 1]


def slow(
    items: list[tuple[Place, int]], accounts: Mapping[str, Account], given: Mapping[int, int]
) -> list[int]:
    """Whose turn it is by looking at everything anew for each turn, in fractions."""
    weight = {path: account.weight for path, account in accounts.items()}
    left = {number: place for place, number in items}
    found: list[int] = []
    while left:
        plain = [(p.key, n) for n, p in left.items() if not p.account]
        heads = [min(plain)] if plain else []
        lanes = sorted({(p.key[:2], p.account.split("/")[0]) for p in left.values() if p.account})
        for prefix, tree in lanes:
            mine = {
                n: p
                for n, p in left.items()
                if p.account.split("/")[0] == tree and p.key[:2] == prefix and p.account
            }
            node = tree
            while True:
                deeper = {
                    "/".join(p.account.split("/")[: node.count("/") + 2])
                    for p in mine.values()
                    if p.account.startswith(node + "/")
                }
                if not deeper:
                    break
                node = min(deeper, key=lambda path: (
                    -(Fraction(accounts[path].shares * 10**6 * 1000 * HOUR_US, weight[path]) // 1),
                    path,
                ))  # fmt: skip
            heads.append(min((p.key, n) for n, p in mine.items() if p.account == node))
        _, number = min(heads)
        place = left.pop(number)
        found.append(number)
        names = place.account.split("/")
        for depth in range(2, len(names) + 1 if place.account else 0):
            path = "/".join(names[:depth])
            weight[path] += given[number] * accounts[path].slot_weight
    return found


PATHS = ("", "t/1", "t/2", "t/g/1", "t/g/3", "u/1", "t/g/h/4")


@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), st.sampled_from((20, 30)), st.integers(0, 5)),
        max_size=14,
    ),
    st.lists(st.integers(0, 6), min_size=9, max_size=9),
)
def test_turns_are_those_of_a_full_look_at_everything(
    work: list[tuple[str, int, int]], shares: list[int]
) -> None:
    nodes = ("t/1", "t/2", "t/g", "t/g/1", "t/g/3", "u/1", "t/g/h", "t/g/h/4")
    accounts = {path: fresh(share) for path, share in zip(nodes, shares, strict=False)}
    items = [item(n, path, rank) for n, (path, rank, _) in enumerate(work)]
    given = {n: slots for n, (_, _, slots) in enumerate(work)}
    line, found = Line(sorted(items, key=lambda one: one[0].key), accounts), []
    for number in line:
        found.append(number)
        line.booked(given[number])
    assert found == slow(items, accounts, given)
