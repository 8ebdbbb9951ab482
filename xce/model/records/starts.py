"""Records of starts: what agents and providers report, the barrier, the waves."""

from xce.model.records.form import Body


class LaunchArmed(Body, frozen=True, gc=False, kw_only=True):
    """An agent holds a launch's processes, parked before exec."""

    launch: int
    start: int


class AttachmentReported(Body, frozen=True, gc=False, kw_only=True):
    """A provider's result: `outcome` is ready, failed or released; `value` what processes get."""

    attachment: int
    outcome: str
    value: str = ""
    message: str = ""


class BarrierPassed(Body, frozen=True, gc=False, kw_only=True):
    """Every launch was ARMED, every attachment READY, in one evaluation."""

    start: int
    armed: int
    ready: int
    first_wave: tuple[int, ...]


class WaveOpened(Body, frozen=True, gc=False, kw_only=True):
    """The launches of the next wave may exec: their roles' dependencies are ready."""

    start: int
    wave: int
    launches: tuple[int, ...]


class RoleReady(Body, frozen=True, gc=False, kw_only=True):
    """All members of a role met its readiness."""

    start: int
    role: str


class StartFailed(Body, frozen=True, gc=False, kw_only=True):
    """A start did not pass, or broke after its pass; `missing` names the culprits."""

    start: int
    reason: str
    missing: tuple[str, ...]
    broken: bool = False


class LaunchStarted(Body, frozen=True, gc=False, kw_only=True):
    """An agent journalled `started` and let a launch's processes go."""

    launch: int
    started_us: int


class LaunchEnded(Body, frozen=True, gc=False, kw_only=True):
    """A launch is over. `how`: exited, signalled, aborted, lost. `evidence`: who saw it."""

    launch: int
    how: str
    code: int
    cause_of_end: str
    message: str = ""
    evidence: str
    ran: str
    started_us: int = 0
    ended_us: int = 0
    cpu_us: int = 0
    max_rss_bytes: int = 0


class LaunchFrozen(Body, frozen=True, gc=False, kw_only=True):
    """A host has done what `freeze` asks of a launch: odd, none of its processes runs; even, they
    go on."""

    launch: int
    freeze: int
