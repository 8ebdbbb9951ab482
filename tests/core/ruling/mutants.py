"""Planted mistakes about the rules of gangs, each with the test that must find it."""

from collections.abc import Callable
from typing import Any

from tests.core.swapped import swapped
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.gangs import judging, restarting
from xce.controller.core.life import ends


def being_stopped_is_a_failure() -> Any:
    """What the system stopped is judged by what it exited with."""
    return swapped(ends, "_was_stopped", lambda facts, reason: False)


def finished_members_stay() -> Any:
    """A restart of a role leaves out what had finished."""
    own = restarting._has_begun
    return swapped(restarting, "_has_begun", lambda job: own(job) and job.state != "FINISHED")


def the_host_is_not_avoided() -> Any:
    """A member may come back to the host that its rule avoids."""
    return swapped(judging, "_avoid", lambda draft, members: None)


def the_burst_runs_on() -> Any:
    """What no rule could keep runs until the window is over."""
    return swapped(judging, "doomed", lambda *given: ())


def ranks_are_dealt_anew() -> Any:
    """A start of some members is a world of its own."""
    return swapped(decide_plan, "in_world", lambda state, group, launches: (launches, ()))


RULING: dict[str, tuple[Callable[[], Any], str]] = {
    "being stopped is a failure": (
        being_stopped_is_a_failure,
        "ruling.actions.eight_failures_of_which_seven_were_stopped_are_one_restart",
    ),
    "finished members stay": (
        finished_members_stay,
        "ruling.actions.restart_role_runs_those_of_the_role_again_that_had_finished",
    ),
    "the host is not avoided": (
        the_host_is_not_avoided,
        "ruling.actions.what_failed_goes_elsewhere_and_what_had_not_may_come_back",
    ),
    "the burst runs on": (
        the_burst_runs_on,
        "ruling.actions.what_no_rule_could_keep_is_stopped_at_once_not_after_the_window",
    ),
    "ranks are dealt anew": (
        ranks_are_dealt_anew,
        "ruling.actions.restart_member_runs_only_what_failed_again_and_in_its_place",
    ),
}
