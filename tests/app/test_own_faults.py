"""Faults of one's own in the window: loading asks first, then they are as any other."""

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFileDialog, QListWidgetItem, QMessageBox

from app.draft import Draft
from app.faults_panel import OWN
from app.options import WindowOptions, window_arguments
from app.window import main
from core.faults.scenarios import DECODING

TEXT = """\
import numpy as np

from core.faults.own import OwnFault


def wrong(past_len, n_new, ledger):
    return {answer}


FAULT = OwnFault(id="mine", title="Mine alone", seam="position_ids", function=wrong)
"""
RESTART, RIGHT = "np.arange(n_new)", "np.arange(past_len, past_len + n_new)"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_fault.py"
    path.write_text(TEXT.format(answer=RESTART), "utf-8")
    return path


@pytest.fixture
def desk(sit_down):
    return sit_down(Draft.of_scenario(DECODING), None)


def answering(monkeypatch, path, button: str) -> list[QMessageBox]:
    """Choose the file, then this button of the question; gives the questions that were asked."""
    asked: list[QMessageBox] = []

    def press() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        asked.append(box)
        assert path.as_posix() in box.text()
        assert "runs the Python code" in box.text()
        assert box.defaultButton().text().replace("&", "") == "Cancel"
        next(b for b in box.buttons() if b.text().replace("&", "") == button).click()

    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    QTimer.singleShot(0, press)
    return asked


def headings(desk) -> list[str]:
    listed = desk.faults_list
    return [listed.item(row).text() for row in range(listed.count())]


def row(desk) -> QListWidgetItem:
    return desk.row_of("mine")


def test_a_file_is_run_only_after_the_question(desk, monkeypatch, file):
    asked = answering(monkeypatch, file, "Cancel")
    desk.window.files.load_faults()
    assert len(asked) == 1
    assert desk.control.known.own == ()
    assert OWN not in headings(desk)


def test_a_loaded_fault_is_listed_and_ticked_like_any(desk, monkeypatch, file):
    answering(monkeypatch, file, "Load")
    desk.act("load-fault")
    assert OWN in headings(desk)
    desk.do(lambda: desk.tick("mine"))
    assert desk.control.cursor.first_wrong == 1
    assert desk.content("code").seam == "position_ids"
    (use,) = desk.control.draft.faults
    assert use.file is not None
    assert use.file.name == "my_fault.py"


def test_a_file_loaded_again_takes_the_place_of_the_old_one_and_runs_anew(desk, file):
    desk.control.load_faults(file)
    desk.do(lambda: desk.tick("mine"))
    file.write_text(TEXT.format(answer=RIGHT), "utf-8")
    desk.do(lambda: desk.control.load_faults(file))
    assert desk.control.cursor.first_wrong is None
    assert headings(desk).count("Mine alone") == 1
    desk.do(desk.control.undo)
    assert desk.control.cursor.first_wrong == 1


def test_a_fault_that_the_file_has_no_more_is_switched_off(desk, file):
    desk.control.load_faults(file)
    desk.do(lambda: desk.tick("mine"))
    file.write_text(TEXT.format(answer=RIGHT).replace('"mine"', '"other"'), "utf-8")
    desk.do(lambda: desk.control.load_faults(file))
    assert desk.control.draft.faults == ()


def test_a_file_that_cannot_be_used_is_told_and_changes_nothing(desk, file):
    file.write_text("FAULT = 3\n", "utf-8")
    desk.control.load_faults(file)
    assert "it must be an OwnFault" in desk.window.message_bar.text
    assert desk.control.known.own == ()


def test_a_function_that_fails_in_a_run_is_told_beside_the_faults(desk, file):
    file.write_text(TEXT.format(answer="np.arange(n_new + past_len)"), "utf-8")
    desk.control.load_faults(file)
    with desk.qtbot.waitSignal(desk.control.misfit) as told:
        desk.tick("mine")
    desk.qtbot.waitUntil(lambda: not desk.control.situation().is_busy)
    words = told.args[0].message
    assert "my_fault.py, line 6: the seam position_ids must answer" in words
    assert desk.control.cursor.n_records == 1
    desk.do(lambda: desk.tick("mine"))
    assert desk.control.cursor.first_wrong is None


def test_a_trace_with_a_fault_that_is_not_loaded_changes_nothing(sit_down, desk, file, tmp_path):
    desk.control.load_faults(file)
    desk.do(lambda: desk.tick("mine"))
    with desk.qtbot.waitSignal(desk.window.control.noticed):
        desk.control.save_trace(tmp_path / "a.kvtrace", full=False)
    other = sit_down(Draft.of_scenario(DECODING), None)
    before = other.control.draft
    with other.qtbot.waitSignal(other.control.noticed) as told:
        other.control.open_trace(tmp_path / "a.kvtrace")
    assert "'mine' from 'my_fault.py', which is not loaded" in told.args[0].text
    assert other.control.draft == before
    other.control.load_faults(file)
    other.control.open_trace(tmp_path / "a.kvtrace")
    other.qtbot.waitUntil(lambda: other.control.cursor.first_wrong == 1)
    assert other.window.faults.ids == ("mine",)


def test_the_command_line_of_the_window_takes_files_of_faults(file):
    assert window_arguments(["--fault-file", str(file)]).fault_file == [file]


def test_a_file_on_the_command_line_that_cannot_be_used_ends_with_status_2(tmp_path, capsys):
    assert main(WindowOptions(fault_files=(tmp_path / "none.py",))) == 2
    assert "none.py cannot be read" in capsys.readouterr().err
