"""What the demo shows, folded from the records of the log and from nothing else.

Records come as the API tells them (`/v1/events`): plain mappings. A scene knows where members
were placed, which attachments are READY and which launches are ARMED, and gives for each record
the lines that a reader without a terminal gets. It draws nothing and asks nobody.
"""

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Lines = list[str]


class Member:
    """One launch of a member: on one host, with its devices and its state."""

    def __init__(self, name: str, host: str, tasks: int, gpus: list[str]) -> None:
        self.name, self.host, self.tasks, self.gpus = name, host, tasks, gpus
        self.state = "PREPARING"


class Attached:
    """A claim on its way to be usable on one host."""

    def __init__(self, name: str, type_: str, host: str) -> None:
        self.name, self.type, self.host = name, type_, host
        self.state, self.value = "PROVISIONING", ""


class Scene:
    """Everything that is shown of one gang."""

    def __init__(self, lsn: int, group: str, hosts: list[str]) -> None:
        self.lsn = lsn
        self.began_us = 0
        self.at_us = 0
        self.hosts = hosts
        self.group = group
        self.state = "PENDING"
        self.verdict = ""
        self.members: dict[int, Member] = {}
        self.attached: dict[int, Attached] = {}
        self.barrier = ""

    def take(self, record: Record) -> Lines:
        """Fold one record; what there is to say of it."""
        self.lsn, self.at_us = record["lsn"], record["at_us"]
        fold = _FOLDS.get(record["kind"])
        return fold(self, record["body"]) if fold else []

    @property
    def is_over(self) -> bool:
        """Whether the gang has ended and its attachments are gone."""
        return bool(self.verdict) and all(
            one.state in ("RELEASED", "FAILED") for one in self.attached.values()
        )

    def _is_ours(self, number: int) -> bool:
        return self.group == f"g{number}"

    def _submitted(self, body: Record) -> Lines:
        if not self._is_ours(body["group"]):
            return []
        self.began_us = self.at_us
        return [f"{self.group} {body['name']} is submitted: {_roles(body['roles'])}"]

    def _passed(self, body: Record) -> Lines:
        self.state = "RUNNING"
        self.barrier = f"passed: {body['armed']} ARMED, {body['ready']} READY"
        return [f"BARRIER {self.barrier}; now they may run"]

    def _opened(self, body: Record) -> Lines:
        names = [self._name(number) for number in body["launches"]]
        return [f"next wave may run: {', '.join(names)}"]

    def _ready(self, body: Record) -> Lines:
        return [f"role {body['role']} is ready"]

    def _armed(self, body: Record) -> Lines:
        return self._moved(body["launch"], "ARMED", "armed before exec")

    def _started(self, body: Record) -> Lines:
        return self._moved(body["launch"], "RUNNING", "runs")

    def _failed(self, body: Record) -> Lines:
        self.state = "PENDING"
        return [f"start failed, {body['reason']}: {', '.join(body['missing'])}"]

    def _over(self, body: Record) -> Lines:
        if not self._is_ours(body["group"]):
            return []
        self.state = self.verdict = body["verdict"]
        return [f"{self.group} is over: {body['verdict']} {body['reason']}".strip()]

    def _planned(self, body: Record) -> Lines:
        lines: Lines = []
        for plan in body["groups"]:
            if not self._is_ours(plan["group"]):
                continue
            self.state = "STARTING"
            members = {member["job"]: member for member in plan["members"]}
            claims = {claim["claim"]: claim for claim in plan["claims"]}
            for launch in plan["launches"]:
                member = self._member(members[launch["job"]], launch, plan["claims"])
                self.members[launch["launch"]] = member
                lines.append(_placed(member))
            for one in plan["attachments"]:
                claim = claims[one["claim"]]
                self.attached[one["attachment"]] = Attached(
                    claim["name"], claim["type"], one["host"]
                )
        return lines

    def _member(self, member: Record, launch: Record, claims: list[Record]) -> Member:
        shares = [share for share in member["shares"] if share["host"] == launch["host"]]
        keys = [key for share in shares for key in share["instances"]]
        keys += [
            holding["instance"]
            for claim in claims
            if claim["job"] == member["job"] and claim["type"] == "gpu"
            for holding in claim["holdings"]
            if holding["host"] == launch["host"]
        ]
        gpus = [key.rsplit("/", 1)[-1].rsplit("-", 1)[-1] for key in keys]
        tasks = sum(share["tasks"] for share in shares)
        return Member(f"{member['role']}[{member['rank']}]", launch["host"], tasks, gpus)

    def _attachment(self, body: Record) -> Lines:
        one = self.attached.get(body["attachment"])
        if one is None:
            return []
        one.state = body["outcome"].upper()
        one.value = body["value"] or body["message"] or one.value
        if one.state == "RELEASED":
            return []
        value = f" {one.value}" if one.value else ""
        return [f"{one.name} ({one.type}) on {one.host} is {one.state}{value}"]

    def _moved(self, launch: int, state: str, text: str) -> Lines:
        member = self.members.get(launch)
        if member is None:
            return []
        member.state = state
        return [f"{member.name} on {member.host} {text}"]

    def _ended(self, body: Record) -> Lines:
        member = self.members.get(body["launch"])
        if member is None:
            return []
        good = body["how"] == "exited" and body["code"] == 0
        member.state = "EXITED 0" if good else f"{body['how'].upper()} {body['code']}"
        return [f"{member.name} on {member.host} {body['how']} with {body['code']}"]

    def _name(self, launch: int) -> str:
        member = self.members.get(launch)
        return member.name if member else str(launch)


_FOLDS: dict[str, Callable[[Scene, Record], Lines]] = {
    "GroupSubmitted": Scene._submitted,
    "Planned": Scene._planned,
    "AttachmentReported": Scene._attachment,
    "LaunchArmed": Scene._armed,
    "BarrierPassed": Scene._passed,
    "RoleReady": Scene._ready,
    "WaveOpened": Scene._opened,
    "LaunchStarted": Scene._started,
    "LaunchEnded": Scene._ended,
    "StartFailed": Scene._failed,
    "GroupEnded": Scene._over,
}


def _roles(spans: list[Any]) -> str:
    """Spans are arrays: name, first job, count."""
    return ", ".join(f"{count} {name}" for name, _, count in (_span(span) for span in spans))


def _span(span: Any) -> tuple[str, int, int]:
    if isinstance(span, dict):
        return span["name"], span["first_job"], span["count"]
    return span[0], span[1], span[2]


def _placed(member: Member) -> str:
    gpus = f", GPUs {' '.join(member.gpus)}" if member.gpus else ""
    tasks = f"{member.tasks} task{'s' if member.tasks != 1 else ''}"
    return f"{member.name} is placed on {member.host}: {tasks}{gpus}"
