"""Planted mistakes of reported counters, each with the test that must find it; see `mutants`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.core.swapped import swapped
from xce.controller.core import view
from xce.controller.core.columns import Columns
from xce.controller.core.deciders import resumes
from xce.controller.core.deciders.placing import recheck
from xce.controller.core.resources import decide

REPORTED: dict[str, tuple[Callable[[], Any], str]] = {
    "a plan is not checked against a later tick": (
        lambda: swapped(recheck, "_reports_hold", lambda *given: True),
        "reported_races.a_tick_between_the_look_and_the_commit_makes_stale_what_it_took_away",
    ),
    "a resume is not checked against what is told": (
        lambda: swapped(resumes, "total_on", lambda *given: 99),
        "reported_races.a_resume_is_stale_when_what_it_lent_is_not_there_any_more",
    ),
    "what is reserved is not taken off what is told": (
        lambda: swapped(Columns, "_held_of", lambda self, table, name: np.zeros(1, np.int64)),
        "reported.free_is_the_last_value_less_what_our_jobs_reserve",
    ),
    "what a host does not count it never has": (
        lambda: swapped(view, "open_counters", lambda *given: {}),
        "reported.what_nobody_reported_is_nothing_and_the_reason_says_so",
    ),
    "what is reserved is told within the dead band": (
        lambda: swapped(decide, "taken_columns", lambda state: set()),
        "reported.amounts_that_are_reserved_are_told_exactly",
    ),
}
