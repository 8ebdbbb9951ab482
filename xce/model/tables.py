"""All state machines of XCE and their couplings: data only.

States are contract.md's. A state never remembers where it came from; a request is a record, not
a state, unless something waits for it; reachability belongs to the host. `docs/reference/states.md`
is drawn from here, the CHECK lists of the database are compared with it, and the random walk of
`tests/tables` plays it against a world of several groups, restarts, silence and leader changes.
Nothing but `apply` assigns a state.
"""

from xce.model.machine import Coupling, Machine, table

JOB = table(
    "job",
    states="""
        PENDING  initial   waits for a session to place it
        HELD     wait      waits for its owner to let it go
        STARTING active    has an allocation and an open or passed start; nothing of it ran yet
        RUNNING  active    its processes were let go
        FINISHED wait      a member that ended while its group lives; exit kept
        ENDING   active    is being stopped
        DONE     terminal  ended as it should
        EXITED   terminal  ended otherwise
    """,
    events="""
        hold         user     keep it from being placed
        release      user     let it be placed again
        kill         user     end it
        requeue      user     it has ended and is to run again
        plan         session  it was placed
        start_failed coupling its start did not pass or broke; it waits again
        start        coupling its first launch was let go
        finish       rule     its launches ended while its group lives
        return       coupling its group or itself is run again
        end_done     coupling it is over, well
        end_exited   coupling it is over, otherwise
    """,
    cells="""
        PENDING:  hold>HELD release=already kill>EXITED plan>STARTING start_failed=moot return=already end_done>DONE end_exited>EXITED
        HELD:     hold=already release>PENDING kill>EXITED end_done>DONE end_exited>EXITED return=already start_failed=moot
        STARTING: kill>ENDING start_failed>PENDING start>RUNNING finish>FINISHED return>PENDING end_done>DONE end_exited>EXITED
        RUNNING:  kill>ENDING start=already start_failed>PENDING finish>FINISHED return>PENDING end_done>DONE end_exited>EXITED
        FINISHED: kill=moot start=late start_failed>PENDING finish=already return>PENDING end_done>DONE end_exited>EXITED
        ENDING:   kill=already start=late start_failed=moot finish=moot return=moot end_done>DONE end_exited>EXITED
        DONE:     requeue>PENDING kill=moot start=late finish=moot return=moot start_failed=moot end_done=already end_exited=moot
        EXITED:   requeue>PENDING kill=moot start=late finish=moot return=moot start_failed=moot end_done=moot end_exited=already
    """,
)

GROUP = table(
    "group",
    states="""
        FORMING    initial   takes members; holds nothing
        PENDING    wait      waits for a session to place it whole
        STARTING   active    its birth (or restart) is planned and has not passed
        RUNNING    active    a start of it passed
        RETRACTING active    its launches are being stopped so that it can be run again
        ENDING     active    its launches are being stopped for good
        DONE       terminal  ended as it should
        EXITED     terminal  ended otherwise
    """,
    events="""
        seal         user     no more members
        kill         user     end it
        plan         session  it was placed whole
        give_up      clock    a timeout or its retries are used up
        start_failed coupling its start did not pass
        pass         coupling its start passed
        retract      rule     it is to be run again; what runs is stopped
        retracted    rule     nothing of it is left; it waits again
        finish       rule     its verdict is known; what still runs is stopped
        end_done     rule     nothing of it is left; it ended well
        end_exited   rule     nothing of it is left; it ended otherwise
    """,
    cells="""
        FORMING:    seal>PENDING kill>EXITED
        PENDING:    seal=already kill>EXITED plan>STARTING give_up>EXITED start_failed=moot retracted=already
        STARTING:   kill>ENDING start_failed>PENDING pass>RUNNING
        RUNNING:    kill>ENDING pass=already start_failed=moot retract>RETRACTING finish>ENDING end_done>DONE end_exited>EXITED
        RETRACTING: kill>ENDING give_up>ENDING start_failed=moot retract=already retracted>PENDING
        ENDING:     kill=already start_failed=moot pass=late retract=moot finish=already end_done>DONE end_exited>EXITED
        DONE:       kill=moot
        EXITED:     kill=moot
    """,
)

