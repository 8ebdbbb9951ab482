"""cu[ ] and affinity[ ] as needs: LSF's words in XCE's."""

from xce.model.need import CONFIG, CpuNeed, UnitNeed
from xce.resreq import tree

_LEVELS = {"mcm": "numa", "cpu": "thread"}
ITSELF = "!"


def units_of(cu: tree.Cu | None) -> UnitNeed | None:
    """cu[ ] as a need."""
    if cu is None:
        return None
    return UnitNeed(
        level=cu.type,
        pref=cu.pref or CONFIG,
        most=cu.maxcus,
        least=cu.usablecuslots,
        balance=cu.balance,
        exclusive=(cu.excl_level or ITSELF) if cu.excl else "",
    )


def cpus_of(affinity: tree.Affinity | None) -> CpuNeed | None:
    """affinity[ ] as a need; `mcm` and `cpu` are other words for numa and thread."""
    if affinity is None:
        return None

    def level(word: str) -> str:
        return _LEVELS.get(word, word)

    return CpuNeed(
        unit=level(affinity.unit),
        count=affinity.units,
        times=affinity.count,
        same=level(affinity.same),
        exclusive=level(affinity.exclusive),
        exclusive_scope=(affinity.exclusive_scope or "alljobs") if affinity.exclusive else "",
        bind=level(affinity.cpubind),
        memory=affinity.membind,
        spread=affinity.distribute,
        pack_level=level(affinity.pack_level),
        pack_most=affinity.pack_count,
    )
