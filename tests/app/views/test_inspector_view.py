"""The inspector: shapes, a tensor as a heat map or a table, and the story of a slot."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QApplication, QListWidget, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme
from app.views.inspector import BLANK, InspectorView
from app.widgets.tensor_image import TensorImage
from app.widgets.tensor_table import TensorTable
from core.readouts.inspector import inspector_readout
from core.readouts.run_view import RunView
from core.selection import Selection
from tests.core.readouts.runs import CHUNKED, FULL, LONG, PLAIN, ROPE, view_of, with_fault

MakeView = Callable[..., InspectorView]
Part = TypeVar("Part", bound=QWidget)


@pytest.fixture
def shown(qtbot: QtBot) -> MakeView:
    """The dock's view at a size; it lives as long as the test."""
    alive: list[InspectorView] = []

    def make(
        view: RunView | None, size: tuple[int, int] = (330, 218), theme: Theme = LIGHT
    ) -> InspectorView:
        widget = InspectorView(theme)
        alive.append(widget)
        qtbot.addWidget(widget)
        widget.resize(*size)
        if view is not None:
            widget.show_readout(inspector_readout(view))
        widget.show()
        return widget

    return make


def part(widget: InspectorView, kind: type[Part]) -> Part:
    (found,) = widget.findChildren(kind)
    return found


def choose(widget: InspectorView, tensor: str) -> None:
    shapes = part(widget, QListWidget)
    row = next(
        row for row in range(shapes.count()) if shapes.item(row).text().startswith(tensor + " ")
    )
    shapes.setCurrentRow(row)


def press(widget: InspectorView, way: str) -> None:
    next(each for each in widget.findChildren(QToolButton) if each.text() == way).click()


def colours(image: QImage) -> set[int]:
    kept = image.convertToFormat(QImage.Format.Format_RGB32)
    return set(np.unique(np.frombuffer(kept.constBits(), np.uint32)).tolist())


def middle_of(canvas: TensorImage, row: int, column: int) -> QPoint:
    """A place at which that entry is, found by asking."""
    for y in range(0, canvas.height(), 5):
        for x in range(0, canvas.width(), 5):
            found = canvas.hit(QPointF(x, y))
            if found is not None and f", {row}, {column}] =" in found.tip:
                return QPoint(x, y)
    raise AssertionError((row, column))


def test_the_shapes_are_listed_as_the_field_writes_them(shown: MakeView) -> None:
    shapes = part(shown(view_of(ROPE, 1)), QListWidget)
    lines = [" ".join(shapes.item(row).text().split()) for row in range(shapes.count())]
    assert lines[:3] == ["q [1, 4, 1, 8]", "k [1, 2, 8, 8]", "v [1, 2, 8, 8]"]


def test_no_part_has_a_scroll_bar_at_the_usual_size(shown: MakeView) -> None:
    shapes = part(shown(view_of(PLAIN, 1)), QListWidget)
    assert not shapes.verticalScrollBar().isVisible()
    assert not shapes.horizontalScrollBar().isVisible()


def test_a_tensor_chosen_stays_chosen_from_step_to_step(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    assert widget.sheet is not None
    assert widget.sheet.id == "q"
    choose(widget, "scores")
    widget.show_readout(inspector_readout(view_of(PLAIN, 2)))
    assert widget.sheet.id == "scores"
    assert widget.sheet.values.shape == (1, 9)


def test_a_tensor_chosen_is_shown_again_after_a_step_that_computed_nothing(
    shown: MakeView,
) -> None:
    widget = shown(view_of(FULL, 5))
    choose(widget, "scores")
    widget.show_readout(inspector_readout(view_of(FULL, 6)))
    assert widget.sheet is None
    widget.show_readout(inspector_readout(view_of(FULL, 5)))
    assert widget.sheet is not None
    assert widget.sheet.id == "scores"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "tensor", ["q", "k", "scores", "mask", "weights", "output", "logits", "k new"]
)
def test_each_tensor_is_drawn_and_none_is_in_alarm(
    shown: MakeView, tensor: str, theme: Theme
) -> None:
    for view in (view_of(PLAIN, 1), view_of(CHUNKED, 1), view_of(LONG, 0)):
        widget = shown(view, theme=theme)
        choose(widget, tensor)
        found = colours(part(widget, TensorImage).grab().toImage())
        assert len(found) > 4
        assert theme.alarm.rgb() not in found