START = table(
    "start",
    states="""
        OPEN   initial  its launches prepare, its attachments are provisioned
        PASSED active   everything stood in one evaluation; processes may be let go
        FAILED terminal did not pass, or broke after it passed; its launches can never run
    """,
    events="""
        pass dispatch every launch ARMED, every attachment READY, every host UP and reconciled
        fail dispatch a deadline, a failure, a death or a kill before the pass
        break dispatch a launch proven dead after the pass had never started
    """,
    cells="""
        OPEN:   pass>PASSED fail>FAILED
        PASSED: pass=already fail=late break>FAILED
        FAILED: pass=late fail=already break=already
    """,
)

LAUNCH = table(
    "launch",
    states="""
        PREPARING initial  the agent is to park its processes before exec
        ARMED     wait     its processes are parked
        RUNNING   active   `started` is journalled; its processes were let go
        STOPPING  active   is to be gone
        EXITED    terminal it ran and its processes ended
        ABORTED   terminal it never ran and never will
        LOST      terminal proven gone, outcome unknown
    """,
    events="""
        arm   agent    all its processes are parked
        start agent    `started` is durable on the host
        stop  coupling it is to be gone
        exit  agent    its processes ended after they had been let go
        abort agent    it ended without having been let go
        lose  rule     proof that nothing of it is left, and no outcome
    """,
    cells="""
        PREPARING: arm>ARMED start>RUNNING stop>STOPPING exit>EXITED abort>ABORTED lose>LOST
        ARMED:     arm=repeat start>RUNNING stop>STOPPING exit>EXITED abort>ABORTED lose>LOST
        RUNNING:   arm=late start=repeat stop>STOPPING exit>EXITED lose>LOST
        STOPPING:  arm=late start=late stop=already exit>EXITED abort>ABORTED lose>LOST
        EXITED:    arm=late start=late stop=moot exit=repeat abort=late lose=moot
        ABORTED:   arm=late start=late stop=moot exit=late abort=repeat lose=moot
        LOST:      arm=late start=late stop=moot exit=late abort=late lose=already
    """,
)

ATTACHMENT = table(
    "attachment",
    states="""
        PROVISIONING initial  its provider is to make the claim usable
        READY        active   processes can use it
        FAILED       wait     the provider could not; to be released
        RELEASING    active   its provider is to take it down
        RELEASED     terminal nothing of it is left
    """,
    events="""
        provide agent    the provider made it usable
        fail    agent    the provider could not
        release coupling it is to be gone
        free    agent    the provider confirmed that nothing is left
        lose    rule     the host's boot ended, or the host was given up
    """,
    cells="""
        PROVISIONING: provide>READY fail>FAILED release>RELEASING free>RELEASED lose>RELEASED
        READY:        provide=repeat fail>FAILED release>RELEASING free>RELEASED lose>RELEASED
        FAILED:       provide=late fail=repeat release>RELEASING free>RELEASED lose>RELEASED
        RELEASING:    provide=late fail=late release=already free>RELEASED lose>RELEASED
        RELEASED:     provide=late fail=late release=moot free=repeat lose=moot
    """,
)

CLAIM = table(
    "claim",
    states="""
        PENDING   initial  waits for a session to bind it; holds nothing
        BOUND     active   holds what it asked for
        EXPIRED   wait     its lease ran out; no new consumer
        FAILED    wait     a provider or an instance failed it
        RELEASING active   its attachments are being taken down
        RELEASED  terminal holds nothing
    """,
    events="""
        bind    session  a session found what it asked for
        expire  clock    its lease ran out
        fail    coupling a provider or an instance failed it
        release coupling its owner, or what it lived for, is done with it
        free    coupling all its attachments are released
    """,
    cells="""
        PENDING:   bind>BOUND expire>RELEASED release>RELEASED
        BOUND:     bind=already expire>EXPIRED fail>FAILED release>RELEASING free=moot
        EXPIRED:   expire=already fail=moot release>RELEASING free=moot
        FAILED:    expire=moot fail=already release>RELEASING free=moot
        RELEASING: expire=moot fail=moot release=already free>RELEASED
        RELEASED:  expire=moot fail=moot release=moot free=already
    """,
)

