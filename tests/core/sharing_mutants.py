"""Planted mistakes in who goes first and how much anybody may have."""

from typing import Any

from tests.core.swapped import swapped
from xce.controller.core.life import ends
from xce.controller.core.queueing import ordering
from xce.controller.core.queueing.limits import LimitBook
from xce.scheduler.order import Line
from xce.scheduler.sharing.limits import Limits

SHARING: dict[str, tuple[Any, str]] = {
    "what ended is not charged": (
        lambda: swapped(ends, "charge", lambda draft, job, share: None),
        "fairshare.what_a_job_used_is_charged_when_it_ends",
    ),
    "what is booked makes nobody wait": (
        lambda: swapped(Line, "booked", lambda self, slots: None),
        "fairshare.three_shares_get_three_slots_of_four",
    ),
    "a limit is not counted while a session books": (
        lambda: swapped(Limits, "booked", lambda self, numbers, amounts: None),
        "limits.more_than_one_class_of_a_session_counts_against_one_limit",
    ),
    "limits are not looked at again at commit": (
        lambda: swapped(LimitBook, "holds", lambda self, placement, taken: True),
        "limits.what_another_plan_took_meanwhile_counts_at_commit",
    ),
    "an inactive queue gives out work": (
        lambda: swapped(ordering, "dispatches", lambda state, queue: True),
        "queues.a_plan_does_not_outlive_its_queue_s_inactivation",
    ),
}
