"""Figures for Prometheus: few, with bounded labels (queue, state), counted from a settled state.

There is never a label per job or user. Counting walks the jobs, so the text is kept for some
seconds: a scraper that asks more often gets the same one.
"""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from xce import __version__
from xce.api.ports import Engine
from xce.api.show import Shown
from xce.api.usage import Usage

KEPT_S = 5.0


class Metrics(Collector):
    """Counts on demand; `text` is what a scraper gets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._text = b""
        self._made_s = -KEPT_S

    def text(self) -> bytes:
        """The exposition, at most `KEPT_S` old. The state must be settled."""
        now_s = time.monotonic()
        if now_s - self._made_s >= KEPT_S:
            self._text, self._made_s = generate_latest(self._registry), now_s
        return self._text

    def describe(self) -> list[Metric]:
        """Nothing is counted at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All families."""
        state = self._engine.state
        shown, usage = Shown(state), Usage(state)
        jobs: dict[tuple[str, ...], int] = {}
        for job in state.jobs.values():
            key = job.queue, shown.stat(job)
            jobs[key] = jobs.get(key, 0) + 1
        yield _family("xce_jobs", "Jobs in the state.", ("queue", "stat"), jobs)
        groups: dict[tuple[str, ...], int] = {}
        for group in state.groups.values():
            groups[(group.state,)] = groups.get((group.state,), 0) + 1
        yield _family("xce_groups", "Gang groups in the state.", ("state",), groups)
        hosts: dict[tuple[str, ...], int] = {}
        for host in state.hosts.values():
            hosts[(host.liveness,)] = hosts.get((host.liveness,), 0) + 1
        yield _family("xce_hosts", "Hosts by liveness.", ("liveness",), hosts)
        held: dict[tuple[str, ...], int] = {}
        for instance in state.instances.values():
            key2 = instance.type, "held" if instance.key in usage.holders else "free"
            held[key2] = held.get(key2, 0) + 1
        yield _family("xce_instances", "Instances by use.", ("type", "use"), held)
        yield GaugeMetricFamily("xce_log_lsn", "Last committed record.", value=state.lsn)
        yield GaugeMetricFamily("xce_epoch", "Number of this leadership.", value=state.epoch)
        build: dict[tuple[str, ...], int] = {(__version__,): 1}
        yield _family("xce_build_info", "Always 1.", ("version",), build)


def _family(
    name: str, about: str, labels: tuple[str, ...], values: dict[tuple[str, ...], int]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
