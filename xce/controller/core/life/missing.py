"""What keeps a start from passing, by name; and where it is."""

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.standing import is_further, shared_claims
from xce.controller.core.life.leases import keeps_lease
from xce.dispatch import barrier
from xce.model.ids import claim_text, job_text
from xce.model.start import Launch, Start


def host_names(state: State, start: Start) -> list[str]:
    """Hosts of a start, each once, sorted."""
    launches = {state.launches[number].host for number in start.launches}
    attachments = {state.attachments[number].host for number in start.attachments}
    return sorted(launches | attachments)


def has_suspect(state: State, start: Start) -> bool:
    """Whether a host of the start is silent and not yet given up."""
    return any(state.hosts[name].liveness == "SUSPECT" for name in host_names(state, start))


def launch_name(state: State, launch: Launch) -> str:
    """A launch for people: `worker[3]` of a gang, `job 12` else."""
    job = state.jobs[launch.job]
    return f"{job.role}[{job.rank}]" if job.group else f"job {job_text(job.key)}"


def missing_of(state: State, start: Start) -> tuple[str, ...]:
    """What keeps the start from passing, named."""
    launches = (state.launches[number] for number in start.launches)
    attachments = (
        state.attachments[number] for number in (*start.attachments, *_shared(state, start))
    )
    hosts = (state.hosts[name] for name in host_names(state, start))
    return barrier.missing(
        [barrier.LaunchSeen(launch_name(state, one), one.state, one.host) for one in launches],
        [
            barrier.AttachmentSeen(
                f"claim {state.claims[one.claim].name} ({claim_text(one.claim)})",
                one.state,
                one.host,
                one.message,
            )
            for one in attachments
        ],
        [
            barrier.HostSeen(
                one.name,
                one.liveness,
                one.reconciled_epoch == state.epoch,
                keeps_lease(state, start, one),
            )
            for one in hosts
        ],
    )


def _shared(state: State, start: Start) -> list[int]:
    """Attachments of claims that members of a further start use, and which are not of it."""
    if not is_further(state, start):
        return []
    roles = {"", *(state.jobs[key].role for key in start.members)}
    claims = shared_claims(state, state.groups[start.group])
    mine = set(start.claims)
    return [
        one
        for claim in claims
        if claim.role in roles and claim.number not in mine
        for one in claim.attachments
    ]
