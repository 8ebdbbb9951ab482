"""Gang groups: submit, lint, list, show, wait, kill, suspend, resume, ..."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from xcecli import doing, say
from xcecli.commands.jobs import explain as explain_any
from xcecli.commands.jobs import history as history_any
from xcecli.commands.jobs import resume as resume_any
from xcecli.commands.jobs import suspend as suspend_any
from xcecli.commands.jobs import wait as wait_any
from xcecli.commands.shape import CONTEXT, Family, command, epilog, fetch, show
from xcecli.doing import format_of, hosts_text, named, new_key, place_of, quoted, wait_for
from xcecli.line.body import environment
from xcecli.manifest_text import TEXT_BYTES_MAX, Marked, TextError, load_yaml
from xcecli.say import Failure
from xcecli.wire import call, working_directory


@click.group(
    "group",
    cls=Family,
    context_settings=CONTEXT,
    epilog=epilog(
        "  xcecli group lint pretrain.yaml\n"
        "  xcecli group submit --dry-run pretrain.yaml\n"
        "  xcecli group submit --wait pretrain.yaml"
    ),
)
def group() -> None:
    """Gangs: jobs that are placed together or not at all."""


# -- submit and lint ------------------------------------------------------------------------------


@command(
    "submit",
    "  xcecli group submit pretrain.yaml\n"
    "  xcecli group submit --dry-run pretrain.yaml\n"
    "  xcecli group submit --wait - < pretrain.yaml",
)
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="say where it would be placed now; submit nothing")
@click.option("-K", "--wait", "wait_", is_flag=True, help="wait for its end, exit with its code")
@click.option("--id", "id_", is_flag=True, help="print only the id")
@click.option("--env", default="all", metavar="LIST", help="all, none, or a list: all,~SECRET,A=1")
@click.option("--cwd", default="", metavar="DIR", help="directory of the members [this one]")
def group_submit(values: dict[str, Any], file: str, dry_run: bool, wait_: bool, **more: Any) -> int:
    """Submit a gang by its manifest.

    A manifest is YAML or JSON; - is the standard input.
    """
    source, marked = _read(file)
    _refuse_faults(file, source, marked)
    _tell_remarks(file, marked)
    place = place_of(values)
    path = "/v1/groups:dry-run" if dry_run else "/v1/groups"
    key = "" if dry_run else new_key()
    unsure = f"whether the gang was submitted is not known; look with `xcecli group list` ({key})"
    body = _body(marked.document, more["env"], more["cwd"])
    status, told = call(place, "POST", path, body, key=key, unsure=unsure)
    if status >= 300:
        raise _refused(file, source, marked, (status, told))
    if dry_run:
        return _tell_dry_run(values, told)
    if format_of(values) == "json":
        print(json.dumps(told))
    elif more["id_"]:
        print(told["group"])
    else:
        out = sys.stderr if wait_ else sys.stdout
        count = f"{len(told['jobs'])} members"
        print(
            f"Group <{told['group']}> is submitted to queue <{told['queue']}>, {count}.", file=out
        )
    return wait_for(place, "groups", told["group"]) if wait_ else say.OK


def _body(document: Any, env: str, cwd: str) -> dict[str, Any]:
    umask = os.umask(0o077)
    os.umask(umask)
    where = os.path.abspath(os.path.join(working_directory(), cwd))
    return {"manifest": document, "cwd": where, "umask": umask, "env": environment(env)}


def _refuse_faults(file: str, source: str, marked: Marked) -> None:
    """Texts inside and names of the site are the controller's to judge; the rest is seen here."""
    from xce.model.manifest import lint
    from xcecli.lint import report

    faults = lint(marked.document)
    if faults:
        told = "\n".join(report(file, source, marked, fault) for fault in faults)
        raise Failure(told, say.REFUSED, "nothing was submitted")


def _tell_remarks(file: str, marked: Marked) -> None:
    """What is taken and acted on in part only."""
    from xce.model.manifest import remarks

    for note in remarks(marked.document):
        line, column = marked.mark(note.path)
        say.tell(f"{file}:{line}:{column}: remark: {note}")


