"""The toy world's rules: what decide concludes after each cause, until nothing more follows.

The barrier is judged first, so that no start stays OPEN over a stopped launch; then ends of
members, then of groups. Every rule fires events of source `dispatch` or `rule`; what follows from
them is the couplings'.
"""

from tests.tables.session import MAX_FAILURES
from tests.tables.world import Group, Job, Launch, Start, World
from xce.model.tables import LIVE_ATTACHMENT


def settle(world: World) -> None:
    """Run all rules until none of them moves anything."""
    for _ in range(50):
        before = len(world.story)
        for start in list(world.things["start"].values()):
            judge(world, start)
        for claim in list(world.things["claim"].values()):
            judge_claim(world, claim.number)
        for job in world.things["job"].values():
            judge_job(world, job)
        for group in world.things["group"].values():
            judge_group(world, group)
        judge_rest(world)
        if len(world.story) == before:
            return
    raise AssertionError("the rules do not come to rest")


# -- starts ---------------------------------------------------------------------------------
def judge(world: World, start: Start) -> None:
    """The barrier: pass, fail, or wait; after the pass, whether it broke."""
    launches = [world.things["launch"][number] for number in start.launches]
    if start.state == "OPEN":
        judge_open(world, start, launches)
    elif start.state == "PASSED" and any(
        one.state == "ABORTED" and one.ran == "no" and not one.asked for one in launches
    ):
        start.broken = True
        world.fire("start", start.number, "break")
        group = world.things["group"].get(start.group)
        if group and group.state == "RUNNING":
            group.failures += 1
            if start.kind == "birth" or group.failures > MAX_FAILURES:
                restart_or_finish(world, group, group.failures <= MAX_FAILURES)


def judge_open(world: World, start: Start, launches: list[Launch]) -> None:
    """An OPEN start: everything stands, something can never stand, or neither yet."""
    states = [one.state for one in launches]
    attachments = [
        world.things["attachment"][number].state
        for claim in sorted({claim for one in launches for claim in one.claims})
        for number in world.things["claim"][claim].attachments
    ]
    hosts = [world.things["liveness"][one.host].state for one in launches]
    missing = len(states) - states.count("ARMED")
    if (
        any(state not in ("PREPARING", "ARMED") for state in states)
        or any(state not in ("PROVISIONING", "READY") for state in attachments)
        or any(host in ("DOWN", "GONE") for host in hosts)
        or world.now > start.deadline
    ):
        fail(world, start)
    elif (
        missing <= (1 if world.mutant == "one not armed" else 0)
        and (attachments.count("READY") == len(attachments) or world.mutant == "not ready")
        and (hosts.count("UP") == len(hosts) or world.mutant == "host not up")
    ):
        start.passed = True
        world.fire("start", start.number, "pass")


def fail(world: World, start: Start) -> None:
    """A start fails: who was killed is over, the others wait again while retries are left."""
    world.fire("start", start.number, "fail")
    for number in start.members:
        job = world.things["job"][number]
        if job.state == "ENDING" and job.start == start.number:
            world.fire("job", number, "end_exited")
    group = world.things["group"].get(start.group)
    if group is None:
        for number in start.members:
            job = world.things["job"][number]
            job.failures += 1
            if job.failures > MAX_FAILURES and job.state == "PENDING":
                world.fire("job", number, "end_exited")
        return
    group.failures += 1
    if group.failures > MAX_FAILURES:
        if group.state == "PENDING":
            world.fire("group", group.number, "give_up")
        elif group.state == "RUNNING":
            group.verdict = "exited"
            world.fire("group", group.number, "finish")


def restart_or_finish(world: World, group: Group, again: bool) -> None:
    """Retract the group so that it runs again, or end it."""
    if again:
        world.fire("group", group.number, "retract")
    else:
        group.verdict = "exited"
        world.fire("group", group.number, "finish")


# -- claims ---------------------------------------------------------------------------------
def judge_claim(world: World, number: int) -> None:
    """A failed claim is lost for its consumers; a standalone one goes when nobody uses it."""
    claim = world.things["claim"][number]
    if claim.state == "FAILED":
        group = world.things["group"].get(claim.group)
        if group and group.state == "RUNNING" and group.start == claim.start:
            group.restarts += 1
            restart_or_finish(world, group, group.restarts <= 2)
        for launch in world.live_launches():
            if number in launch.claims and world.things["start"][launch.start].state == "PASSED":
                world.fire("launch", launch.number, "stop")
    done = claim.asked or claim.state == "EXPIRED"
    if claim.scope == "standalone" and done and claim.state not in ("RELEASING", "RELEASED"):
        users = [one for one in world.live_launches() if number in one.claims]
        claim.asked = True
        if not users:
            world.fire("claim", number, "release")


