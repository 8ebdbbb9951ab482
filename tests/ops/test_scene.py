"""What the demo shows is folded from records; the picture and the lines, worked out by hand."""

import io
from typing import Any

import pytest

from xce.ops.demo.scene import Scene
from xce.ops.demo.screen import Screen, picture


def record(lsn: int, kind: str, **body: Any) -> dict[str, Any]:
    return {"lsn": lsn, "at_us": lsn * 100_000, "kind": kind, "body": body}


def launch(number: int, job: int, host: str) -> dict[str, Any]:
    return {"launch": number, "job": job, "host": host}


def member(job: int, role: str, rank: int, host: str, tasks: int) -> dict[str, Any]:
    shares = [{"host": host, "tasks": tasks, "instances": []}]
    return {"job": job, "role": role, "rank": rank, "shares": shares}


PLAN = {
    "group": 7,
    "members": [member(1, "boss", 0, "n1", 1), member(2, "hand", 0, "n2", 4)],
    "launches": [launch(11, 1, "n1"), launch(12, 2, "n2")],
    "claims": [
        {"claim": 3, "name": "meet", "type": "port", "job": 0, "holdings": []},
        {
            "claim": 4,
            "name": "gpus",
            "type": "gpu",
            "job": 2,
            "holdings": [
                {"host": "n2", "instance": "n2/gpu/GPU-n2-4"},
                {"host": "n2", "instance": "n2/gpu/GPU-n2-5"},
            ],
        },
    ],
    "attachments": [{"attachment": 5, "claim": 3, "host": "n1"}],
}
STORY = (
    record(1, "GroupSubmitted", group=7, name="pair", roles=[["boss", 1, 1], ["hand", 2, 1]]),
    record(2, "Planned", groups=[{**PLAN, "group": 8}, PLAN]),
    record(3, "AttachmentReported", attachment=5, outcome="ready", value="h:1", message=""),
    record(4, "LaunchArmed", launch=11),
    record(5, "LaunchArmed", launch=12),
    record(6, "BarrierPassed", armed=2, ready=1),
    record(7, "LaunchStarted", launch=12),
    record(8, "LaunchEnded", launch=11, how="signalled", code=9),
    record(9, "GroupEnded", group=8, verdict="DONE", reason=""),
)


def test_each_record_gives_its_lines_and_other_gangs_give_none() -> None:
    scene = Scene(0, "g7", ["n1", "n2"])
    assert [scene.take(one) for one in STORY] == [
        ["g7 pair is submitted: 1 boss, 1 hand"],
        [
            "boss[0] is placed on n1: 1 task",
            "hand[0] is placed on n2: 4 tasks, GPUs 4 5",
        ],
        ["meet (port) on n1 is READY h:1"],
        ["boss[0] on n1 armed before exec"],
        ["hand[0] on n2 armed before exec"],
        ["BARRIER passed: 2 ARMED, 1 READY; now they may run"],
        ["hand[0] on n2 runs"],
        ["boss[0] on n1 signalled with 9"],
        [],
    ]
    assert (scene.lsn, scene.verdict, scene.is_over) == (9, "", False)


def test_a_gang_is_over_when_its_attachments_are_gone_too() -> None:
    scene = Scene(0, "g7", [])
    for one in STORY:
        scene.take(one)
    assert scene.take(record(10, "GroupEnded", group=7, verdict="EXITED", reason="signal")) == [
        "g7 is over: EXITED signal"
    ]
    assert not scene.is_over
    gone = {"attachment": 5, "outcome": "released", "value": "", "message": ""}
    assert scene.take(record(11, "AttachmentReported", **gone)) == []
    assert scene.is_over


def test_a_start_that_fails_is_shown_with_what_was_missing() -> None:
    scene = Scene(0, "g7", [])
    told = scene.take(
        record(1, "StartFailed", reason="deadline", missing=["a[0] on n1: PREPARING"])
    )
    assert told == ["start failed, deadline: a[0] on n1: PREPARING"]


def test_the_picture_has_a_line_per_member_and_attachment() -> None:
    scene = Scene(0, "g7", ["n1", "n2"])
    for one in STORY:
        scene.take(one)
    assert picture(scene) == [
        "  hosts      n1, n2",
        "  gang       g7 RUNNING",
        "",
        "  member        host  tasks  GPUs              state",
        "  boss[0]       n1    1      -                 SIGNALLED 9",
        "  hand[0]       n2    4      4 5               RUNNING",
        "",
        "  attachment    host  type       state",
        "  meet          n1    port       READY h:1",
        "",
        "  barrier    passed: 2 ARMED, 1 READY",
    ]


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_color_leaves_the_picture_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, plain = Terminal(), Terminal()
    for out, no_color in ((terminal, ""), (plain, "1")):
        monkeypatch.setenv("NO_COLOR", no_color)
        screen, scene = Screen(out), Scene(0, "g7", ["n1"])
        for one in STORY:
            screen.show(scene, scene.take(one))
    assert "\x1b[36mRUNNING\x1b[0m" in terminal.getvalue()
    assert "RUNNING" in plain.getvalue()
    assert "\x1b[36m" not in plain.getvalue()


def test_a_terminal_is_redrawn_in_place_and_a_file_gets_lines() -> None:
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        screen, scene = Screen(out), Scene(0, "g7", ["n1"])
        for one in STORY[:2]:
            screen.show(scene, scene.take(one))
    drawn = terminal.getvalue()
    assert drawn.count("\x1b[J") == 2
    assert drawn.count("\x1b[8A") == 1
    assert file.getvalue().splitlines() == [
        "   0.000 s  g7 pair is submitted: 1 boss, 1 hand",
        "   0.100 s  boss[0] is placed on n1: 1 task",
        "   0.100 s  hand[0] is placed on n2: 4 tasks, GPUs 4 5",
    ]