INSTANCE = table(
    "instance",
    states="""
        PRESENT     initial  healthy and reported
        TAINTED     wait     reported, taken by nobody new
        QUARANTINED wait     a provider failed on it; waits for release or check
        LOST        wait     held, and no longer reported
        GONE        terminal no longer reported, held by nobody
    """,
    events="""
        report     agent    its host reports it
        taint      user     keep new work from it
        untaint    user     let work on it again
        quarantine coupling a provider failed on it
        clear      agent    a provider says that it is free and sound
        miss       agent    held, and missing from its host's report
        vanish     rule     missing and held by nobody
    """,
    cells="""
        PRESENT:     report=already taint>TAINTED untaint=already quarantine>QUARANTINED clear=already miss>LOST vanish>GONE
        TAINTED:     report=already taint=already untaint>PRESENT quarantine>QUARANTINED clear=moot miss>LOST vanish>GONE
        QUARANTINED: report=already taint=moot untaint=moot quarantine=already clear>PRESENT miss>LOST vanish>GONE
        LOST:        report>PRESENT taint=moot untaint=moot quarantine=moot clear=moot miss=already vanish>GONE
        GONE:        report>PRESENT taint=moot untaint=moot quarantine=moot clear=moot miss=moot vanish=already
    """,
)

LIVENESS = table(
    "liveness",
    states="""
        JOINING initial  registered, has not listed its work in this epoch
        UP      active   heard and reconciled
        SUSPECT wait     silent for a while; takes nothing new, is no death
        DOWN    wait     silent for longer than its grace; proves nothing about its work
        GONE    terminal removed
    """,
    events="""
        register  agent    it registered (again)
        reconcile agent    it listed its launches and attachments in this epoch
        lead      rule     a new leader began; what was heard before is no evidence
        miss      clock    not heard for suspect_after
        hear      agent    heard again
        grace_end clock    not heard for host_grace
        remove    user     taken out of the cluster
    """,
    cells="""
        JOINING: register>JOINING reconcile>UP lead>JOINING miss>SUSPECT hear=already grace_end>DOWN remove>GONE
        UP:      register>JOINING reconcile=already lead>JOINING miss>SUSPECT hear=already grace_end=moot remove>GONE
        SUSPECT: register>JOINING reconcile>UP lead>JOINING miss=already hear>JOINING grace_end>DOWN remove>GONE
        DOWN:    register>JOINING reconcile>UP lead>JOINING miss=moot hear>JOINING grace_end=already remove>GONE
        GONE:    register>JOINING reconcile=late lead=moot miss=moot hear=late grace_end=moot remove=already
    """,
)

ADMIN = table(
    "admin",
    states="""
        OPEN     initial takes work
        DRAINING active  takes nothing new, waits for its work to end
        CLOSED   wait    takes nothing
    """,
    events="""
        drain user     take nothing new
        close user     take nothing
        open  user     take work
        empty rule     nothing runs on it any more
    """,
    cells="""
        OPEN:     drain>DRAINING close>CLOSED open=already empty=moot
        DRAINING: drain=already close>CLOSED open>OPEN empty>CLOSED
        CLOSED:   drain=already close=already open>OPEN empty=already
    """,
)

SUSPENSION = table(
    "suspension",
    states="""
        ACTIVE    initial not suspended
        SUSPENDED wait    stopped by its owner or the system; lends what its types release
        RESUMING  active  a plan gave back what it lent; its processes are to go on
    """,
    events="""
        suspend user     stop it
        resume  session  a plan gave back the same hosts, all or nothing
        resumed agent    its processes go on
        over    coupling its attempt is over
    """,
    cells="""
        ACTIVE:    suspend>SUSPENDED resume=already resumed=late over=already
        SUSPENDED: suspend=already resume>RESUMING resumed=late over>ACTIVE
        RESUMING:  suspend>SUSPENDED resume=already resumed>ACTIVE over>ACTIVE
    """,
)

MACHINES: dict[str, Machine] = {
    machine.name: machine
    for machine in (
        JOB, GROUP, START, LAUNCH, ATTACHMENT, CLAIM, INSTANCE, LIVENESS, ADMIN, SUSPENSION,
    )
}  # fmt: skip

