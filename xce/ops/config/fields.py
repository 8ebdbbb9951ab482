"""What an `xce.toml` may say, as data: every table, every field, its kind and what it is for.

The reader checks a file against these tables, `xce config explain` prints them; there is no
second list.
"""

from xce.ops.config.kinds import (
    ACTION,
    AMOUNT,
    CODES,
    COUNT,
    DURATION,
    EXCLUSIVE,
    EXITS,
    FLAG,
    HOSTS,
    IMPOSSIBLE,
    INTERACTIVE,
    MAPPING,
    NAME,
    NAMES,
    NICENESS,
    PATTERN,
    POLICY,
    PORTS,
    RANGES,
    RESREQ,
    SIGNAL,
    SIZE,
    TABLE,
    TABLES,
    TEXT,
    USERS,
    WHICH,
    WORDS,
    Field,
)
from xce.ops.config.sharing import (
    AMOUNTS,
    LIMIT,
    ORDERING,
    QUEUE_SHARES,
    SHARE_TREE,
    USER,
    USER_GROUP,
)

TOP = {
    "cluster": Field(kind=NAME, to="cluster", about="what the cluster is called"),
    "levels": Field(kind=NAMES, to="levels", about="topology levels, finest first"),
    "default_queue": Field(kind=NAME, to="default_queue", about="where jobs without -q go"),
    "queues": Field(kind=TABLES, about="the queues, one [[queues]] each"),
    "applications": Field(kind=TABLES, about="application profiles, one [[applications]] each"),
    "user_groups": Field(kind=TABLES, about="groups of users, one [[user_groups]] each"),
    "shares": Field(kind=TABLES, about="share trees, one [[shares]] each"),
    "limits": Field(kind=TABLES, about="who may have how much, one [[limits]] each"),
    "users": Field(kind=TABLES, about="what single users may have, one [[users]] each"),
    "types": Field(kind=TABLES, about="resource types beside the built-in ones"),
    "pools": Field(kind=TABLES, about="amounts of shared types, seen by several hosts"),
    "reporters": Field(kind=TABLES, about="programs that report values of hosts"),
    "policies": Field(kind=TABLE, about="timings and defaults"),
    "dependencies": Field(kind=TABLE, about="how -w is understood"),
    "preemption": Field(kind=TABLE, about="how work gives way to that of preemptive queues"),
    "backfill": Field(kind=TABLE, about="who reserves what does not fit now, who may overtake"),
    "claims": Field(kind=TABLE, about="how much users may hold by claims of their own"),
    "auth": Field(kind=TABLE, about="who may do what"),
    "fencing": Field(kind=TABLE, about="the program that is asked about silent hosts"),
    "hosts": Field(kind=TABLES, about="real hosts, where they are not as measured"),
    "emulate": Field(kind=TABLE, about="hosts that `xce up` plays on this machine"),
}
JOB = {
    "requeue_exit_values": Field(
        kind=EXITS, to="requeue_exits", about="exit values with which a job runs again"
    ),
    "max_job_requeue": Field(
        kind=COUNT, to="requeues_max", about="how often; then the job is held (no end)"
    ),
    "rerunnable": Field(
        kind=FLAG, to="rerunnable", about="whether a job runs again when its host is lost"
    ),
    "run_limit": Field(kind=DURATION, to="run_limit_us", about="the most that a job may run"),
    "run_limit_default": Field(
        kind=DURATION, to="run_limit_default_us", about="for jobs without -W (the most)"
    ),
    "tasks_min": Field(kind=COUNT, to="tasks_min", about="the fewest tasks of a job"),
    "tasks_default": Field(kind=COUNT, to="tasks_default", about="for jobs without -n (1)"),
    "tasks_max": Field(kind=COUNT, to="tasks_max", about="the most tasks of a job"),
    "mem_limit": Field(kind=SIZE, to="mem_limit_bytes", about="the most memory on each host"),
    "terminate_signal": Field(
        kind=SIGNAL, to="terminate_signal", about="asks a job to end, before SIGKILL (TERM)"
    ),
    "success_exit_values": Field(
        kind=CODES, to="success_exits", about="exit values that are as good as 0"
    ),
}
QUEUE = {
    "name": Field(kind=NAME, to="name", needed=True, about="the queue's name"),
    "priority": Field(kind=COUNT, to="priority", about="larger goes first"),
    "description": Field(kind=TEXT, to="description", about="for people"),
    "open": Field(kind=FLAG, to="open", about="whether it takes submissions"),
    "active": Field(kind=FLAG, to="active", about="whether its jobs are placed"),
    "resreq": Field(kind=RESREQ, to="default_resreq", about="for jobs without one of their own"),
    "backfill": Field(kind=POLICY, to="backfill", about="its own policy (the one of [backfill])"),
    "backfill_depth": Field(kind=COUNT, to="backfill_depth", about="how many of its jobs reserve"),
    "preemptive": Field(
        kind=NAMES, to="preemptive", about="queues whose work gives way to its own"
    ),
    "preemptable": Field(kind=NAMES, to="preemptable", about="queues that it gives way to"),
    "reservation_ranges": Field(
        kind=RANGES, to="reservation_ranges", about="least and most of rusage[ ]: `mem=1GB,8GB`"
    ),
    "exclusive": Field(
        kind=EXCLUSIVE, to="exclusive", about="Y: takes -x; CU, CU[level]: units, too (EXCLUSIVE)"
    ),
    "interactive": Field(kind=INTERACTIVE, to="interactive", about="ONLY takes no batch jobs"),
    "nice": Field(kind=NICENESS, to="nice", about="its processes are so much less important"),
    **JOB,
    **QUEUE_SHARES,
}
APPLICATION = {
    "name": Field(kind=NAME, to="name", needed=True, about="the application profile's name"),
    "description": Field(kind=TEXT, to="description", about="for people"),
    "resreq": Field(kind=RESREQ, to="resreq", about="under that of its jobs, over the queue's"),
    **JOB,
}
TYPE = {
    "name": Field(kind=NAME, to="name", needed=True, about="the type's name"),
    "layer": Field(kind=NAME, to="layer", about="attribute, counter or instance"),
    "kind": Field(kind=NAME, to="kind", about="boolean, string, number, instance or interval"),
    "unit": Field(kind=TEXT, to="unit", about="`bytes` for sizes"),
    "scale": Field(kind=COUNT, to="scale", about="parts of one that are told apart (1)"),
    "direction": Field(kind=NAME, to="direction", about="increasing (load), decreasing, none"),
    "scope": Field(kind=NAME, to="scope", about="host, or shared by several (see [[pools]])"),
    "hosts": Field(kind=NAMES, to="hosts", about="who sees a shared type (all)"),
    "consumable": Field(kind=FLAG, to="consumable", about="whether use takes it away"),
    "release_on_suspend": Field(
        kind=FLAG, to="release_on_suspend", about="whether a suspended job gives it back"
    ),
    "interval": Field(kind=DURATION, to="interval_us", about="how often it is reported"),
    "ttl": Field(kind=DURATION, to="ttl_us", about="age from which a value is unknown"),
    "provider": Field(kind=NAME, to="provider", about="who makes a claim of it usable"),
    "provision": Field(kind=FLAG, to="provision", about="whether every request makes a claim"),
    "sharing": Field(kind=COUNT, to="sharing", about="holders that one instance may have"),
    "level": Field(kind=NAME, to="level", about="topology level of its instances"),
    "draws_on": Field(kind=NAME, to="draws_on", about="the counter that amounts are taken from"),
    "description": Field(kind=TEXT, to="description", about="for people"),
}
POOL = {
    "type": Field(kind=NAME, to="type", needed=True, about="the shared type"),
    "label": Field(kind=NAME, to="label", about="what holdings call it (its number)"),
    "hosts": Field(kind=HOSTS, to="hosts", about="names, `all`, `others`; `~name` takes one out"),
    "amount": Field(kind=AMOUNT, to="amount", about="how much there is, or a size"),
    "reported": Field(kind=FLAG, to="reported", about="whether a reporter gives the amount"),
}
REPORTER = {
    "name": Field(kind=NAME, to="name", needed=True, about="the reporter's name"),
    "command": Field(kind=WORDS, to="command", needed=True, about="the program and its words"),
    "types": Field(kind=NAMES, to="types", about="what it reports (LSF_RESOURCES)"),
    "hosts": Field(kind=HOSTS, to="hosts", about="where it runs (all)"),
    "interval": Field(kind=DURATION, to="interval_us", about="how often it is expected to report"),
    "timeout": Field(kind=DURATION, to="timeout_us", about="silence after which it is killed"),
}
POLICIES = {
    "suspect_after": Field(kind=DURATION, to="suspect_after_us", about="silence until SUSPECT"),
    "host_grace": Field(kind=DURATION, to="host_grace_us", about="silence until DOWN"),
    "barrier_timeout": Field(kind=DURATION, to="barrier_timeout_us", about="for all to be ARMED"),
    "ready_timeout": Field(kind=DURATION, to="ready_timeout_us", about="for a wave to be ready"),
    "kill_grace": Field(kind=DURATION, to="kill_grace_us", about="from SIGTERM to SIGKILL"),
    "unkillable_after": Field(
        kind=DURATION, to="unkillable_after_us", about="from SIGKILL until the host is closed"
    ),
    "clean_period": Field(kind=DURATION, to="clean_period_us", about="ended work stays listed"),
    "failure_window": Field(kind=DURATION, to="failure_window_us", about="a burst is one event"),
    "priority": Field(kind=COUNT, to="priority_default", about="of jobs that name none"),
    "array_size_max": Field(kind=COUNT, to="array_size_max", about="largest index of job arrays"),
    "refuse_never_fits": Field(
        kind=FLAG, to="refuse_never_fits", about="refuse what no hosts could ever hold"
    ),
    "tick_interval": Field(kind=DURATION, to="tick_interval_us", about="between ticks; 0s is none"),
    "observe": Field(kind=NAMES, to="observe", about="reported types that ticks always carry"),
    "start_retries": Field(kind=TABLE, about="of failed or broken starts"),
    **ORDERING,
}
RETRIES = {
    "max": Field(kind=COUNT, to="max", about="how often"),
    "first": Field(kind=DURATION, to="first_us", about="the first pause"),
    "factor": Field(kind=COUNT, to="factor", about="each pause is longer by"),
    "cap": Field(kind=DURATION, to="cap_us", about="the longest pause"),
}
DEPENDENCIES = {
    "impossible": Field(
        kind=IMPOSSIBLE, to="impossible", about="what becomes of jobs whose -w can never be met"
    ),
    "names": Field(kind=WHICH, to="names", about="which jobs of one name -w means"),
}
AUTH = {
    "operators": Field(kind=USERS, to="operators", about="may drain hosts and end others' work"),
    "allow_root": Field(kind=FLAG, to="allow_root", about="whether uid 0 may run work"),
}
BACKFILL = {
    "policy": Field(kind=POLICY, to="policy", about="for queues without one of their own (easy)"),
    "depth": Field(kind=COUNT, to="depth", about="how many reserve (1; 100 for conservative)"),
    "look": Field(kind=COUNT, to="look", about="how many are looked at behind the first (1000)"),
    "patience": Field(kind=DURATION, to="patience_us", about="how long what is due is kept (10m)"),
}
CLAIMS = {
    "per_user": Field(kind=AMOUNTS, to="per_user", about='of each type: {gpu = 8, mem = "1TB"}'),
    "count_max": Field(kind=COUNT, to="count_max", about="how many one user may have (1000)"),
    "unleased_percent": Field(
        kind=COUNT, to="unleased_percent", about="of what there is, without a lease (50)"
    ),
    "lease_max": Field(kind=DURATION, to="lease_max_us", about="the longest lease (as one likes)"),
}
PREEMPTION = {
    "action": Field(kind=ACTION, to="action", about="what becomes of what gives way (requeue)"),
    "min_run": Field(kind=DURATION, to="min_run_us", about="nobody gives way sooner (60s)"),
    "max_times": Field(kind=COUNT, to="times_max", about="nor more often (3)"),
    "signal": Field(kind=NAME, to="signal", about="checkpoint: what it gets first (SIGUSR2)"),
    "grace": Field(kind=DURATION, to="grace_us", about="checkpoint: and then has (60s)"),
    "patience": Field(kind=DURATION, to="patience_us", about="how long what it left is kept (2m)"),
}
FENCING = {
    "command": Field(
        kind=WORDS, to="command", needed=True, about="the program; the host's name is put behind"
    ),
    "timeout": Field(kind=DURATION, to="timeout_us", about="after which it is killed"),
    "retry_first": Field(kind=DURATION, to="retry_first_us", about="the first pause after a no"),
    "retry_cap": Field(kind=DURATION, to="retry_cap_us", about="the longest pause"),
}
EMULATE = {"hosts": Field(kind=TABLES, needed=True, about="one [[emulate.hosts]] per shape")}
HOST = {
    "name": Field(kind=PATTERN, needed=True, about="the host, or `n%d` for a row of them"),
    "count": Field(kind=COUNT, about="how many are in the row"),
    "first": Field(kind=COUNT, about="the number of the first one (1)"),
    "address": Field(kind=TEXT, about="where others reach it (127.0.0.1)"),
    "slots": Field(kind=COUNT, about="tasks it takes"),
    "mem": Field(kind=SIZE, about="memory"),
    "swp": Field(kind=SIZE, about="swap space"),
    "tmp": Field(kind=SIZE, about="temporary space"),
    "scratch": Field(kind=SIZE, about="what `directory` claims draw on"),
    "amounts": Field(kind=MAPPING, about="other counters, in their base unit"),
    "attributes": Field(kind=MAPPING, about="for select[...]"),
    "domains": Field(kind=MAPPING, about="level = name of the domain it is in"),
    "ports": Field(kind=PORTS, about="for `port` claims; a row shares it out evenly"),
    "gpus": Field(kind=TABLES, about="groups of equal GPUs"),
}
GPUS = {
    "count": Field(kind=COUNT, needed=True, about="how many"),
    "model": Field(kind=TEXT, about="for select over instances"),
    "mem": Field(kind=SIZE, about="memory of each"),
    "domains": Field(kind=MAPPING, about="domains inside the host"),
}
TABLES_OF = {
    "": TOP,
    "[[queues]]": QUEUE,
    "[[applications]]": APPLICATION,
    "[[user_groups]]": USER_GROUP,
    "[[shares]]": SHARE_TREE,
    "[[limits]]": LIMIT,
    "[[users]]": USER,
    "[[types]]": TYPE,
    "[[pools]]": POOL,
    "[[reporters]]": REPORTER,
    "[policies]": POLICIES,
    "[policies] start_retries": RETRIES,
    "[dependencies]": DEPENDENCIES,
    "[backfill]": BACKFILL,
    "[preemption]": PREEMPTION,
    "[claims]": CLAIMS,
    "[auth]": AUTH,
    "[fencing]": FENCING,
    "[[hosts]], [[emulate.hosts]]": HOST,
    "[[hosts]] gpus": GPUS,
}
