"""Reservations: what is kept for somebody from a moment on, as the log knows it."""

from msgspec import Struct

from xce.model.placing import Share


class Reservation(Struct, frozen=True, gc=False, kw_only=True):
    """`shares` are kept for the holder (a gang or a plain job) from `from_us` on; `until_us` is
    when it is over whatever happens; `end_us` when the holder is expected to be done (the largest
    number there is where nobody knows). `kind`: backfill, preempt or advance.

    `cause` says why it was moved the last time and `slips` how often that was to a later moment;
    `lsn` is the record that it is of now. `victims` are the jobs that give way for it, which are
    stopped at `stop_us` (0: they are already). `users` may join an advance one, which is known
    by its `name`.
    """

    number: int
    kind: str
    group: int = 0
    job: int = 0
    name: str = ""
    owner: int = -1
    from_us: int
    until_us: int
    end_us: int
    shares: tuple[Share, ...]
    cause: str = ""
    slips: int = 0
    set_us: int = 0
    lsn: int = 0
    victims: tuple[int, ...] = ()
    stop_us: int = 0
    users: tuple[int, ...] = ()

    @property
    def holder(self) -> tuple[int, int]:
        """The gang or plain job that it is for; (0, 0) where it is for a name."""
        return (self.group, self.job)
