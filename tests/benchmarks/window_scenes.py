"""The scenes that `window_speed` measures, each in a process of its own.

A scene opens the whole window with every panel of the registry, at its first size. What is told
as "ms" of a step is time of the window's thread alone, from the cursor's change to the end of
painting: readouts, widgets, bars and pixels.
"""

import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from app.backend import TorchBackend
from app.docks.registry import DOCKS
from app.draft import Draft
from app.fonts import load_fonts
from app.main_window import FIRST_SIZE, MainWindow
from app.messages import Judged, Recorded, Started
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import apply_theme, choose_theme

LIMIT_S = 120.0
N_STEPS = 2000
PLAY_S = 8.0


@contextmanager
def window_open(draft: Draft) -> Iterator[tuple[QApplication, RunControl, MainWindow]]:
    """The window on the screen; the engine is loaded only if the scene begins a run."""
    application = QApplication([])
    load_fonts(application)
    theme = choose_theme("light", application)
    apply_theme(application, theme)
    control = RunControl(TorchBackend, draft)
    window = MainWindow(control, DOCKS, theme, Preferences())
    window.resize(FIRST_SIZE)
    window.show()
    application.processEvents()
    try:
        yield application, control, window
    finally:
        control.close(10_000)


class PaintWatch(QObject):
    """Counts how often the window was asked to paint, and the steps that it showed then."""

    def __init__(self, window: MainWindow) -> None:
        """Watch the window."""
        super().__init__(window)
        self._cursor = window.control.cursor
        self.n_paints = 0
        self.steps: list[int] = []
        self.keys_ms: list[float] = []
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  (a name of Qt)
        """Only look."""
        if event.type() == QEvent.Type.UpdateRequest:
            self.n_paints += 1
            if not self.steps or self.steps[-1] != self._cursor.selection.step:
                self.steps.append(self._cursor.selection.step)
        elif isinstance(event, TimedKey):
            self.keys_ms.append(1e3 * (time.perf_counter() - event.posted))
            return True
        return False


class TimedKey(QKeyEvent):
    """A key that knows when it was pressed."""

    def __init__(self) -> None:
        """A key that is no shortcut."""
        super().__init__(QEvent.Type.KeyPress, Qt.Key.Key_F24, Qt.KeyboardModifier.NoModifier)
        self.posted = time.perf_counter()


def wait(is_over: Callable[[], bool]) -> None:
    """Handle events until something is the case."""
    loop, begun = QEventLoop(), time.monotonic()
    watch = QTimer(loop)

    def look() -> None:
        if is_over() or time.monotonic() - begun > LIMIT_S:
            loop.quit()

    watch.timeout.connect(look)
    watch.start(20)
    loop.exec()
    if not is_over():
        raise SystemExit("it did not happen")


def jumps_ms(application: QApplication, window: MainWindow, steps: Sequence[int]) -> list[float]:
    """Time of this thread for each step looked at, painting included.

    A step that is looked at already changes nothing, and so is left out.
    """
    watch, cursor = PaintWatch(window), window.control.cursor
    durations: list[float] = []
    for step in steps:
        if step == cursor.selection.step:
            continue
        gc.collect(0)
        n_before, begun = watch.n_paints, time.thread_time()
        cursor.go(step)
        while watch.n_paints == n_before:
            application.processEvents()
        application.processEvents()
        durations.append(1e3 * (time.thread_time() - begun))
    return durations


def told(durations: list[float], name: str) -> dict[str, float]:
    """Median, 99th percentile and most."""
    ordered = sorted(durations)
    return {
        f"{name}_ms": statistics.median(ordered),
        f"{name}_p99_ms": ordered[int(0.99 * (len(ordered) - 1))],
        f"{name}_most_ms": ordered[-1],
    }


def show_run(
    control: RunControl, n_layers: int, n_heads: int, spec_changes: dict[str, object], n: int
) -> None:
    """A run of a random model of this shape, made and judged by the real engine."""
    from core.judge import Judge
    from core.session import Session
    from core.spec import RunSpec
    from tests.benchmarks.engine_speed import model_of

    loaded = model_of(n_layers, n_heads, 8 * n_heads, 256, 8192)
    prompt = tuple(random.Random(0).choices(range(256), k=n))
    session = Session(RunSpec("bench", prompt, **spec_changes), loaded)
    trace = session.run()
    verdicts = tuple(Judge(trace, loaded).update())
    text = cache(loaded.tokenizer.token_text)
    cursor = control.cursor
    cursor.begin(Started(1, control.draft, trace.spec, trace.model, text), look_at=None)
    cursor.add_records(Recorded(1, tuple(trace.records), trace.spec))
    cursor.add_verdicts(Judged(1, verdicts))