# Relations name the entities that follow what moved, in the order of their ids: `group`, `members`,
# `launches`, `claims` of a start, job, group or launch (`group` is a start's gang, none for a plain
# job); `job` of a launch; `attachments` of a claim; `claim`, and `instances` that it holds on the
# attachment's host, of an attachment; `claims` that hold an instance; `self`.
# Conditions are asked when the coupling is reached. A coupling fires only when its event moved the
# state, never when the cell ignores it.
CONDITION_MEANINGS: dict[str, str] = {
    "unused": "no live launch of a consumer is left, and what the claim lives for is over; a "
    "group's claim lives while its group is STARTING or RUNNING out of the birth that made it, "
    "a standalone one until its end was asked for or its lease ran out "
    "(release order: processes, attachments, claims)",
    "bare": "no attachment of the claim is left",
}
COUPLINGS: tuple[Coupling, ...] = (
    Coupling("start", "pass", "group", "group", "pass", "", "a gang runs once a start passed"),
    Coupling("start", "fail", "launches", "launch", "stop", "", "a failed start never runs"),
    Coupling("start", "fail", "claims", "claim", "release", "unused", "its claims die with it"),
    Coupling("start", "fail", "members", "job", "start_failed", "", "its members wait again"),
    Coupling("start", "fail", "group", "group", "start_failed", "", "and so does the gang"),
    Coupling("start", "break", "launches", "launch", "stop", "", "what runs of it is stopped"),
    Coupling("launch", "start", "job", "job", "start", "", "a job runs once a launch of it does"),
    Coupling("launch", "exit", "claims", "claim", "release", "unused", "processes go first"),
    Coupling("launch", "abort", "claims", "claim", "release", "unused", "processes go first"),
    Coupling("launch", "lose", "claims", "claim", "release", "unused", "processes go first"),
    Coupling("claim", "release", "attachments", "attachment", "release", "", "then attachments"),
    Coupling("claim", "release", "self", "claim", "free", "bare", "a claim goes last"),
    Coupling("attachment", "fail", "claim", "claim", "fail", "", "a claim fails with its provider"),
    Coupling("attachment", "fail", "instances", "instance", "quarantine", "", "until it is sound"),
    Coupling("attachment", "free", "claim", "claim", "fail", "", "gone, and nobody had asked"),
    Coupling("attachment", "free", "claim", "claim", "free", "bare", "a claim goes last"),
    Coupling("attachment", "lose", "claim", "claim", "fail", "", "what it stood on is gone"),
    Coupling("attachment", "lose", "claim", "claim", "free", "bare", "a claim goes last"),
    Coupling("instance", "miss", "claims", "claim", "fail", "", "what it held is not there"),
    Coupling("job", "kill", "launches", "launch", "stop", "", "ending a job stops its processes"),
    Coupling("job", "start_failed", "self", "suspension", "over", "", "its next attempt runs"),
    Coupling("job", "finish", "self", "suspension", "over", "", "nothing of it is left to resume"),
    Coupling("job", "return", "self", "suspension", "over", "", "its next attempt runs"),
    Coupling("job", "end_done", "self", "suspension", "over", "", "what is over is not suspended"),
    Coupling("job", "end_exited", "self", "suspension", "over", "", "neither is it here"),
    Coupling("group", "kill", "members", "job", "kill", "", "ending a gang ends its members"),
    Coupling("group", "finish", "launches", "launch", "stop", "", "the verdict stops what runs"),
    Coupling("group", "retract", "launches", "launch", "stop", "", "a gang restarts whole"),
    Coupling("group", "give_up", "members", "job", "kill", "", "nothing of it will run"),
    Coupling("group", "retracted", "claims", "claim", "release", "unused", "PENDING holds nothing"),
    Coupling("group", "retracted", "members", "job", "return", "", "all members run again"),
    Coupling("group", "end_done", "claims", "claim", "release", "unused", "the gang's own go too"),
    Coupling("group", "end_done", "members", "job", "end_done", "", "FINISHED members end with it"),
    Coupling("group", "end_exited", "claims", "claim", "release", "unused", "and so do they here"),
    Coupling("group", "end_exited", "members", "job", "end_exited", "", "FINISHED members as well"),
)

LIVE_LAUNCH = LAUNCH.of_kind("initial", "wait", "active")
LIVE_ATTACHMENT = frozenset({"PROVISIONING", "READY", "FAILED", "RELEASING"})
ENDED_JOB = JOB.of_kind("terminal")
ENDED_GROUP = GROUP.of_kind("terminal")
