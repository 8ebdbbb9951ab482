"""The table of pend reasons: every code with its scope, its cure, its meaning and its sentence."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct


class Scope(StrEnum):
    """What the reason is about."""

    JOB = "job"
    GROUP = "group"
    QUEUE = "queue"
    HOST = "host"
    CLUSTER = "cluster"


class Cure(StrEnum):
    """When it is worth looking again."""

    AT_ONCE = "at_once"
    ON_FREE = "on_free"
    ON_CHANGE = "on_change"
    ON_COUNT = "on_count"
    NEVER = "never"


class Code(StrEnum):
    """Every pend reason that a session gives."""

    QUEUE_INACTIVE = "queue_inactive"
    QUEUE_WINDOW = "queue_window"
    ARRAY_LIMIT = "array_limit"
    UNSUPPORTED = "unsupported"
    BAD_SELECT = "bad_select"
    UNKNOWN_LEVEL = "unknown_level"
    NOT_EVEN = "not_even"
    NO_HOSTS = "no_hosts"
    NO_MATCH = "no_match"
    QUEUE_HOSTS = "queue_hosts"
    NEVER_FITS = "never_fits"
    NEVER_TOGETHER = "never_together"
    CLUSTER_NEVER_FITS = "cluster_never_fits"
    NO_USABLE_HOST = "no_usable_host"
    DOMAIN_UNKNOWN = "domain_unknown"
    DOMAIN_NEVER_FITS = "domain_never_fits"
    NEVER_SCATTERED = "never_scattered"
    NEVER_LAID = "never_laid"
    SHORT_ON_HOST = "short_on_host"
    NOT_REPORTED = "not_reported"
    SHORT_TOGETHER = "short_together"
    MEMBERS_SHORT = "members_short"
    DOMAIN_SHORT = "domain_short"
    SCATTERED = "scattered"
    NOT_LAID = "not_laid"
    IN_USE = "in_use"
    ALTERNATIVE_LATER = "alternative_later"
    LIMIT_REACHED = "limit_reached"
    LIMIT_NEVER = "limit_never"
    LIMIT_ON_HOSTS = "limit_on_hosts"
    SEARCH_BOUND = "search_bound"
    DEPENDENCY = "dependency"
    DEPENDENCY_NEVER = "dependency_never"
    JOB_GROUP_LIMIT = "job_group_limit"
    RESERVED = "reserved"
    WOULD_DELAY = "would_delay"
    NO_RUN_LIMIT = "no_run_limit"
    BEHIND = "behind"
    BACKFILL_BOUND = "backfill_bound"
    RESERVATION_LATER = "reservation_later"
    RESERVATION_OVER = "reservation_over"
    RESERVATION_FULL = "reservation_full"
    BEGIN_TIME = "begin_time"
    CLAIM = "claim"
    CLAIM_LIMIT = "claim_limit"
    ISLANDS = "islands"
    RESUME_SHORT = "resume_short"
    RESUME_AWAY = "resume_away"


class CodeText(Struct, frozen=True, gc=False, kw_only=True):
    """A row of the table: what a code means and the sentence it is shown as."""

    scope: Scope
    cure: Cure
    meaning: str
    sentence: str


def _row(scope: Scope, cure: Cure, meaning: str, text: str) -> CodeText:
    return CodeText(scope=scope, cure=cure, meaning=meaning, sentence=text)


TABLE: Mapping[Code, CodeText] = MappingProxyType(
    {
        Code.QUEUE_INACTIVE: _row(
            Scope.QUEUE,
            Cure.ON_CHANGE,
            "The queue takes submissions but dispatches nothing.",
            "queue {where} is inactive{detail}",
        ),
        Code.QUEUE_WINDOW: _row(
            Scope.QUEUE,
            Cure.ON_CHANGE,
            "The queue gives out work, or lets it run, at certain times only.",
            "queue {where} is outside its {what} window {detail}",
        ),
        Code.ARRAY_LIMIT: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "As many elements of the array run as its slot limit lets run at once.",
            "array limit {needed}: {available} running",
        ),
        Code.UNSUPPORTED: _row(
            Scope.GROUP,
            Cure.NEVER,
            "The request uses something that this version cannot place.",
            "can never be placed by this version: {detail}",
        ),
        Code.CLAIM: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "A standalone claim that the job uses takes no consumer now.",
            "claim {where} {detail}",
        ),
        Code.CLAIM_LIMIT: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "The claims of its owner hold as much as one user's may.",
            "{detail}",
        ),
        Code.ISLANDS: _row(
            Scope.CLUSTER,
            Cure.ON_FREE,
            "Fewer islands that match are free than the claim asks for.",
            "needs {needed} islands, {available} are free of those that match",
        ),
        Code.BAD_SELECT: _row(
            Scope.JOB,
            Cure.NEVER,
            "A select expression cannot be read against the declared types.",
            "can never be placed: {detail}",
        ),
        Code.UNKNOWN_LEVEL: _row(
            Scope.GROUP,
            Cure.ON_CHANGE,
            "The topology request names a level that the cluster does not declare.",
            'topology level "{what}" is not declared; the cluster has: {detail}',
        ),
        Code.NOT_EVEN: _row(
            Scope.JOB,
            Cure.NEVER,
            "The tasks do not divide into the blocks or terms that the requirement names.",
            "can never be placed: {detail}",
        ),
        Code.NO_HOSTS: _row(
            Scope.CLUSTER,
            Cure.ON_CHANGE,
            "The cluster has no host yet.",
            "the cluster has no host",
        ),
        Code.NO_MATCH: _row(
            Scope.CLUSTER,
            Cure.ON_CHANGE,
            "No host matches the select section.",
            "no host matches select[{detail}]",
        ),
        Code.QUEUE_HOSTS: _row(
            Scope.QUEUE,
            Cure.ON_CHANGE,
            "None of the hosts that serve the queue matches.",
            "no host that serves queue {where} matches{detail}",
        ),
        Code.NEVER_FITS: _row(
            Scope.HOST,
            Cure.NEVER,
            "More of something is asked on one host than any matching host has in total.",
            "can never fit: needs {needed} {what} on one host and {most}",
        ),
        Code.NEVER_TOGETHER: _row(
            Scope.HOST,
            Cure.NEVER,
            "Each thing that one host must give exists somewhere, but never on the same host.",
            "can never fit: no one host has all of it: {detail}",
        ),
        Code.CLUSTER_NEVER_FITS: _row(
            Scope.CLUSTER,
            Cure.NEVER,
            "More is asked at the same time than all matching hosts hold when empty.",
            "can never fit: needs room for {needed} {detail} at once; "
            "all matching hosts hold {available} when empty",
        ),
        Code.NEVER_SCATTERED: _row(
            Scope.CLUSTER,
            Cure.NEVER,
            "Each role fits alone, but not even empty hosts hold them all.",
            "can never fit: each role fits alone, but even with nothing running "
            "{detail} holds them together",
        ),
        Code.NEVER_LAID: _row(
            Scope.JOB,
            Cure.NEVER,
            "There is room, but not even empty hosts hold the tasks as the requirement lays them.",
            "can never fit: even with nothing running no hosts hold the tasks as {detail} asks",
        ),
        Code.NO_USABLE_HOST: _row(
            Scope.HOST,
            Cure.ON_CHANGE,
            "Hosts that match exist, but none of them may take work now.",
            "none of the {needed} matching hosts may take work now",
        ),
        Code.DOMAIN_UNKNOWN: _row(
            Scope.CLUSTER,
            Cure.ON_CHANGE,
            "No matching host says which domain of the asked level it is in.",
            "no matching host names its {what} domain",
        ),
        Code.DOMAIN_NEVER_FITS: _row(
            Scope.CLUSTER,
            Cure.NEVER,
            "No domain of the required level could hold the members even when empty.",
            "can never fit: needs room for {needed} {detail} in one {what} domain; "
            "{where} holds {available} when empty and no other holds more",
        ),
        Code.SHORT_ON_HOST: _row(
            Scope.HOST,
            Cure.ON_FREE,
            "No host has enough free of something that must come from one host.",
            "needs {needed} {what} on one host; best host {where} has {available} free",
        ),
        Code.NOT_REPORTED: _row(
            Scope.HOST,
            Cure.ON_FREE,
            "Nobody tells how much of something there is: no reporter does, or not lately.",
            "needs {needed} {what} on one host; {what} is not reported by any of {available} hosts",
        ),
        Code.SHORT_TOGETHER: _row(
            Scope.CLUSTER,
            Cure.ON_FREE,
            "Each thing that one host must give is free somewhere, but not on the same host.",
            "no one host has all of it free: {detail}",
        ),
        Code.MEMBERS_SHORT: _row(
            Scope.GROUP,
            Cure.ON_FREE,
            "Not everything that must run at the same time fits now.",
            "needs room for {needed} {detail} at once; {available} fit now",
        ),
        Code.DOMAIN_SHORT: _row(
            Scope.GROUP,
            Cure.ON_FREE,
            "No single domain of the required level has room for the members now.",
            "needs room for {needed} {detail} in one {what} domain; "
            "best domain {where} has room for {available}",
        ),
        Code.SCATTERED: _row(
            Scope.GROUP,
            Cure.ON_FREE,
            "Each role fits alone, but no division of the free space holds them all.",
            "each role fits alone, but {detail} holds them together now",
        ),
        Code.NOT_LAID: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "There is room, but not so that the tasks lie as the requirement lays them.",
            "there is room, but no hosts hold the tasks now as {detail} asks",
        ),
        Code.IN_USE: _row(
            Scope.HOST,
            Cure.ON_FREE,
            "It wants hosts for itself, and on those with room others run.",
            "wants hosts for itself: needs room for {needed} {what} where nobody runs, {available} "
            "can be had; {detail}",
        ),
        Code.ALTERNATIVE_LATER: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "What was tried can never be placed; a further alternative is tried after its delay.",
            "waits for its next alternative, which is tried {needed} s later; so far: {detail}",
        ),
        Code.LIMIT_REACHED: _row(
            Scope.QUEUE,
            Cure.ON_COUNT,
            "A limit is used up; what it counts has to end first.",
            "limit {where}{whose} is reached: {used} of {available} {what} in use, needs {needed}",
        ),
        Code.LIMIT_NEVER: _row(
            Scope.QUEUE,
            Cure.ON_CHANGE,
            "The work by itself is more than a limit allows.",
            "limit {where}{whose} allows {available} {what} and the job needs {needed}",
        ),
        Code.LIMIT_ON_HOSTS: _row(
            Scope.HOST,
            Cure.ON_COUNT,
            "A limit on hosts leaves too little on each of them.",
            "limit {where}{whose} on hosts: needs {needed} {what}, no host has more than "
            "{available} left of it",
        ),
        Code.SEARCH_BOUND: _row(
            Scope.GROUP,
            Cure.ON_FREE,
            "The search for a place was given up at its bound; a place may exist.",
            "no place found within {needed} search steps; a place may exist",
        ),
        Code.JOB_GROUP_LIMIT: _row(
            Scope.QUEUE,
            Cure.ON_FREE,
            "As many jobs of a job group have started as may at once.",
            "The job group limit has been reached: {available} jobs of {where} have started, "
            "{needed} may",
        ),
        Code.DEPENDENCY: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "What the job waits for (-w) has not happened yet.",
            "Job dependency condition not satisfied: {available} of {needed} conditions hold; "
            "{detail}",
        ),
        Code.DEPENDENCY_NEVER: _row(
            Scope.JOB,
            Cure.NEVER,
            "What the job waits for (-w) cannot happen any more.",
            "Dependency condition invalid or never satisfied: {detail}; "
            "change it with `xcecli modify -w`, or kill the job",
        ),
        Code.RESERVED: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "There is room, but it is reserved now.",
            "there is room, but it is reserved for {where}{until}",
        ),
        Code.WOULD_DELAY: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "There is room until a reservation begins, but the run limit reaches beyond that.",
            "would delay {where}, which is to start in {available} s{at}; this may run {needed} s",
        ),
        Code.NO_RUN_LIMIT: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "There is room until a reservation begins, and nobody said how long the job runs.",
            "no run limit: cannot be backfilled; the room is reserved for {where}"
            " in {available} s{at}",
        ),
        Code.BEHIND: _row(
            Scope.QUEUE,
            Cure.ON_FREE,
            "The queue lets nobody overtake, and work ahead waits.",
            "waits behind {where}; nobody overtakes in this queue",
        ),
        Code.RESERVATION_LATER: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "The advance reservation that the job joined has not begun.",
            "its reservation {where} begins later{at}",
        ),
        Code.RESERVATION_OVER: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "The advance reservation that the job joined is over or was removed.",
            "its reservation {where} is over; join another, or none",
        ),
        Code.RESERVATION_FULL: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "What is left of the advance reservation that the job joined is not enough.",
            "what is left of its reservation {where} is not enough now",
        ),
        Code.BACKFILL_BOUND: _row(
            Scope.QUEUE,
            Cure.ON_FREE,
            "Enough asks were looked at behind the first one that waits.",
            "not looked at: {needed} behind {where} were; backfill looks no further",
        ),
        Code.BEGIN_TIME: _row(
            Scope.JOB,
            Cure.ON_CHANGE,
            "The job has a begin time that has not come.",
            "the job has a specified start time: {detail}",
        ),
        Code.RESUME_SHORT: _row(
            Scope.JOB,
            Cure.ON_FREE,
            "It was suspended, is to go on, and others have what it lent.",
            "waits to go on: needs {needed} {what} back on {where}, where {available} are free",
        ),
        Code.RESUME_AWAY: _row(
            Scope.HOST,
            Cure.ON_CHANGE,
            "It was suspended and is to go on, and a host of it is not there.",
            "waits to go on: its host {where} cannot be told ({detail})",
        ),
    }
)
