"""Random small clusters with one job that may wait, the numbers of its reason counted anew, and
what a reason's cure says done with the numbers that it gives.

Nothing here is the scheduler's: amounts are looked up in the snapshot host by host.
"""

import random
from collections.abc import Iterator

import numpy as np
from msgspec import structs

from tests.kit.cluster import gpus, held, host, idle_snapshot, job, need, standing, table
from xce.model.placing import Share
from xce.scheduler.reasons import Code, PendReason
from xce.scheduler.sharing.bounds import Bound, HostBound
from xce.scheduler.snapshot import Ask, Snapshot
from xce.scheduler.time.terms import Hold, TimePolicy

SECOND_US = 1_000_000
UNITS = 1 << 30
ON_HOSTS = "few@hosts"


class Patient:
    """A cluster and the one job that it is asked to place."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        entries, taken, down = [], {}, {}
        for i in range(chance.randint(1, 4)):
            name, count = f"h{i}", chance.randint(0, 4)
            slots, mem = chance.randint(1, 6), chance.randint(2, 6)
            block = {"block": chance.choice(("b1", "b2"))}
            entries.append(
                host(name, slots=slots, mem=mem * UNITS, domains=block, instances=gpus(count))
            )
            bits = [bit for bit in range(count) if chance.random() < 0.5]
            used = {"slots": chance.randint(0, slots), "mem": chance.randint(0, mem) * UNITS}
            taken[name] = (bits, used)
            if chance.random() < 0.15:
                down[name] = "host_closed"
        self.hosts = table(*entries)
        snapshot = idle_snapshot(self.hosts)
        for name, (bits, used) in taken.items():
            snapshot = held(snapshot, name, gpu=bits, **used)
        self.snapshot = self._more(standing(snapshot, **down))
        self.ask = self._asked()

    def _more(self, snapshot: Snapshot) -> Snapshot:
        """With limits, a job group, and something reserved."""
        chance = self.chance
        allowed = chance.randint(1, 6)
        few = Bound(name="few", what="slots", allowed=allowed, used=chance.randint(0, allowed))
        count = len(self.hosts.names)
        per_host = np.array([chance.randint(3, 6) for _ in range(count)], dtype=np.int64)
        left = np.array([chance.randint(0, int(most)) for most in per_host], dtype=np.int64)
        on_hosts = HostBound(name="each", what="slots", allowed=per_host, free=left)
        limit = chance.randint(1, 2)
        return structs.replace(
            snapshot, now_us=1000 * SECOND_US, bounds=(few,), host_bounds={ON_HOSTS: on_hosts},
            free={**snapshot.free, ON_HOSTS: left}, time_policies={"": TimePolicy()},
            job_groups={"/a": (chance.randint(0, limit), limit)},
            holds=tuple(self._holds(snapshot)),
        )  # fmt: skip

    def _holds(self, snapshot: Snapshot) -> Iterator[Hold]:
        if self.chance.random() < 0.5:
            return
        shares = []
        for i, name in enumerate(self.hosts.names):
            slots = int(snapshot.free["slots"][i])
            if slots:
                shares.append(Share(host=name, tasks=slots, counters=(("slots", slots),)))
        from_us = (1000 + self.chance.choice((0, 0, 5, 30, 50))) * SECOND_US
        if shares:
            yield Hold(
                number=1, job=99, who="99", queue="normal", from_us=from_us,
                end_us=from_us + 100 * SECOND_US, shares=tuple(shares),
            )  # fmt: skip

    def _asked(self) -> Ask:
        chance = self.chance
        needs = need(
            gpu=chance.choice((0, 0, 1, 2)), mem=chance.choice((0, 0, 1, 2)) * UNITS,
            one_host=chance.random() < 0.5,
        )  # fmt: skip
        ask = job(1, needs, tasks=chance.randint(1, 5), required=chance.choice(("", "", "block")))
        few = chance.random()
        return structs.replace(
            ask,
            length_us=chance.choice((0, 10, 200)) * SECOND_US,
            limits=(0,) if few < 0.3 else (),
            host_limits=((ON_HOSTS, "slots"),) if 0.3 < few < 0.5 else (),
            job_group="/a" if few > 0.8 else "",
        )

    # -- counted anew ------------------------------------------------------------------------------
    def usable(self) -> list[int]:
        return [i for i, word in enumerate(self.snapshot.standing) if not word]

    def amount(self, what: str, i: int, *, empty: bool = False) -> int:
        """What a host has of something, free or in all."""
        if what == "gpu":
            known = sum(1 << bit for bit in self.hosts.instances.get("gpu", ({},) * 9)[i])
            free = self.snapshot.free_masks.get("gpu", (0,) * 9)[i]
            return bin(known if empty else free).count("1")
        if what == ON_HOSTS:
            bound = self.snapshot.host_bounds[ON_HOSTS]
            return int((bound.allowed if empty else bound.free)[i])
        column = (self.hosts.totals if empty else self.snapshot.free)[what]
        return int(column[i])

    def units(self, i: int, *, empty: bool = False) -> int:
        """How many tasks a host has room for, all that they ask for counted."""
        role = self.ask.roles[0]
        each = {"slots": 1, **dict(role.need.per_task)}
        each |= {item.type: item.count_per_task for item in role.need.instances}
        each |= {name: 1 for name, _ in self.ask.host_limits}
        return min(self.amount(name, i, empty=empty) // number for name, number in each.items())

    def could(self, i: int) -> bool:
        """Whether the host could give, one by one, what must come from one host."""
        role = self.ask.roles[0]
        times = role.tasks if role.need.span_hosts == 1 else 1
        each = {"slots": 1, **dict(role.need.per_task)}
        each |= {item.type: item.count_per_task for item in role.need.instances}
        return all(self.amount(n, i, empty=True) >= times * number for n, number in each.items())

    def room(self, hosts: list[int], *, empty: bool = False) -> int:
        return sum(self.units(i, empty=empty) for i in hosts)

    def wrong(self, why: PendReason) -> str:
        """What of the reason's numbers is not as counted here; "" where all is."""
        counted = self._counted(why)
        said = (why.needed, why.available)
        return "" if counted in (None, said) else f"{why.code}: says {said}, counted {counted}"

    def _counted(self, why: PendReason) -> tuple[int, int] | None:
        usable, every = self.usable(), list(range(len(self.hosts.names)))
        needed = self.ask.roles[0].tasks
        block = self.hosts.domains["block"]
        never = why.code in (Code.NEVER_FITS, Code.CLUSTER_NEVER_FITS, Code.DOMAIN_NEVER_FITS)
        hosts = every if never else usable
        if why.code in (Code.SHORT_ON_HOST, Code.NEVER_FITS):
            able = [i for i in hosts if self.amount(why.what, i, empty=True) >= why.needed]
            most = max(self.amount(why.what, i, empty=never) for i in (hosts if never else able))
            best = self.amount(why.what, self.hosts.index[why.where], empty=never)
            return why.needed, most if best == most else -1
        if why.code in (Code.MEMBERS_SHORT, Code.CLUSTER_NEVER_FITS):
            return needed, self.room(hosts, empty=never)
        if why.code in (Code.DOMAIN_SHORT, Code.DOMAIN_NEVER_FITS):
            rooms = {
                name: self.room([i for i in hosts if block[i] == name], empty=never)
                for name in sorted(set(block))
            }
            return needed, rooms[why.where] if rooms[why.where] == max(rooms.values()) else -1
        if why.code is Code.NO_USABLE_HOST:
            able = [i for i in every if self.could(i)]
            return len(able) if usable else len(every), 0
        if why.where == "each":
            bound = self.snapshot.host_bounds[ON_HOSTS]
            free = bound.allowed if why.code is Code.LIMIT_NEVER else bound.free
            return why.needed, max(
                int(free[i]) for i in (every if free is bound.allowed else usable)
            )
        if why.code in (Code.LIMIT_REACHED, Code.LIMIT_NEVER):
            (few,) = self.snapshot.bounds
            return (needed, few.allowed) if why.used == few.used else None
        if why.code is Code.JOB_GROUP_LIMIT:
            started, limit = self.snapshot.job_groups["/a"]
            return limit, started
        (hold,) = self.snapshot.holds or (None,)
        if hold is not None and why.code in (Code.WOULD_DELAY, Code.NO_RUN_LIMIT):
            wait_s = (hold.from_us - self.snapshot.now_us) // SECOND_US
            return self.ask.length_us // SECOND_US, wait_s
        return None

    # -- cured -------------------------------------------------------------------------------------
    def cure(self, why: PendReason) -> None:
        """Does what the reason says is missing: as much as it says, where it says."""
        code, snapshot = why.code, self.snapshot
        if code is Code.SHORT_ON_HOST:
            self._free(why.what, self.hosts.index[why.where], why.needed)
        elif code in (Code.MEMBERS_SHORT, Code.DOMAIN_SHORT, Code.SHORT_TOGETHER):
            self._free_more(why)
        elif code is Code.NO_USABLE_HOST:
            self.snapshot = structs.replace(snapshot, standing=("",) * len(self.hosts.names))
        elif code is Code.LIMIT_REACHED:
            (few,) = snapshot.bounds
            used = why.available - why.needed
            self.snapshot = structs.replace(snapshot, bounds=(structs.replace(few, used=used),))
        elif why.where == "each":
            bound = snapshot.host_bounds[ON_HOSTS]
            more = np.maximum(bound.free, why.needed)
            self.limit_on_hosts(np.maximum(bound.allowed, more), more)
        elif code is Code.LIMIT_NEVER:
            (few,) = snapshot.bounds
            few = structs.replace(few, allowed=why.needed, used=0)
            self.snapshot = structs.replace(snapshot, bounds=(few,))
        elif code is Code.JOB_GROUP_LIMIT:
            self.snapshot = structs.replace(snapshot, job_groups={"/a": (0, why.needed)})
        elif code is Code.RESERVED:
            assert why.until_us > snapshot.now_us
            self.snapshot = structs.replace(snapshot, holds=())
        elif code in (Code.WOULD_DELAY, Code.NO_RUN_LIMIT):
            self.ask = structs.replace(self.ask, length_us=why.available * SECOND_US)
        else:
            raise AssertionError(f"no cure is known for {code}")

    def limit_on_hosts(self, allowed: np.ndarray, free: np.ndarray) -> None:
        bound = HostBound(name="each", what="slots", allowed=allowed, free=free)
        self.snapshot = structs.replace(
            self.snapshot,
            host_bounds={ON_HOSTS: bound},
            free={**self.snapshot.free, ON_HOSTS: free},
        )

    def _free(self, what: str, i: int, until: int) -> None:
        """Something on a host ends, until so much is free there."""
        snapshot = self.snapshot
        if what == "gpu":
            row = list(snapshot.free_masks["gpu"])
            for bit in self.hosts.instances["gpu"][i]:
                if bin(row[i]).count("1") < until:
                    row[i] |= 1 << bit
            masks = {**snapshot.free_masks, "gpu": tuple(row)}
            self.snapshot = structs.replace(snapshot, free_masks=masks)
            return
        column = snapshot.free[what].copy()
        column[i] = max(int(column[i]), until)
        self.snapshot = structs.replace(snapshot, free={**snapshot.free, what: column})

    def _free_more(self, why: PendReason) -> None:
        """The next host that is not empty gets empty: in the domain that is named, where it
        could ever do, else anywhere."""
        block = self.hosts.domains["block"]
        mine = [i for i in self.usable() if block[i] == why.where]
        order = mine if mine and self.room(mine, empty=True) >= why.needed else self.usable()
        for i in order:
            names = ("slots", "mem", "gpu", *(name for name, _ in self.ask.host_limits))
            lacks = [n for n in names if self.amount(n, i) < self.amount(n, i, empty=True)]
            if not lacks:
                continue
            for name in lacks:
                if name == ON_HOSTS:
                    bound = self.snapshot.host_bounds[ON_HOSTS]
                    free = bound.free.copy()
                    free[i] = bound.allowed[i]
                    self.limit_on_hosts(bound.allowed, free)
                else:
                    self._free(name, i, self.amount(name, i, empty=True))
            return
        assert dict(why.hosts).get("host_closed"), "all is free and nothing is closed"
        self.snapshot = structs.replace(self.snapshot, standing=("",) * len(self.hosts.names))


__all__ = ["Patient"]
