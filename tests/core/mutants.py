"""Planted mistakes, each with the tests that must find it: the safety tests are tested themselves.

A mutant changes one thing in the running code for as long as its `with` block lasts. `HUNTERS`
names, for each, a directed test that fails under it; a removed coupling is a mutant like others.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.core.arrays.mutants import ARRAYS
from tests.core.deciding_mutants import DECIDING
from tests.core.depending_mutants import DEPENDING
from tests.core.placing_mutants import PLACING
from tests.core.reported_mutants import REPORTED
from tests.core.ruling.mutants import RULING
from tests.core.sharing_mutants import SHARING
from tests.core.silence_mutants import SILENCE
from tests.core.standalone.mutants import STANDALONE
from tests.core.suspending_mutants import SUSPENDING
from tests.core.swapped import swapped
from tests.core.timing.mutants import TIMING
from xce.controller.core.deciders import clock as decide_clock
from xce.controller.core.deciders import hosts as decide_hosts
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.deciders import reports as decide_reports
from xce.controller.core.deciders.asked import modify, move
from xce.controller.core.fold import timers
from xce.controller.core.fold.timers import Timers
from xce.controller.core.life import again, draft, ends, starts
from xce.controller.core.life.draft import Draft
from xce.controller.core.orders import wanted
from xce.dispatch import barrier
from xce.model.machine import Coupling
from xce.model.records import StartFailed


@contextmanager
def go_before_the_pass() -> Iterator[None]:
    """What is to be prepared is told to run."""
    own = wanted.launch_target

    def target(launch: Any) -> str:
        return str(own(launch)).replace("PREPARED", "RUNNING")

    with swapped(wanted, "launch_target", target):
        yield


@contextmanager
def barrier_without(condition: str) -> Iterator[None]:
    """One condition of the barrier is dropped, in the tallies and in the judgement."""
    own = barrier.missing

    def complete(armed: int, launches: int, ready: int, attachments: int) -> bool:
        return (condition == "armed" or armed == launches) and (
            condition == "ready" or ready == attachments
        )

    def missing(launches: Any, attachments: Any, hosts: Any) -> tuple[str, ...]:
        keep = {
            "armed": ([], attachments, hosts),
            "ready": (launches, [], hosts),
            "hosts": (launches, attachments, []),
        }
        return own(*keep[condition])

    with swapped(barrier, "complete", complete), swapped(barrier, "missing", missing):
        yield


@contextmanager
def a_host_need_not_reconcile() -> Iterator[None]:
    """A host that is UP counts, whenever it was last heard; a takeover leaves hosts UP."""
    own = Draft.fire

    def fire(self: Draft, machine: str, key: Any, event: str, **fields: Any) -> bool:
        if machine == "liveness" and event == "lead":
            return False
        return own(self, machine, key, event, **fields)

    with (
        swapped(Draft, "fire", fire),
        swapped(barrier, "HostSeen", lambda name, live, *rest: _HOST_SEEN(name, live, True)),
    ):
        yield


_HOST_SEEN = barrier.HostSeen


@contextmanager
def shares_free_at_the_stop() -> Iterator[None]:
    """A share is given up when its launch is told to stop, not when it is gone."""
    own = Draft.fire

    def fire(self: Draft, machine: str, key: Any, event: str, **fields: Any) -> bool:
        moved = own(self, machine, key, event, **fields)
        if moved and machine == "launch" and event == "stop":
            ends._give_up_share(self, self.state.launches[key])
        return moved

    with swapped(Draft, "fire", fire):
        yield


@contextmanager
def a_tally_is_skipped(field: str) -> Iterator[None]:
    """A start does not count."""
    own = Draft.patch

    def patch(self: Draft, what: str, key: Any, **fields: Any) -> None:
        if not (what == "start" and field in fields):
            own(self, what, key, **fields)

    with swapped(Draft, "patch", patch):
        yield


@contextmanager
def generations_are_reused() -> Iterator[None]:
    """Every claim has the generation 1."""
    own = decide_plan._claim
    with swapped(
        decide_plan, "_claim", lambda pools, numbers, placed, lsn: own(pools, numbers, placed, 1)
    ):
        yield


@contextmanager
def numbers_are_reused(counter: str) -> Iterator[None]:
    """A counter begins anew with every record."""
    own = decide_plan.Numbers.many

    def many(self: Any, name: str, count: int) -> range:
        if name == counter:
            self._given.setdefault(name, 0)
        return own(self, name, count)

    with swapped(decide_plan.Numbers, "many", many):
        yield


@contextmanager
def attempts_are_reused() -> Iterator[None]:
    """A job that runs again does so under its old attempt."""
    own = decide_plan._member

    def member(state: Any, numbers: Any, placed: Any) -> Any:
        made = own(state, numbers, placed)
        return type(made)(**{**{n: getattr(made, n) for n in made.__struct_fields__}, "attempt": 1})

    general = swapped(decide_plan, "is_short", lambda *_: False)
    with general, swapped(decide_plan, "_member", member):
        yield


@contextmanager
def timers_come_early() -> Iterator[None]:
    """Timers are taken out a minute before their time, and so are lost."""
    own = Timers.due

    def early(self: Timers, now_us: int, limit: int = 256) -> list[Any]:
        return list(own(self, now_us + 60_000_000, limit))

    with swapped(Timers, "due", early):
        yield


@contextmanager
def timers_act_twice() -> Iterator[None]:
    """Each timer comes twice, and a deadline is not looked at again before it acts."""
    own = Timers.due

    def due(self: Timers, now_us: int, limit: int = 256) -> list[Any]:
        return [timer for timer in own(self, now_us, limit) for _ in range(2)]

    def start_timer(one: Draft, number: int) -> None:
        start = one.state.starts[number]
        starts.fail_start(one, number, "barrier_timeout", ())
        if start.state != "OPEN":
            one.open(StartFailed(start=number, reason="barrier_timeout", missing=()), [])
            starts._retry_group(one, start.group, "barrier_timeout", 1)

    with swapped(Timers, "due", due), swapped(decide_clock, "_start", start_timer):
        yield


@contextmanager
def any_list_answers() -> Iterator[None]:
    """A repeated list of a host proves things gone."""
    with swapped(decide_reports, "_answers", lambda host, question: True):
        yield


@contextmanager
def death_by_silence() -> Iterator[None]:
    """A host that is DOWN is taken for dead."""
    own = decide_hosts.fail_starts

    def dead(one: Draft, numbers: Any, host: str, reason: str) -> None:
        own(one, numbers, host, reason)
        if reason == "host_down":
            decide_hosts.prove_dead(one, host, "silence", "clock")

    with swapped(decide_hosts, "fail_starts", dead):
        yield


@contextmanager
def versions_are_not_kept() -> Iterator[None]:
    """A plan is never checked again at its commit."""
    with swapped(decide_plan.Recheck, "_has_hosts", lambda *given: True):
        yield


@contextmanager
def limits_come_early() -> Iterator[None]:
    """Every limit of time is a microsecond too short."""
    own = timers.over_limit_us

    def early(job: Any, spec: Any) -> tuple[int, str]:
        due_us, why = own(job, spec)
        return due_us - bool(due_us), why

    with swapped(timers, "over_limit_us", early), swapped(decide_clock, "over_limit_us", early):
        yield


@contextmanager
def without(coupling: Coupling) -> Iterator[None]:
    """A coupling is not there."""
    key = (coupling.machine, coupling.event)
    own = draft._COUPLED[key]
    draft._COUPLED[key] = tuple(one for one in own if one != coupling)
    try:
        yield
    finally:
        draft._COUPLED[key] = own


Mutant = Callable[[], Any]
MUTANTS: dict[str, tuple[Mutant, str]] = {
    "go before the pass": (
        go_before_the_pass,
        "starts.an_attachment_that_stays_provisioning_keeps_all_processes_from_running",
    ),
    "a launch need not be ARMED": (
        lambda: barrier_without("armed"),
        "waves.all_waves_are_armed_before_the_pass",
    ),
    "an attachment need not be READY": (
        lambda: barrier_without("ready"),
        "starts.an_attachment_that_stays_provisioning_keeps_all_processes_from_running",
    ),
    "a host need not be UP": (
        lambda: barrier_without("hosts"),
        "starts.a_suspect_host_keeps_the_barrier_closed_until_it_has_listed_its_work",
    ),
    "a host need not be reconciled": (
        a_host_need_not_reconcile,
        "starts.a_new_leader_believes_no_armed_launch_before_its_host_listed_it",
    ),
    "shares are free before the launch is gone": (
        shares_free_at_the_stop,
        "kills.a_running_job_is_stopped_and_then_ended",
    ),
    "ended launches are not counted": (
        lambda: a_tally_is_skipped("ended"),
        "starts.a_gang_runs_once_all_are_armed_and_ready_and_leaves_nothing_behind",
    ),
    "armed launches are not counted": (
        lambda: a_tally_is_skipped("armed"),
        "starts.a_gang_runs_once_all_are_armed_and_ready_and_leaves_nothing_behind",
    ),
    "a generation is used again": (
        generations_are_reused,
        "failures.restarts_wait_longer_each_time_and_give_the_allocation_up",
    ),
    "launch numbers are used again": (
        lambda: numbers_are_reused("launch"),
        "starts.a_plain_job_whose_start_broke_begins_again_whole",
    ),
    "claim numbers are used again": (
        lambda: numbers_are_reused("claim"),
        "failures.restarts_wait_longer_each_time_and_give_the_allocation_up",
    ),
    "attempts are used again": (
        attempts_are_reused,
        "starts.a_gang_whose_start_broke_stops_what_ran_and_begins_again_whole",
    ),
    "timers come early and are lost": (
        timers_come_early,
        "starts.a_barrier_that_times_out_names_who_was_missing",
    ),
    "timers act twice": (
        timers_act_twice,
        "starts.a_barrier_that_times_out_names_who_was_missing",
    ),
    "any list of a host counts": (
        any_list_answers,
        "reports.a_list_that_is_told_again_proves_nothing_of_what_came_after_it",
    ),
    "silence is death": (death_by_silence, "hosts.silence_is_suspect_then_down_and_no_death"),
    "a limit of time comes early": (
        limits_come_early,
        "living.time_limits.a_pending_job_ends_at_its_termination_time_and_not_before",
    ),
    "users move over all of a queue": (
        lambda: swapped(move, "USER", "nobody"),
        "living.moving.users_move_among_their_own",
    ),
    "hosts do not hear of a new limit": (
        lambda: swapped(modify, "_told", lambda state, work: ()),
        "living.modify.the_run_limit_of_a_running_job_moves_and_its_host_is_told",
    ),
    "an excluded host is forgotten": (
        lambda: swapped(again, "EXCLUDE", "never"),
        "living.requeue.a_host_is_excluded_for_the_job_for_good_and_for_nobody_else",
    ),
    "nothing runs again by its exit value": (
        lambda: swapped(again, "_by_exit", lambda state, job: None),
        "living.requeue.all_but_zero_ends_with_success",
    ),
    "a stale plan is committed": (
        versions_are_not_kept,
        "reports.a_plan_made_before_a_host_registered_anew_is_stale",
    ),
}

MUTANTS |= {name: found for name, found in STANDALONE.items() if found[1]}
MUTANTS |= DECIDING
MUTANTS |= ARRAYS | SUSPENDING | SILENCE | TIMING | DEPENDING | SHARING | REPORTED | PLACING
MUTANTS |= RULING

# One line per coupling: `machine event: relation event | the test that fails without it`.
_LINES = Path(__file__).with_name("hunters.txt").read_text(encoding="utf-8").splitlines()
COUPLING_HUNTERS: dict[str, str] = {
    name.strip(): test.strip() for name, _, test in (line.partition("|") for line in _LINES)
}


def name_of(coupling: Coupling) -> str:
    """How `COUPLING_HUNTERS` names a coupling."""
    return f"{coupling.machine} {coupling.event}: {coupling.relation} {coupling.target_event}"