# -- jobs -----------------------------------------------------------------------------------
def judge_job(world: World, job: Job) -> None:
    """A member or plain job whose launches are all gone."""
    if job.state not in ("STARTING", "RUNNING", "ENDING") or world.live_of(job.launches):
        return
    start = world.things["start"][job.start]
    launches = [world.things["launch"][number] for number in job.launches]
    ok = all(one.state == "EXITED" and one.ok for one in launches)
    if job.state == "ENDING":
        world.fire("job", job.number, "end_done" if ok else "end_exited")
    elif start.state == "FAILED" and not job.group:
        judge_broken(world, start)
    elif start.state == "PASSED":
        member_ended(world, job, ok) if job.group else plain_ended(world, job, ok)


def plain_ended(world: World, job: Job, ok: bool) -> None:
    """A plain job ended by itself: done, run again, or exited."""
    if ok:
        world.fire("job", job.number, "end_done")
    elif job.requeues < 2 and world.rng.random() < 0.5:
        job.requeues += 1
        world.fire("job", job.number, "return")
    else:
        world.fire("job", job.number, "end_exited")


def member_ended(world: World, job: Job, ok: bool) -> None:
    """A member ended while its group lives; then the group's rules."""
    group = world.things["group"][job.group]
    if group.state not in ("RUNNING", "ENDING"):
        return
    if job.is_preempted and group.state == "RUNNING" and not ok:
        world.fire("job", job.number, "return")
        return
    job.ok = ok
    world.fire("job", job.number, "finish")
    if group.state != "RUNNING":
        return
    if ok and group.success == "any":
        group.verdict = "done"
        world.fire("group", group.number, "finish")
    elif not ok and group.policy != "tolerate":
        if group.policy == "fail_group" or group.restarts >= 2:
            restart_or_finish(world, group, again=False)
        else:
            group.restarts += 1
            if group.policy == "restart_member":
                world.fire("job", job.number, "return")
            else:
                world.fire("group", group.number, "retract")


def judge_broken(world: World, start: Start) -> None:
    """Members of a broken start wait again once nothing of it is left."""
    if world.live_of(start.launches):
        return
    for number in start.members:
        job = world.things["job"][number]
        if job.start != start.number or job.state not in ("STARTING", "RUNNING", "FINISHED"):
            continue
        job.failures += 1
        if job.failures > MAX_FAILURES and not job.group:
            world.fire("job", number, "end_exited")
        else:
            world.fire("job", number, "start_failed")


# -- groups ---------------------------------------------------------------------------------
def judge_group(world: World, group: Group) -> None:
    """A group that nothing holds back any more."""
    states = {job.state for job in world.members(group)}
    if group.state == "RUNNING":
        for start in world.things["start"].values():
            if start.group == group.number and start.broken and start.kind == "growth":
                judge_broken(world, start)
        states = {job.state for job in world.members(group)}
        again = any(
            job.state in ("PENDING", "HELD") and job.attempt > 0 for job in world.members(group)
        )
        if not states & {"STARTING", "RUNNING", "ENDING"} and not again:
            verdict(world, group)
    elif group.state == "PENDING" and states <= {"EXITED", "DONE"}:
        world.fire("group", group.number, "give_up")
    elif group.state in ("RETRACTING", "ENDING") and "ENDING" not in states:
        if holds_back(world, group):
            return
        if group.state == "RETRACTING":
            world.fire("group", group.number, "retracted")
        else:
            good = group.verdict == "done"
            world.fire("group", group.number, "end_done" if good else "end_exited")


def holds_back(world: World, group: Group) -> bool:
    """Whether something of the group could still run: leftovers of a failed start cannot."""
    starts = {job.start for job in world.members(group)} - {0}
    if any(world.things["start"][number].state == "OPEN" for number in starts):
        return True
    live = world.live_of([number for job in world.members(group) for number in job.launches])
    return any(world.things["start"][launch.start].passed for launch in live)


def verdict(world: World, group: Group) -> None:
    """All that ran has ended: the success policy."""
    ended = [job.ok for job in world.members(group) if job.state == "FINISHED"]
    good = bool(ended) and (all(ended) or (group.success == "any" and any(ended)))
    world.fire("group", group.number, "end_done" if good else "end_exited")


# -- the rest ---------------------------------------------------------------------------------
def judge_rest(world: World) -> None:
    """Draining hosts that are empty close; instances that are missing and free are gone."""
    for name, admin in world.things["admin"].items():
        if admin.state == "DRAINING" and is_idle(world, name):
            world.fire("admin", name, "empty")
    for key, instance in world.things["instance"].items():
        if instance.state == "LOST" and not world.holders(key):
            world.fire("instance", key, "vanish")


def is_idle(world: World, host: str) -> bool:
    """Whether nothing of anybody is on the host."""
    return not any(one.host == host for one in world.live_launches()) and not any(
        one.host == host and one.state in LIVE_ATTACHMENT
        for one in world.things["attachment"].values()
    )
