"""The matrix as a window: what its cells say, and that a click or Enter opens the run."""

import subprocess
import sys
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFileDialog, QStyle, QWidget

from app.matrix_measures import MEASURES, sentence_of, signs_of
from app.matrix_window import SHIPPED, MatrixWindow, draft_of
from app.theme import DARK, LIGHT
from core.faults.catalog import FAULTS
from core.matrix_cell import Cell
from core.matrix_file import read_matrix
from core.matrix_runs import POLICIES
from tests.app.desk import PATIENCE_MS, Desk

SHOWN = Cell(
    "pos-hole", "learned", "learned", "window", n_runs=10, n_shown=9, first_wrong_step=3,
    first_wrong_logits=4, largest_error=2.44, n_same_text=8, n_chosen=10, n_same_chosen=8,
    n_questions=10, n_wrong_answers=1,
)  # fmt: skip
QUIET = Cell(
    "pos-hole", "tiny-rope", "rope", "window", n_runs=10, largest_error=1e-5, n_same_text=10
)
NO_RUN = Cell("pos-hole", "learned", "learned", "ranks", why_not="positions cannot be re-assigned")


@pytest.fixture
def matrix(qtbot):
    window = MatrixWindow(LIGHT)
    qtbot.addWidget(window)
    window.show()
    return window


def place(window: MatrixWindow, fault: str, model: str, policy: str):
    """The place of a cell in the table."""
    table = window.model
    rows = [table.headerData(i, Qt.Orientation.Vertical) for i in range(table.rowCount())]
    columns = [table.headerData(i, Qt.Orientation.Horizontal) for i in range(table.columnCount())]
    return table.index(rows.index(fault), columns.index(f"{model}\n{policy}"))


def open_matrix(desk: Desk) -> MatrixWindow:
    desk.window.actions_by_id.actions["matrix"].trigger()
    window = desk.window.aids.matrix
    assert window is not None
    desk.qtbot.waitUntil(window.isActiveWindow)
    return window


def click(desk: Desk, window: MatrixWindow, index) -> None:
    window.table.scrollTo(index)
    at = window.table.visualRect(index).center()
    desk.qtbot.mouseClick(window.table.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_each_measure_says_its_number_and_that_a_random_model_is_asked_nothing():
    assert [measure.signs(SHOWN) for measure in MEASURES] == ["3", "2.4", "8/10", "1/10"]
    assert [measure.signs(QUIET) for measure in MEASURES] == [
        "silent",
        "1e-05",
        "untried",
        "unasked",
    ]


def test_what_is_silent_has_no_shade_and_what_is_wrong_in_all_has_the_deepest():
    worst = replace(
        SHOWN,
        n_same_text=0,
        n_same_chosen=0,
        n_wrong_answers=10,
        largest_error=float("nan"),
        n_shown=10,
    )
    assert [measure.share(QUIET) for measure in MEASURES] == [0, 0, 0, 0]
    assert [measure.share(worst) for measure in MEASURES[1:]] == [1, 1, 1]
    for measure in MEASURES:
        assert 0 < measure.share(SHOWN) < measure.share(worst) <= 1


def test_a_cell_is_told_in_a_sentence():
    assert sentence_of(SHOWN) == (
        "pos-hole, learned, window: first wrong at step 3, in 9 of 10 runs; logits off by up to "
        "2.4; the text stays right in 8 of 10 that could tell; 1 of 10 questions answered wrongly"
    )
    assert sentence_of(QUIET).startswith("pos-hole, tiny-rope (rope), window: silent")
    assert sentence_of(NO_RUN).endswith("ranks: no such run, positions cannot be re-assigned")
    broken = replace(NO_RUN, why_not="own.py, line 3: it raised", is_broken=True)
    assert sentence_of(broken).endswith("the fault cannot be used, own.py, line 3: it raised")
    assert {signs_of(measure, broken) for measure in MEASURES} == {"!"}


def test_the_shipped_measurement_is_whole_and_small():
    cells = read_matrix(SHIPPED).cells
    models = ("learned", "tiny-rope", "tiny-alibi")
    assert [(cell.model, cell.fault, cell.policy) for cell in cells] == [
        (model, fault.id, policy) for model in models for fault in FAULTS for policy in POLICIES
    ]
    assert SHIPPED.stat().st_size < 200_000


def test_each_cell_of_the_shipped_measurement_that_has_runs_is_a_run(matrix):
    file = read_matrix(SHIPPED)
    drafts = [draft_of(file, cell) for cell in file.cells if cell.why_not is None]
    assert {draft.faults[0].id for draft in drafts} == {fault.id for fault in FAULTS}


def test_a_click_opens_the_run_at_the_step_that_the_cell_says_and_undo_goes_back(sit_down):
    desk = sit_down()
    before = desk.control.draft
    matrix = open_matrix(desk)
    index = place(matrix, "pos-memo", "tiny-rope", "window")
    desk.do(lambda: click(desk, matrix, index))
    cell = matrix.model.cell_at(index)
    assert desk.control.draft.model == "tiny-rope"
    assert [use.id for use in desk.control.draft.faults] == ["pos-memo"]
    assert desk.window.faults.ids == ("pos-memo",)
    assert desk.control.cursor.first_wrong == desk.step == cell.first_wrong_step == 2
    desk.act("undo")
    assert desk.control.draft == before


def test_enter_opens_the_run_and_arrows_only_move(sit_down):
    desk = sit_down()
    before = desk.control.draft
    matrix = open_matrix(desk)
    assert matrix.table.hasFocus()
    desk.qtbot.keyClick(matrix.table, Qt.Key.Key_Right)
    assert desk.control.draft == before
    assert "pos-restart, learned, window" in matrix.sentence.text()
    desk.do(lambda: desk.qtbot.keyClick(matrix.table, Qt.Key.Key_Return))
    assert [use.id for use in desk.control.draft.faults] == ["pos-restart"]
    assert desk.control.draft.policy == "window"


def test_where_there_is_no_run_nothing_is_opened_and_the_reason_is_said(matrix, qtbot):
    asked: list[object] = []
    matrix.run_wanted.connect(asked.append)
    matrix.table.setCurrentIndex(place(matrix, "pos-restart", "learned", "ranks"))
    qtbot.keyClick(matrix.table, Qt.Key.Key_Return)
    assert asked == []
    assert not matrix.run_button.isEnabled()
    assert "no such run, positions cannot be re-assigned" in matrix.sentence.text()


def test_a_file_that_cannot_be_read_is_named_and_the_table_stays(matrix, tmp_path, monkeypatch):
    path = tmp_path / "other.json"
    path.write_text('{"kind": "run"}\n')
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    n_rows = matrix.model.rowCount()
    matrix.file_button.click()
    assert f"{path}: is no file of a matrix" in matrix.sentence.text()
    assert matrix.model.rowCount() == n_rows > 0


def test_another_measurement_can_be_opened(matrix, tmp_path, monkeypatch):
    path = tmp_path / "mine.jsonl"
    lines = SHIPPED.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:7]), encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    matrix.file_button.click()
    assert matrix.windowTitle() == "Matrix, mine.jsonl"
    assert (matrix.model.rowCount(), matrix.model.columnCount()) == (1, 3)


