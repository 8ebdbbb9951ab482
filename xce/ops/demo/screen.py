"""How the demo is shown: on a terminal one picture, redrawn in place; elsewhere line by line."""

import os
import shutil
import sys
from typing import TextIO

from xce.ops.demo.scene import Scene

_UP, _CLEAR = "\x1b[{}A\r", "\x1b[J"
_COLOURS = {
    "READY": "32", "ARMED": "33", "RUNNING": "36", "EXITED 0": "32", "DONE": "32", "RELEASED": "2",
    "PROVISIONING": "2", "PREPARING": "2", "FAILED": "31",
}  # fmt: skip


class Screen:
    """Where the demo talks."""

    def __init__(self, out: TextIO | None = None, *, plain: bool = False) -> None:
        self._out = out or sys.stdout
        self._live = self._out.isatty() and not plain
        self._drawn = 0

    def say(self, text: str = "") -> None:
        """A line that stays."""
        print(text, file=self._out, flush=True)

    def show(self, scene: Scene, news: list[str]) -> None:
        """What a record changed."""
        if self._live:
            self._draw(picture(scene))
            return
        clock = (scene.at_us - scene.began_us) / 1_000_000 if scene.began_us else 0.0
        for line in news:
            self.say(f"  {clock:6.3f} s  {line}")

    def _draw(self, lines: list[str]) -> None:
        width = shutil.get_terminal_size().columns - 1
        back = _UP.format(self._drawn) if self._drawn else ""
        text = "\n".join(_coloured(line[:width]) for line in lines)
        self._out.write(f"{back}{_CLEAR}{text}\n")
        self._out.flush()
        self._drawn = len(lines)


def picture(scene: Scene) -> list[str]:
    """The whole scene as lines."""
    lines = [f"  hosts      {', '.join(scene.hosts)}"]
    lines += [f"  gang       {scene.group} {scene.state}", ""]
    lines.append(f"  {'member':14}{'host':6}{'tasks':7}{'GPUs':18}state")
    for one in scene.members.values():
        gpus = " ".join(one.gpus) or "-"
        lines.append(f"  {one.name:14}{one.host:6}{one.tasks:<7}{gpus:18}{one.state}")
    lines += ["", f"  {'attachment':14}{'host':6}{'type':11}state"]
    for claim in scene.attached.values():
        lines.append(f"  {claim.name:14}{claim.host:6}{claim.type:11}{claim.state} {claim.value}")
    return [*lines, "", f"  barrier    {scene.barrier or 'waits for all of them'}"]


def _coloured(line: str) -> str:
    if os.environ.get("NO_COLOR"):
        return line
    for word, colour in _COLOURS.items():
        line = line.replace(f" {word}", f" \x1b[{colour}m{word}\x1b[0m")
    return line
