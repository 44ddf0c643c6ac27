"""The program from outside: what is loaded when, and how it ends."""

import sys
import threading

import pytest

from app.notice import Notice
from app.window import FaultReporter
from tests.app.program import started

CLOSE_WHEN_SHOWN = """
def prepare(control):
    control.rested.connect(report)
    control.rested.connect(QApplication.closeAllWindows)
    report.control = control

def report():
    cursor = report.control.cursor
    print("shown, torch loaded:", "torch" in sys.modules)
    print("step", cursor.selection.step, "of", cursor.newest, "wrong", cursor.first_wrong)
"""
CLOSE_IN_THE_MIDDLE = """
def prepare(control):
    control.run_started.connect(QApplication.closeAllWindows)
"""
CLOSE_BEFORE_THE_ENGINE_IS_THERE = """
def prepare(control):
    QApplication.closeAllWindows()
"""


def test_the_first_run_is_painted_before_torch_is_loaded_and_stays_when_the_engine_takes_it(
    tmp_path,
):
    done = started(tmp_path, CLOSE_WHEN_SHOWN)
    assert done.stdout.splitlines() == [
        "painted 7 steps, torch loaded: False",
        "shown, torch loaded: True",
        "step 3 of 6 wrong None",
    ]
    assert (done.returncode, done.stderr) == (0, "")


LOOK_AT_THE_FIRST_PICTURE = """
from app.main_window import MainWindow

paint = MainWindow.paintEvent

def look(self, event):
    paint(self, event)
    if not told:
        told.append(self)
        print(self.step_bar.text, "|", self.message_bar.text)
        print("torch loaded:", "torch" in sys.modules)

told = []
MainWindow.paintEvent = look

def prepare(control):
    QApplication.closeAllWindows()
"""


def test_the_first_picture_has_the_answer_and_one_hint(tmp_path):
    done = started(tmp_path, LOOK_AT_THE_FIRST_PICTURE)
    first, second, *_ = done.stdout.splitlines()
    line, hint = first.split(" | ")
    assert line.startswith("step 3 of 6 · decode · feeds '?' at position 9 · predicts '·outside'")
    assert "causal mask taken from row 0" in hint
    assert second == "torch loaded: False"
    assert (done.returncode, done.stderr) == (0, "")


LIST_WHAT_IS_LOADED = """
from app.main_window import MainWindow

SLOW = (
    "torch", "tokenizers", "pygments", "pyqtgraph", "threadpoolctl", "numpy.ma", "numpy.random",
    "importlib.metadata", "tomllib", "core.diagnose.diagnose", "core.model.tokenizer", "core.judge",
    "core.matrix", "core.battery", "app.command_palette", "app.shortcut_sheet", "core.contract",
    "core.foreign", "app.elsewhere_window", "app.own_code_window",
)
paint = MainWindow.paintEvent

def look(self, event):
    paint(self, event)
    if not told:
        told.append(self)
        print("loaded:", [name for name in SLOW if name in sys.modules])
        print("PySide looks into modules:", "feature" in repr(__import__))

told = []
MainWindow.paintEvent = look

def prepare(control):
    QApplication.closeAllWindows()
"""


def test_what_the_first_picture_does_not_need_is_not_loaded_before_it(tmp_path):
    done = started(tmp_path, LIST_WHAT_IS_LOADED)
    loaded, looks, *_ = done.stdout.splitlines()
    assert loaded == "loaded: []"
    assert looks == "PySide looks into modules: False"
    assert (done.returncode, done.stderr) == (0, "")


TICK_BEFORE_THE_ENGINE_IS_THERE = """
def prepare(control):
    told = []

    def report():
        told.append(control.cursor.selection.step)
        if control.cursor.view().spec.faults and not control.situation().is_busy:
            print("step", control.cursor.selection.step, "wrong", control.cursor.first_wrong)
            QApplication.closeAllWindows()

    control.rested.connect(report)
    control.back()
    print("back to", control.cursor.selection.step, "ready:", control.situation().is_ready)
    control.set_faults(("mask-top-left",))
"""


def test_a_fault_ticked_before_the_engine_is_there_is_run_when_it_is(tmp_path):
    done = started(tmp_path, TICK_BEFORE_THE_ENGINE_IS_THERE)
    assert done.stdout.splitlines()[1:] == ["back to 2 ready: False", "step 1 wrong 1"]
    assert (done.returncode, done.stderr) == (0, "")
    settings = (tmp_path / "kvscope" / "kvscope.ini").read_text(encoding="utf-8")
    assert "has-tried-fault=true" in settings
    again = started(tmp_path, LOOK_AT_THE_FIRST_PICTURE)
    assert again.stdout.splitlines()[0].endswith("| ")


def test_a_fault_on_the_command_line_is_shown_where_it_is_wrong(tmp_path):
    done = started(tmp_path, CLOSE_WHEN_SHOWN, "--fault", "mask-top-left")
    assert done.stdout.splitlines()[-1] == "step 1 of 5 wrong 1"
    assert done.returncode == 0


def test_a_step_on_the_command_line_is_made_and_looked_at(tmp_path):
    done = started(tmp_path, CLOSE_WHEN_SHOWN, "--step", "4", "--theme", "dark")
    assert done.stdout.splitlines()[-1] == "step 4 of 4 wrong None"
    assert "theme=dark" in (tmp_path / "kvscope" / "kvscope.ini").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "script", [CLOSE_IN_THE_MIDDLE, CLOSE_BEFORE_THE_ENGINE_IS_THERE], ids=["running", "starting"]
)
def test_closing_early_ends_with_status_0(tmp_path, script):
    done = started(tmp_path, script, "--step", "100")
    assert (done.returncode, done.stderr) == (0, "")


def test_faults_that_cannot_be_combined_are_one_line_and_status_2(tmp_path):
    faults = ("--fault", "store-row-zero", "--fault", "store-alias-in")
    done = started(tmp_path, CLOSE_WHEN_SHOWN, *faults)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "both replace the seam" in done.stderr


def test_an_unknown_fault_is_one_line_and_status_2(tmp_path):
    done = started(tmp_path, CLOSE_WHEN_SHOWN, "--fault", "no-such-fault")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no-such-fault" in done.stderr


def test_a_file_that_is_no_trace_opens_the_window_with_the_usual_run(tmp_path):
    path = tmp_path / "cat.kvtrace"
    path.write_text("meow", encoding="utf-8")
    done = started(tmp_path, CLOSE_WHEN_SHOWN, str(path))
    assert done.stdout.splitlines()[-1] == "step 0 of 0 wrong None"
    assert done.returncode == 0


@pytest.fixture
def reporter(qapp):
    made = FaultReporter()
    made.install()
    yield made
    made.uninstall()


def test_an_error_that_nobody_caught_is_told_with_its_trace(reporter, capsys):
    told: list[Notice] = []
    reporter.reported.connect(told.append)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        sys.excepthook(*sys.exc_info())
    assert "ZeroDivisionError: division by zero" in told[0].text
    assert "test_start.py" in (told[0].details or "")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_error_in_another_thread_is_told_in_the_window_s(reporter, qtbot, capsys):
    thread = threading.Thread(target=lambda: 1 / 0)
    with qtbot.waitSignal(reporter.reported) as told:
        thread.start()
        thread.join()
    assert "division by zero" in told.args[0].text


def test_python_s_own_hooks_come_back(reporter):
    reporter.uninstall()
    assert sys.excepthook is sys.__excepthook__
    assert threading.excepthook is threading.__excepthook__