def heads() -> dict[str, float]:
    """Back and forth around the step with 1,024 keys: 256 of a prompt, then one at a time."""
    with window_open(Draft("tiny-rope", "")) as (application, control, window):
        show_run(control, 12, 12, {"steps": 790, "capacity": 1056}, 256)
        there = list(range(768, 789)) + list(range(788, 748, -1))
        return told(jumps_ms(application, window, there)[1:], "step")


def slots() -> dict[str, float]:
    """4,096 slots in use, of a window that lets tokens go; the prompt in pieces of 512."""
    with window_open(Draft("tiny-rope", "")) as (application, control, window):
        changes = {"steps": 40, "capacity": 4096, "policy": "window", "chunk": 512}
        show_run(control, 12, 1, changes, 4080)
        there = list(range(10, 45)) + list(range(44, 10, -1))
        return told(jumps_ms(application, window, there)[1:], "step")


def scrub() -> dict[str, float]:
    """Jumps to and fro in 2,000 steps of the tiny model."""
    with window_open(_tiny()) as (application, control, window):
        _run(control, N_STEPS)
        there = random.Random(0).choices(range(N_STEPS), k=200)
        return told(jumps_ms(application, window, there), "jump")


def play() -> dict[str, float]:
    """Playing as fast as can be chosen, with keys pressed by another thread meanwhile."""
    with window_open(_tiny()) as (application, control, window):
        _run(control, 4)
        watch, is_over = PaintWatch(window), threading.Event()

        def press() -> None:
            while not is_over.wait(0.037):
                QCoreApplication.postEvent(window, TimedKey())

        TimedKey()  # the first key makes Qt's keyboard, which must be of this thread
        control.player.set_speed(64.0)
        keys = threading.Thread(target=press)
        keys.start()
        begun, used = time.perf_counter(), time.thread_time()
        control.player.play()
        wait(lambda: time.perf_counter() - begun > PLAY_S)
        duration, used = time.perf_counter() - begun, time.thread_time() - used
        control.player.pause()
        is_over.set()
        keys.join()
        application.processEvents()
        n = len(watch.steps)
        numbers = {"steps_per_s": n / duration, "step_ms": 1e3 * used / n}
        return {**numbers, **told(watch.keys_ms, "key")}


def memory() -> dict[str, float]:
    """Resident memory of the window at rest, and after 2,000 steps."""
    with window_open(_tiny()) as (_, control, _):
        _run(control, 1)
        gc.collect()
        idle = _resident_mb()
        _run(control, N_STEPS)
        gc.collect()
        full = _resident_mb()
        return {"added_mb": full - idle, "idle_mb": idle}


def start() -> dict[str, float]:
    """Starts of the program, the first of them only to warm the disk: medians of five.

    The first also leaves the compiled modules, which an installed program has.
    """
    with tempfile.TemporaryDirectory() as compiled:
        every = [_one_start(compiled) for _ in range(6)][1:]
    return {name: statistics.median(one[name] for one in every) for name in every[0]}


def _one_start(compiled: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.window_start", repr(time.time())]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(  # noqa: S603  (our own module)
        command, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _tiny() -> Draft:
    return Draft("tiny-rope", "The kite is outside . ", policy="window", capacity=128)


def _run(control: RunControl, n: int) -> None:
    """Make so many steps, as if they had been asked for one after the other."""
    cursor = control.cursor
    if cursor.n_records == 0:
        control.begin(1, "newest", None)
        wait(lambda: cursor.n_verdicts == 1 and not control.situation().is_busy)
    if n > 1:
        control.run(replace(control.draft), n, "newest", None)
        wait(lambda: cursor.n_verdicts == n and not control.situation().is_busy)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print the numbers of one scene as JSON."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    sys.setswitchinterval(0.001)
    QApplication.setApplicationName("kvscope")
    scenes = {scene.__name__: scene for scene in (heads, slots, scrub, play, memory, start)}
    print(json.dumps(scenes[sys.argv[1]]()))


if __name__ == "__main__":
    main()