def _refused(file: str, source: str, marked: Marked, answer: tuple[int, dict[str, Any]]) -> Failure:
    """A refusal of the controller, with the place in the file that its pointer names."""
    from xce.model.manifest import Fault
    from xcecli.lint import report

    status, told = answer
    lines = []
    for error in told.get("errors") or [told]:
        pointer = str(error.get("pointer") or "")
        path = tuple(int(step) if step.isdigit() else step for step in pointer.split("/")[1:])
        if not path or path not in marked.marks:
            return say.failure_of(status, told, "Group not submitted.")
        fault = Fault(
            code=str(error["code"]),
            path=path,
            message=str(error["detail"]),
            expected=str(error.get("expected") or ""),
            hint=str(error.get("hint") or ""),
            text=str(error.get("text") or ""),
            column=int(error.get("column") or 0),
        )
        lines.append(report(file, source, marked, fault))
    return Failure("\n".join(lines), say.exit_code_of(status), "nothing was submitted")


def _tell_dry_run(values: dict[str, Any], told: dict[str, Any]) -> int:
    if format_of(values) == "json":
        print(json.dumps(told))
    elif told["fits"]:
        print("It would be placed now:")
        for member in told["members"]:
            print(f"  {member['role']} {member['rank']}: {hosts_text(member['hosts'])}")
    else:
        print(f"It would {'never run' if told.get('never') else 'wait'}: {told['reason']}")
    return say.FAILED if told.get("never") else say.OK


@command("lint", "  xcecli group lint pretrain.yaml\n  xcecli group lint --json - < pretrain.yaml")
@click.argument("file", metavar="FILE")
def group_lint(values: dict[str, Any], file: str) -> int:
    """Check a manifest without a controller.

    Every fault is told with line, column and caret. Names of queues, levels and of the site's own
    types are known to the controller alone; `group submit --dry-run` checks them, too.
    """
    from xcecli.lint import faults_of, report

    try:
        source, marked = _read(file)
    except Unreadable as failure:
        if format_of(values) == "json":
            print(json.dumps({"ok": False, "faults": [failure.fault]}))
        raise
    faults = faults_of(marked)
    if format_of(values) == "json":
        listed = [
            {"field": fault.where(), "message": fault.message, "expected": fault.expected}
            | {"hint": fault.hint, "code": fault.code}
            | dict(zip(("line", "column"), marked.mark(fault.path), strict=True))
            for fault in faults
        ]
        print(json.dumps({"ok": not faults, "faults": listed}))
    else:
        for fault in faults:
            print(say.lines(report(file, source, marked, fault)))
        if not faults:
            _tell_remarks(file, marked)
            members = sum(int(role.get("count", 1)) for role in marked.document["roles"])
            roles = len(marked.document["roles"])
            print(f"{file}: ok, {_count(roles, 'role')}, {_count(members, 'member')}")
    return say.REFUSED if faults else say.OK


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class Unreadable(Failure):
    """A text that is no manifest's spelling; `fault` has the form of a lint's."""

    def __init__(self, file: str, source: str, error: TextError) -> None:
        lines = source.splitlines()
        shown = say.caret(lines[error.line - 1], error.column) if error.line <= len(lines) else ""
        place = f"{file}:{error.line}:{error.column}" if error.line else file
        said = f"{place}: {error.message}"
        super().__init__(said, say.REFUSED, error.hint, shown if error.line else "")
        self.fault: dict[str, Any] = {"field": "", "message": error.message, "expected": ""}
        self.fault |= {"hint": error.hint}
        self.fault |= {"code": "unreadable", "line": error.line, "column": error.column}


def _read(file: str) -> tuple[str, Marked]:
    try:
        if file == "-":
            source = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1).decode()
        else:
            with open(file, "rb") as stream:
                source = stream.read(TEXT_BYTES_MAX + 1).decode()
        return source, load_yaml(source)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", say.USAGE) from None
    except UnicodeDecodeError:
        raise Failure(f"{file}: not UTF-8", say.REFUSED) from None
    except TextError as error:
        raise Unreadable(file, source, error) from None


# -- look -----------------------------------------------------------------------------------------


