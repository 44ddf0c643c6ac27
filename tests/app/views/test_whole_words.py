"""In narrow panels with large letters: what carries the verdict is not cut."""

from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QListWidget

from app.theme import LIGHT
from app.views.diagnosis import DiagnosisStrip
from app.views.inspector import InspectorView
from app.views.next_token import NextTokenView
from app.widgets import marks
from app.widgets.slot_cells import draw_legend
from core.readouts.first_difference import first_difference_readout
from core.readouts.inspector import inspector_readout
from core.readouts.next_token import next_token_readout
from core.readouts.slot_states import SlotState
from tests.core.readouts.runs import PLAIN, view_of, with_fault

LARGE = LIGHT.sized(percent=150)
TAUGHT = LIGHT.sized(percent=150, is_large=True)


@pytest.fixture
def cut(monkeypatch) -> set[str]:
    """The texts that are drawn with dots for what did not fit."""
    found: set[str] = set()
    real = marks.label

    def label(painter, place, text, *rest):
        if text.endswith("…") or painter.fontMetrics().horizontalAdvance(text) > place.width() + 1:
            found.add(text)
        real(painter, place, text, *rest)

    monkeypatch.setattr(marks, "label", label)
    return found


@pytest.mark.parametrize("theme", [LARGE, TAUGHT], ids=["debug", "teach"])
@pytest.mark.parametrize(
    "fault_id", ["mask-top-left", "pos-restart", "mask-unwritten", "store-row-zero"]
)
def test_the_strip_says_all_in_the_smallest_window(qtbot, cut, theme, fault_id):
    strip = DiagnosisStrip(theme)
    qtbot.addWidget(strip)
    strip.resize(1024, strip.sizeHint().height())
    view = view_of(with_fault(PLAIN, fault_id), 1)
    strip.show_readout(first_difference_readout(view))
    strip.grab()
    assert cut == set()


def test_a_token_of_the_next_ones_is_drawn_smaller_rather_than_cut(qtbot, cut):
    made = NextTokenView(LARGE)
    qtbot.addWidget(made)
    made.resize(300, 300)
    readout = next_token_readout(view_of(PLAIN, 1))
    rows = tuple(replace(row, text="·painted") for row in readout.rows)
    made.show_readout(replace(readout, rows=rows))
    made.grab()
    assert cut == set()


def test_the_shapes_leave_room_for_the_picture_beside_them(qtbot):
    widths, sizes = {}, {}
    for width in (307, 800):
        made = InspectorView(LARGE)
        qtbot.addWidget(made)
        made.resize(width, 260)
        made.show()
        made.show_readout(inspector_readout(view_of(PLAIN, 1)))
        listed = made.findChild(QListWidget)
        widths[width], sizes[width] = listed.maximumWidth(), listed.font().pixelSize()
    assert widths[307] <= 0.62 * 307 < widths[800]
    assert sizes[307] < sizes[800] == LARGE.small_px


@pytest.mark.parametrize("theme", [LIGHT, LARGE, TAUGHT], ids=["usual", "debug", "teach"])
def test_the_lines_of_the_legend_of_cells_do_not_overlap(qapp, theme):
    baselines: set[float] = set()

    class Painter(QPainter):
        # Only what is drawn at a point is asked for, which the overloads of Qt do not allow.
        def drawText(self, at, *rest):  # noqa: N802  # pyright: ignore[reportIncompatibleMethodOverride]
            if isinstance(at, QPointF):
                baselines.add(at.y())

    image = QImage(200, 400, QImage.Format.Format_RGB32)
    painter = Painter(image)
    try:
        draw_legend(painter, QRectF(0, 0, 200, 400), SlotState, theme, has_off=True)
        height = painter.fontMetrics().height()
    finally:
        painter.end()
    lines = sorted(baselines)
    assert len(lines) > 4
    assert all(below - above >= height for above, below in pairwise(lines))
