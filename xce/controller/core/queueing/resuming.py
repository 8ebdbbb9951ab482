"""Who was suspended and waits for a plan that gives back what it lent."""

from xce.model.job import Job


class Resuming(dict[tuple[int, int], int]):
    """Who waits for a plan that gives back what it lent: the gang (and no job), or the plain job
    (and no gang), with how many members of it do."""

    def note(self, old: Job | None, new: Job | None) -> tuple[int, int]:
        """A job changed; gives how much was freed and how much more waits by that. Room that was
        kept for a resume may be used by others once it is not asked for any more; a gang of which
        something is let go may be placed."""
        before, after = _waits_to_resume(old), _waits_to_resume(new)
        let_go = old is not None and old.state == "HELD" and new is not None and new.group > 0
        waits = int(let_go and new is not None and new.state == "PENDING")
        if before == after:
            return 0, waits
        if before is not None:
            self._add(before, -1)
        if after is not None:
            self._add(after, 1)
        return int(before is not None), waits + int(after is not None)

    def _add(self, who: tuple[int, int], amount: int) -> None:
        self[who] = self.get(who, 0) + amount
        if not self[who]:
            del self[who]


def _waits_to_resume(job: Job | None) -> tuple[int, int] | None:
    if job is None or not job.resume_us or job.suspension != "SUSPENDED":
        return None
    if job.state not in ("STARTING", "RUNNING"):
        return None
    return (job.group, 0) if job.group else (0, job.key)
