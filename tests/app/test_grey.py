"""Without hue: what is right and what is wrong still have another look.

The states of a slot are compared in `widgets/test_slot_cells.py`.
"""

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QLabel

from app.theme import DARK, LIGHT, Theme
from app.widgets import mask_cells
from app.widgets.canvas import Canvas
from app.widgets.mask_cells import Kind
from app.widgets.slot_ruler import SlotRuler
from tests.app.desk import Desk

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
CELL_PX = 24
INK = 40
"""Steps of 255 by which ink is told from the ground."""


def grey(image: QImage) -> np.ndarray:
    """[height, width] the lightness of each pixel."""
    plain = image.convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.bytesPerLine())
    return rows[:, : plain.width()].astype(np.int16)


def ink(tones: np.ndarray) -> np.ndarray:
    """[height, width] where something is drawn on the ground, whatever the tone of the ground."""
    ground = np.bincount(tones.ravel().astype(np.int64)).argmax()
    return np.abs(tones - ground) > INK


def n_different(one: np.ndarray, other: np.ndarray) -> int:
    return int((ink(one) != ink(other)).sum())


def mask_cell(kind: Kind, theme: Theme) -> np.ndarray:
    image = QImage(200, CELL_PX + 4, QImage.Format.Format_RGB32)
    image.fill(theme.paper)
    painter = QPainter(image)
    ruler = SlotRuler(image.width(), 1)
    mask_cells.draw_row(painter, ruler, np.array([kind], np.uint8), 2, CELL_PX, theme)
    painter.end()
    place = ruler.cell(0, 2, CELL_PX).toAlignedRect()
    return grey(image.copy(place))


@THEMES
def test_kinds_of_a_mask_differ_in_what_is_drawn(qapp, theme):
    pictures = {kind: mask_cell(kind, theme) for kind in Kind}
    for one, other in combinations(Kind, 2):
        differs = np.abs(pictures[one] - pictures[other]) > INK / 2
        assert differs.sum() >= 5, (one, other)
    for wrong in (Kind.BLIND, Kind.LEAK, Kind.ODD):
        for right in (Kind.SEEN, Kind.MASKED):
            assert n_different(pictures[wrong], pictures[right]) >= 5, (wrong, right)


def pictures_of(desk: Desk, dock_id: str) -> np.ndarray:
    canvas = desk.the(Canvas, desk.content(dock_id))
    return grey(canvas.grab().toImage())


def test_right_and_wrong_differ_in_a_grey_picture_of_the_window(sit_down, start_run):
    desk = sit_down(start_run)
    desk.do(lambda: desk.control.go_to(1))
    right = {dock_id: pictures_of(desk, dock_id) for dock_id in ("mask", "cache", "timeline")}
    right_words = desk.line
    for fault_id, dock_id in (("mask-top-left", "mask"), ("pos-restart", "cache")):
        desk.tick(fault_id)
        assert desk.step == 1
        assert n_different(pictures_of(desk, dock_id), right[dock_id]) >= 40
        assert n_different(pictures_of(desk, "timeline"), right["timeline"]) >= 20
        desk.tick(fault_id)
    assert desk.line == right_words


def test_a_verdict_has_a_sign_beside_its_colour(sit_down, start_run):
    desk = sit_down(start_run)
    assert "✓" in bar_words(desk)
    assert "✕" not in bar_words(desk)
    desk.tick("mask-top-left")
    assert "✕" in bar_words(desk)


def bar_words(desk: Desk) -> str:
    return " ".join(label.text() for label in desk.window.step_bar.findChildren(QLabel))