def test_the_choice_of_a_measure_changes_every_cell(matrix):
    index = place(matrix, "mask-top-left", "tiny-alibi", "refuse")
    texts = []
    for number in range(len(MEASURES)):
        matrix.measure.setCurrentIndex(number)
        texts.append(matrix.model.data(index))
        assert MEASURES[number].shade in matrix.about.full_text
    assert texts[0] == "1"
    assert texts[3] == "unasked"
    assert len(set(texts)) == len(MEASURES)


def test_there_is_one_window_which_follows_the_theme_and_goes_with_the_main_one(sit_down):
    desk = sit_down()
    matrix = open_matrix(desk)
    assert open_matrix(desk) is matrix
    desk.window.looks.choose_theme("dark")
    assert matrix.model.theme.paper == DARK.paper
    with desk.qtbot.waitSignal(matrix.destroyed, timeout=PATIENCE_MS):
        desk.window.close()
    assert desk.window.aids.matrix is None


def test_a_reader_of_the_screen_is_told_each_cell(matrix):
    index = place(matrix, "pos-restart", "learned", "refuse")
    said = matrix.model.data(index, Qt.ItemDataRole.AccessibleTextRole)
    assert said == matrix.model.sentence_at(index)
    for part in (matrix.table, matrix.measure, matrix.sentence):
        assert isinstance(part, QWidget)
        assert part.accessibleName()


def test_it_costs_nothing_before_it_is_asked_for_and_needs_no_torch():
    program = (
        "import sys\n"
        "import app.main_window\n"
        "print([name for name in sys.modules if 'matrix' in name and name.startswith('app')])\n"
        "import app.matrix_window\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["[]", "False"]


def words_in(window: MatrixWindow):
    """Of each cell and header: its words, its font, and how much room they have."""
    table, model = window.table, window.model
    inset_px = 2 * (table.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1)
    width = table.horizontalHeader().defaultSectionSize()
    for column in range(model.columnCount()):
        above = str(model.headerData(column, Qt.Orientation.Horizontal)).split("\n")
        small = model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.FontRole)
        yield from ((words, small, width) for words in above)
        for row in range(model.rowCount()):
            place = model.index(row, column)
            font = model.data(place, Qt.ItemDataRole.FontRole)
            yield model.data(place), font, width - inset_px


@pytest.mark.parametrize("width", [1008, 1240])
def test_every_column_has_room_for_its_words_in_a_window_as_narrow_as_the_smallest(matrix, width):
    matrix.resize(width, 640)
    for number in range(len(MEASURES)):
        matrix.measure.setCurrentIndex(number)
        for words, font, room_px in words_in(matrix):
            assert QFontMetrics(font).horizontalAdvance(words) <= room_px, words
    assert matrix.table.horizontalScrollBar().maximum() == 0
    letters_px = matrix.model.data(matrix.model.index(0, 0), Qt.ItemDataRole.FontRole).pixelSize()
    assert letters_px == (LIGHT.sans_px if width == 1240 else LIGHT.small_px)