def test_what_is_not_a_number_is_in_alarm(shown: MakeView) -> None:
    view = view_of(PLAIN, 1)
    told = view.records[1].layers[0]
    spoiled = told.scores.copy()
    spoiled[0, 0, 3] = np.nan
    layers = (replace(told, scores=spoiled), *view.records[1].layers[1:])
    records = (view.records[0], replace(view.records[1], layers=layers))
    widget = shown(replace(view, records=records))
    choose(widget, "scores")
    assert LIGHT.alarm.rgb() in colours(part(widget, TensorImage).grab().toImage())
    press(widget, "Table")
    model = part(widget, TensorTable).model()
    assert model.data(model.index(3, 0)) == "nan"
    assert model.data(model.index(3, 0), Qt.ItemDataRole.ForegroundRole) == LIGHT.alarm


def test_the_mouse_finds_each_number_with_all_its_digits(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "k")
    canvas, sheet = part(widget, TensorImage), widget.sheet
    found = canvas.hit(QPointF(middle_of(canvas, 5, 2)))
    assert found.tip.splitlines() == [
        f"k[0, 0, 5, 2] = {sheet.exact(5, 2)}",
        "slot 5: token 5 ‘s’",
        "dim 2",
    ]


def test_a_click_on_a_row_chooses_its_slot_and_token(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "k")
    canvas = part(widget, TensorImage)
    with qtbot.waitSignal(widget.selected) as chosen:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle_of(canvas, 5, 2))
    assert chosen.args == [Selection(step=1, token_index=5, slot=5)]


def test_arrows_move_a_cell_enter_chooses_it_and_escape_lets_go(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "k")
    canvas = part(widget, TensorImage)
    for key, cell in (
        (Qt.Key.Key_Down, (0, 0)),
        (Qt.Key.Key_Down, (1, 0)),
        (Qt.Key.Key_Right, (1, 1)),
        (Qt.Key.Key_Up, (0, 1)),
        (Qt.Key.Key_Up, (0, 1)),
        (Qt.Key.Key_Left, (0, 0)),
        (Qt.Key.Key_Left, (0, 0)),
        (Qt.Key.Key_Down, (1, 0)),
    ):
        qtbot.keyClick(canvas, key)
        assert canvas.cursor_cell == cell
    assert canvas.accessibleDescription().startswith("k[0, 0, 1, 0] = ")
    with qtbot.waitSignal(widget.selected) as chosen:
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert chosen.args == [Selection(step=1, token_index=1, slot=1)]
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.cursor_cell is None


def test_arrows_are_kept_from_the_window_s_shortcuts(shown: MakeView) -> None:
    canvas = part(shown(view_of(PLAIN, 1)), TensorImage)
    for key, is_own in ((Qt.Key.Key_Left, True), (Qt.Key.Key_Escape, False), (Qt.Key.Key_K, False)):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
        event.ignore()
        QApplication.sendEvent(canvas, event)
        assert event.isAccepted() == is_own


def test_what_is_pointed_at_elsewhere_lights_up(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "k")
    canvas = part(widget, TensorImage)
    before = canvas.grab().toImage()
    widget.show_pointed(Selection(step=1, slot=3, token_index=3))
    assert canvas.grab().toImage() != before
    widget.show_pointed(None)
    assert canvas.grab().toImage() == before


