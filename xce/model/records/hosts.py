"""Records of hosts and of what is on them."""

from xce.model.host import HostFacts
from xce.model.records.form import Body
from xce.model.waiting.island import IslandFacts


class HostRegistered(Body, frozen=True, gc=False, kw_only=True):
    """A host joined (again): facts, boot id and the incarnation it got."""

    host: str
    incarnation: int
    boot_id: str
    facts: HostFacts
    agent: str = ""
    can: tuple[str, ...] = ()


class HostReconciled(Body, frozen=True, gc=False, kw_only=True):
    """A host listed its launches and attachments in this epoch."""

    host: str
    incarnation: int
    launches: tuple[int, ...]
    attachments: tuple[int, ...]


class HostChanged(Body, frozen=True, gc=False, kw_only=True):
    """A host's liveness or admin state moved; `why` is for people. `quiet_us` is how long it was
    not heard when leases were over."""

    host: str
    event: str
    why: str = ""
    quiet_us: int = 0


class IslandPublished(Body, frozen=True, gc=False, kw_only=True):
    """An island was published, is otherwise, or was `withdrawn`."""

    island: str
    facts: IslandFacts
    withdrawn: bool = False


class InstanceChanged(Body, frozen=True, gc=False, kw_only=True):
    """An instance's state moved; `why` is for people."""

    instance: str
    event: str
    why: str = ""
