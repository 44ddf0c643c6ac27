"""A real window on a virtual screen, driven by keys and mouse as a person's hand does it.

Skipped where there is no Xvfb, window manager, xdotool or import (of ImageMagick).
"""

import os
import selectors
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from app.theme import LIGHT
from tests.app.program import PRELUDE, ROOT

NEEDED = ("Xvfb", "openbox", "xdotool", "import")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
NO_PLUGIN = "Could not load the Qt platform plugin"
SIZE = "1500x950x24"
PATIENCE_S = 60
TELLING = """
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QListWidget

def prepare(control):
    window = next(w for w in QApplication.topLevelWidgets() if hasattr(w, "message_bar"))
    listed = window.faults.findChild(QListWidget)

    def tell():
        cursor, situation = control.cursor, control.situation()
        if situation.is_busy or not situation.is_ready:
            return
        said = f"step {cursor.selection.step} wrong {cursor.first_wrong} {window.faults.ids}"
        if said != told[-1]:
            told.append(said)
            print(said, flush=True)

    def tell_places():
        window.settled.disconnect(tell_places)
        item = next(
            listed.item(row)
            for row in range(listed.count())
            if listed.item(row).toolTip().startswith("mask-top-left")
        )
        listed.scrollToItem(item)
        box = listed.visualItemRect(item)
        at = listed.viewport().mapToGlobal(QPoint(box.left() + 12, box.center().y()))
        bar = window.message_bar
        corner = bar.mapToGlobal(QPoint(0, 0))
        print("box", at.x(), at.y(), flush=True)
        print("bar", corner.x(), corner.y(), bar.width(), bar.height(), flush=True)

    told = [""]
    window.settled.connect(tell)
    window.settled.connect(tell_places)

sys.exit(main([]))
"""

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed")


class Screen:
    """A virtual screen with a window manager."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", SIZE, "-nolisten", "tcp"]
        self._server = _started(command, pass_fds=(writing,))
        os.close(writing)
        with os.fdopen(reading) as told:
            number = told.readline().strip()
        if not number:
            self.close()
            pytest.skip("Xvfb finds no free display")
        self.environment = {**os.environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
        self._manager = _started(["openbox"], env=self.environment)

    def do(self, *command: str) -> str:
        """Run a tool on the screen; gives what it says."""
        done = subprocess.run(  # noqa: S603  (tools named here)
            list(command),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return done.stdout

    def picture_at_rest(self, path: Path) -> QImage:
        """What is to be seen, a moment after the last line: a picture follows its words."""
        self.do("xdotool", "key", "--delay", "200", "Shift_L", "Shift_L")
        self.do("import", "-window", "root", str(path))
        return QImage(str(path))

    def close(self) -> None:
        """End what was started."""
        for process in (getattr(self, "_manager", None), self._server):
            if process is not None:
                process.terminate()
                process.wait(PATIENCE_S)


class Program:
    """The program on a screen; it tells where it is after each thing that it did."""

    def __init__(self, screen: Screen, settings: Path) -> None:
        environment = {
            **screen.environment,
            "XDG_CONFIG_HOME": str(settings),
            "PYTHONPATH": str(ROOT),
        }
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and our own words)
            [sys.executable, "-c", PRELUDE + TELLING],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._rest = b""
        self.said: list[str] = []

    def wait_for(self, start: str) -> str:
        """The next line that begins so."""
        while (line := self._next_line()) is not None:
            self.said.append(line)
            if line.startswith(start):
                return line
        has_ended = self._process.poll() is not None
        errors = self._process.stderr.read() if has_ended else ""
        if NO_PLUGIN in errors:
            pytest.skip("the libraries of Qt's xcb platform are not installed")
        raise AssertionError(f"no line {start!r} in {self.said}; {errors}")

    def _next_line(self) -> str | None:
        """None: it ended, or says nothing for a long time."""
        while b"\n" not in self._rest:
            if not self._selector.select(PATIENCE_S):
                return None
            chunk = os.read(self._process.stdout.fileno(), 4096)
            if not chunk:
                return None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def end(self) -> tuple[int, str]:
        """Its exit status and what it said of errors."""
        _, errors = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode, errors

    def close(self) -> None:
        """End it where the test did not."""
        self._selector.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=PATIENCE_S)


def _started(
    command: list[str],
    *,
    env: dict[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (tools named here)
        command,
        env=env,
        pass_fds=pass_fds,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    made.close()


@pytest.fixture
def program(screen, tmp_path) -> Iterator[Program]:
    made = Program(screen, tmp_path)
    yield made
    made.close()


def numbers(line: str) -> list[int]:
    return [int(word) for word in line.split()[1:]]


def colours(image: QImage, left: int, top: int, width: int, height: int) -> set[int]:
    places = ((x, y) for x in range(left, left + width) for y in range(top, top + height))
    return {image.pixel(x, y) for x, y in places}


def is_framed(image: QImage, bar: list[int]) -> bool:
    """Whether the lowest line of the message is whole: nothing was painted over it."""
    left, top, width, height = bar
    return colours(image, left + 6, top + height - 1, width - 12, 1) == {LIGHT.dead.rgb()}


def test_a_fault_is_ticked_with_the_mouse_and_followed_with_keys(screen, program, tmp_path):
    program.wait_for("step 3 wrong None ()")
    box, bar = numbers(program.wait_for("box")), numbers(program.wait_for("bar"))
    window = screen.do("xdotool", "search", "--onlyvisible", "--name", "^kvscope$").split()[0]
    screen.do("xdotool", "windowactivate", "--sync", window)

    for key, step in (("Left", 2), ("Left", 1), ("Right", 2)):
        screen.do("xdotool", "key", key)
        program.wait_for(f"step {step} wrong None ()")
        image = screen.picture_at_rest(tmp_path / "hint.png")
        assert is_framed(image, bar), key
    assert LIGHT.alarm.rgb() not in colours(image, 0, 0, image.width(), image.height())

    screen.do("xdotool", "mousemove", str(box[0]), str(box[1]), "click", "1")
    program.wait_for("step 1 wrong 1 ('mask-top-left',)")
    screen.do("xdotool", "key", "F10")
    program.wait_for("step 2 wrong 1 ('mask-top-left',)")
    screen.do("xdotool", "key", "F8")
    program.wait_for("step 1 wrong 1 ('mask-top-left',)")
    image = screen.picture_at_rest(tmp_path / "fault.png")
    assert LIGHT.alarm.rgb() in colours(image, 0, 0, image.width(), image.height())

    screen.do("xdotool", "key", "ctrl+q")
    assert program.end() == (0, "")