def test_the_table_has_four_digits_and_all_of_them_in_its_tips(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "k")
    press(widget, "Table")
    model, sheet = part(widget, TensorTable).model(), widget.sheet
    assert (model.rowCount(), model.columnCount()) == (8, 8)
    index = model.index(5, 2)
    value = float(sheet.values[5, 2])
    assert float(model.data(index).replace("−", "-")) == pytest.approx(value, rel=5e-4)
    assert sheet.exact(5, 2) in model.data(index, Qt.ItemDataRole.ToolTipRole)
    assert model.headerData(5, Qt.Orientation.Vertical) == "slot 5 s"
    assert model.headerData(2, Qt.Orientation.Horizontal) == "dim 2"


def test_a_single_row_is_read_downwards(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    choose(widget, "logits")
    press(widget, "Table")
    model = part(widget, TensorTable).model()
    assert (model.rowCount(), model.columnCount()) == (256, 1)
    assert model.headerData(65, Qt.Orientation.Vertical) == "id 65 A"
    assert model.headerData(0, Qt.Orientation.Horizontal) == "token 7"


def test_chosen_cells_are_copied_with_all_digits(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1), (700, 300))
    choose(widget, "k")
    press(widget, "Table")
    table, sheet = part(widget, TensorTable), widget.sheet
    selection = table.selectionModel()
    for row, column in ((1, 2), (1, 3), (2, 2), (2, 3)):
        selection.select(table.model().index(row, column), selection.SelectionFlag.Select)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == (
        f"{sheet.exact(1, 2)}\t{sheet.exact(1, 3)}\n{sheet.exact(2, 2)}\t{sheet.exact(2, 3)}"
    )
    qtbot.keyClick(table, Qt.Key.Key_Escape)
    assert table.selectedIndexes() == []


def test_a_click_in_the_table_chooses_too(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1), (500, 300))
    choose(widget, "k")
    press(widget, "Table")
    table = part(widget, TensorTable)
    place = table.visualRect(table.model().index(4, 0)).center()
    with qtbot.waitSignal(widget.selected) as chosen:
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert chosen.args == [Selection(step=1, token_index=4, slot=4)]


def test_a_large_tensor_is_a_table_that_asks_only_for_cells_in_sight(shown: MakeView) -> None:
    widget = shown(view_of(LONG, 0))
    choose(widget, "scores")
    press(widget, "Table")
    model = part(widget, TensorTable).model()
    assert (model.rowCount(), model.columnCount()) == (150, 150)


def test_a_step_that_computed_nothing_says_so_and_still_tells_the_story(shown: MakeView) -> None:
    widget = shown(view_of(FULL, 6))
    assert "nothing was computed in step 6" in widget.accessibleDescription()
    assert widget.story.startswith("slot 11: token 11")
    assert not part(widget, QListWidget).isVisible()


def test_the_story_follows_the_selection(shown: MakeView) -> None:
    spec = with_fault(PLAIN, "store-row-zero")
    widget = shown(view_of(spec, 1, slot=7))
    assert widget.story.startswith("slot 7: token 7")
    widget.show_readout(inspector_readout(view_of(spec, 1, slot=0)))
    assert widget.story.startswith("slot 0: token 0")


def test_a_cleared_view_says_what_will_be_there(shown: MakeView) -> None:
    widget = shown(view_of(PLAIN, 1))
    widget.clear()
    assert widget.sheet is None
    assert widget.story == ""
    assert widget.accessibleDescription() == BLANK
    assert not part(widget, QListWidget).isVisible()


def test_a_screen_reader_gets_names_and_the_sentence(shown: MakeView) -> None:
    view = view_of(PLAIN, 1)
    widget = shown(view)
    assert widget.accessibleName() == "Inspector"
    assert widget.accessibleDescription() == inspector_readout(view).sentence
    for kind in (QListWidget, TensorImage, TensorTable):
        assert part(widget, kind).accessibleName()
    assert "min" in part(widget, TensorImage).accessibleDescription()
