"""How fast the window is: `python -m tests.benchmarks.window_speed [--scale 2] [SCENE ...]`.

Each scene runs in a process of its own, on one core where the system lets it choose, offscreen
unless QT_QPA_PLATFORM says otherwise; under a virtual screen:
`QT_QPA_PLATFORM=xcb xvfb-run -s "-screen 0 3000x2000x24" python -m tests.benchmarks.window_speed`.
What the goals of the window ask for is printed beside what was measured, as Markdown. Nothing
here is a test; RESULTS.md has the figures of one machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A number that a scene measures, and what it should be.

    Attributes:
        scene: which scene measures it.
        number: its name in what the scene tells.
        text: in words.
        limit: what it should be at scale 1.
        limit_at_2: what it should be at scale 2; None: the same.
        is_least: whether the limit is the least, not the most.
    """

    scene: str
    number: str
    text: str
    limit: float
    limit_at_2: float | None = None
    is_least: bool = False

    def limit_at(self, scale: float) -> float:
        """The limit at a scale of the screen."""
        return self.limit if self.limit_at_2 is None or scale < 2 else self.limit_at_2

    def is_met(self, value: float, scale: float) -> bool:
        """Whether a measured number is as it should be."""
        limit = self.limit_at(scale)
        return value >= limit if self.is_least else value <= limit


GOALS = (
    Goal("heads", "step_ms", "step, 12 layers × 12 heads × 1,024 keys, all docks: ms", 8, 16),
    Goal("slots", "step_ms", "step, 4,096 slots × 12 layers, all docks: ms", 8, 16),
    Goal("scrub", "jump_ms", "jump to any of 2,000 steps: ms", 33),
    Goal("scrub", "jump_p99_ms", "the same, 99 of 100: ms", 33),
    Goal("play", "steps_per_s", "playing the tiny model: painted steps/s", 60, is_least=True),
    Goal("play", "key_ms", "key pressed meanwhile until handled: ms", 50),
    Goal("play", "key_p99_ms", "the same, 99 of 100: ms", 50),
    Goal("start", "first_paint_s", "start to first window: s", 0.6),
    Goal("start", "ready_s", "start to engine ready: s", 2),
    Goal("start", "gap_s", "longest gap of a 5 ms beat in between: s", 0.25),
    Goal("memory", "added_mb", "2,000 steps of the tiny model, 128 slots: MB added", 150),
)
SCENES = tuple(dict.fromkeys(goal.scene for goal in GOALS))
"""Their names; `window_scenes` has the code."""


def measured(scene: str, scale: float) -> dict[str, float]:
    """What a scene measures, in a process of its own with settings of its own."""
    with tempfile.TemporaryDirectory() as settings:
        environment = {
            "QT_QPA_PLATFORM": "offscreen",
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "QT_SCALE_FACTOR": f"{scale:g}",
            "XDG_CONFIG_HOME": settings,
        }
        command = [sys.executable, "-m", "tests.benchmarks.window_scenes", scene]
        done = subprocess.run(  # noqa: S603  (our own module)
            command, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{scene}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def rows(scene: str, scale: float) -> Iterator[str]:
    """The rows of the table for a scene, and its other numbers in the last one."""
    numbers = measured(scene, scale)
    for goal in GOALS:
        if goal.scene == scene:
            value = numbers.pop(goal.number)
            sign = "≥" if goal.is_least else "≤"
            met = "met" if goal.is_met(value, scale) else "**missed**"
            yield f"| {goal.text} | {sign} {goal.limit_at(scale):g} | {value:.4g} | {met} |"
    others = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
    if others:
        yield f"| ({scene}: {others}) | | | |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(SCENES))
    parser.add_argument("--scale", type=float, default=1.0, help="pixels per logical pixel")
    chosen = parser.parse_args()
    platform = os.environ.get("QT_QPA_PLATFORM", "offscreen")
    print(f"{platform}, scale {chosen.scale:g}\n")
    print("| what | goal | here | |\n| --- | --- | --- | --- |")
    for scene in chosen.scenes or SCENES:
        for row in rows(scene, chosen.scale):
            print(row, flush=True)


if __name__ == "__main__":
    main()
