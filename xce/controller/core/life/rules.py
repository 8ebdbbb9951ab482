"""Which failure rule judges a failure: a pure choice from a group's rules and what they spent.

The first rule that matches and has budget left wins; one past the last says that none does, and
then the gang fails. Causes of the infrastructure rank before all others. Signals are named in
manifests and numbered in reports; the numbers are Linux's, on every machine that runs jobs.
"""

from collections.abc import Sequence

from xce.model.config import grown_us
from xce.model.group import FailureRule
from xce.model.job import Exit

CLAIM_LOST = "claim_lost"
TOLERATE, RESTART_MEMBER, RESTART_ROLE = "tolerate", "restart_member", "restart_role"
WHOLE = ("", "fail_group", "restart_group", "requeue")
"""Actions about the whole gang; "" is what no rule matches."""
_INFRASTRUCTURE = ("host_lost", CLAIM_LOST)
_SIGNALS = [
    "HUP",
    "INT",
    "QUIT",
    "ILL",
    "TRAP",
    "ABRT",
    "BUS",
    "FPE",
    "KILL",
    "USR1",
    "SEGV",
    "USR2",
    "PIPE",
    "ALRM",
    "TERM",
    "STKFLT",
    "CHLD",
    "CONT",
    "STOP",
    "TSTP",
    "TTIN",
    "TTOU",
    "URG",
    "XCPU",
    "XFSZ",
    "VTALRM",
    "PROF",
    "WINCH",
    "IO",
    "PWR",
    "SYS",
]
_SIGNAL_NAMES = dict(enumerate(_SIGNALS, start=1))


def rank_of(
    rules: Sequence[FailureRule], spent: Sequence[int], role: str, ended: Exit
) -> tuple[int, int]:
    """(0 for causes of the infrastructure else 1, index of the rule): the lowest decides."""
    infrastructure = 0 if is_infrastructure(ended) else 1
    for index, rule in enumerate(rules):
        if _matches(rule, role, ended) and _has_budget(rule, spent, index):
            return infrastructure, index
    return infrastructure, len(rules)


def is_infrastructure(ended: Exit) -> bool:
    """Whether the cause lies below the job."""
    return ended.reason in _INFRASTRUCTURE


def doomed(
    rules: Sequence[FailureRule], spent: Sequence[int], role: str, ended: Exit, repairs: bool
) -> tuple[str, ...]:
    """Roles of which no rule could keep a member after this failure, whatever else comes with it:
    ("",) is all. A failure below the job that comes with it may yet be the cause, and the rule for
    that may restart some members only."""
    infrastructure, index = rank_of(rules, spent, role, ended)
    action = rules[index].action if index < len(rules) else ""
    if repairs and not infrastructure and not action:
        return ()
    below = {
        rule.action
        for at, rule in enumerate(rules)
        if infrastructure
        and (not rule.reasons or any(one in _INFRASTRUCTURE for one in rule.reasons))
        and _has_budget(rule, spent, at)
    }
    if RESTART_MEMBER in below or action not in (*WHOLE, RESTART_ROLE):
        return ()
    return (role,) if RESTART_ROLE in (action, *below) else ("",)


def spend(spent: Sequence[int], index: int, rules: int) -> tuple[int, ...]:
    """What each of the rules has spent once rule `index` acted."""
    return tuple(_spent(spent, one) + (1 if one == index else 0) for one in range(rules))


def delay_us(rule: FailureRule, spent: Sequence[int], index: int) -> int:
    """How long the rule's next restart waits."""
    backoff = rule.backoff
    if not backoff.first_us:
        return 0
    return grown_us(backoff.first_us, backoff.factor, backoff.cap_us, _spent(spent, index))


def _matches(rule: FailureRule, role: str, ended: Exit) -> bool:
    if rule.roles and role not in rule.roles:
        return False
    if rule.reasons and ended.reason not in rule.reasons:
        return False
    if rule.codes and not (
        ended.how == "exited" and any(low <= ended.code <= high for low, high in rule.codes)
    ):
        return False
    return not rule.signals or (ended.how == "signalled" and _named(ended.code, rule.signals))


def _named(number: int, names: Sequence[str]) -> bool:
    wanted = {name.upper().removeprefix("SIG") for name in names}
    return str(number) in wanted or _SIGNAL_NAMES.get(number, "") in wanted


def _has_budget(rule: FailureRule, spent: Sequence[int], index: int) -> bool:
    return rule.max_times < 0 or _spent(spent, index) < rule.max_times


def _spent(spent: Sequence[int], index: int) -> int:
    return spent[index] if index < len(spent) else 0
