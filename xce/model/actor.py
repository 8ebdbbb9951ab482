"""Who asks: identity is part of every command from the first one on.

Privileges, in rising order: user, operator, admin. Hosts, providers and the controller itself
are actors of their own kind and never stand in for a user.
"""

from msgspec import Struct

USER, OPERATOR, ADMIN, HOST, PROVIDER, SYSTEM = (
    "user",
    "operator",
    "admin",
    "host",
    "provider",
    "system",
)


class Actor(Struct, frozen=True, gc=False, kw_only=True):
    """An authenticated asker. `name` is a user's or a host's name."""

    kind: str
    uid: int = -1
    name: str = ""

    def text(self) -> str:
        """How records name the actor: `user:1000`, `host:n1`, `system`."""
        if self.kind in (HOST, PROVIDER):
            return f"{self.kind}:{self.name}"
        return self.kind if self.kind == SYSTEM else f"{self.kind}:{self.uid}"

    def may_change(self, owner: int) -> bool:
        """Whether the actor may change what `owner` owns."""
        return self.kind in (OPERATOR, ADMIN, SYSTEM) or (self.kind == USER and self.uid == owner)


CONTROLLER = Actor(kind=SYSTEM)