@command("list", "  xcecli group list\n  xcecli group list --all --json")
@click.option("-a", "--all", "all_", is_flag=True, help="those that have ended, too")
@click.option("-u", "--user", default="", metavar="USER", help="only this user's")
def group_list(values: dict[str, Any], all_: bool, user: str) -> int:
    """List gangs that have not ended."""
    columns = (
        ("GROUP", 7),
        ("USER", 7),
        ("STATE", 10),
        ("QUEUE", 10),
        ("MEMBERS", 7),
        ("NAME", 16),
        ("JOBS", 24),
        ("SUBMIT_TIME", 12),
    )
    answer = fetch(values, f"/v1/groups?all={'true' if all_ else 'false'}&user={quoted(user)}")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No group found" if all_ else "No unfinished group found")
        return say.OK
    return show(answer, format_of(values), columns, _group)


def _group(one: dict[str, Any]) -> list[str]:
    return [
        one["id"],
        one["user"],
        one["state"],
        one["queue"],
        str(one["members"]),
        one["name"],
        " ".join(f"{stat}:{count}" for stat, count in one["stats"].items()) or "-",
        say.when(one["submit_us"]),
    ]


@command("show", "  xcecli group show g7\n  xcecli group show --json g7")
@click.argument("name", metavar="GROUP")
def group_show(values: dict[str, Any], name: str) -> int:
    """Show a gang: its start, its claims, its members."""
    if name and not name.startswith("g"):
        said = f"Group <{say.line(name)}>: No matching group found"
        raise Failure(said, say.NOT_FOUND, f"a job is shown by `xcecli job {say.line(name)}`")
    told = fetch(values, f"/v1/groups/{named(name)}/members")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    print("\n".join(map(say.line, _about_lines(told["group"]))))
    columns = (("ROLE", 12), ("RANK", 4), ("JOBID", 7), ("STAT", 5), ("HOSTS", 20), ("LAUNCH", 9))
    print(say.table(columns, [_member(member) for member in told["members"]], wide=True))
    return say.OK


def _about_lines(about: dict[str, Any]) -> list[str]:
    """A gang, its start and its claims."""
    start = about["start"]
    lines = [
        (
            f"Group <{about['id']}>, Name <{about['name']}>, User <{about['user']}>, "
            f"State <{about['state']}>, Queue <{about['queue']}>, {about['members']} members"
        )
    ]
    if start:
        lines.append(
            f"  start {start['number']} ({start['kind']}): {start['state']}, "
            f"{start['armed']} of {start['launches']} ARMED, "
            f"{start['ready']} of {len(start['attachments'])} READY"
        )
    lines += [f"  {line}" for line in (about["reason"], about["last_failure"]) if line]
    if about.get("silence"):
        lines.append(f"  {about['silence']['text']}")
    for claim in about["claims"]:
        values = " ".join(one["value"] or one["state"] for one in claim["attachments"])
        lines.append(
            f"  claim {claim['id']} {claim['name']} ({claim['type']}): {values or 'bound'}"
        )
    return lines


def _member(member: dict[str, Any]) -> list[str]:
    launches = sorted({launch["state"] for launch in member["launches"]})
    return [
        member["role"],
        str(member["rank"]),
        member["id"],
        member["stat"],
        hosts_text(member["hosts"]) or member["ended_on"] or "-",
        ",".join(launches) or "-",
    ]


@command("kill", "  xcecli group kill g7\n  xcecli group kill --json g7 g8")
@click.argument("names", nargs=-1, required=True, metavar="GROUP...")
def group_kill(values: dict[str, Any], names: tuple[str, ...]) -> int:
    """End gangs: what runs of them is stopped."""
    for name in names:
        if not name.startswith("g"):
            raise Failure(f"Group <{say.line(name)}>: No matching group found", say.NOT_FOUND)
    return doing.kill(values, list(names))


group.add_command(group_submit)
group.add_command(group_lint)
group.add_command(group_list)
group.add_command(group_show)
group.add_command(group_kill)
group.add_command(wait_any)
group.add_command(suspend_any)
group.add_command(resume_any)
group.add_command(explain_any)
group.add_command(history_any)
