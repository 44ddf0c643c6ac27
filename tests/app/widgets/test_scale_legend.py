"""The scale below an attention image."""

from typing import Any

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from app.theme import LIGHT
from app.widgets import code_image, marks, scale_legend

LEFT = 20.0


@pytest.mark.parametrize("percent", [80, 100, 150, 200])
@pytest.mark.parametrize("room", [0, 40, 60, 74, 90, 140, 240, 400])
def test_nothing_of_the_scale_stands_beyond_its_room_and_its_ends_are_named(
    monkeypatch: pytest.MonkeyPatch, percent: int, room: int
) -> None:
    theme = LIGHT.sized(percent=percent)
    drawn: dict[str, QRectF] = {}
    needed: dict[str, int] = {}
    label = marks.label

    def kept(painter: QPainter, place: QRectF, text: str, *rest: Any) -> None:
        drawn[text] = place
        needed[text] = painter.fontMetrics().horizontalAdvance(text)
        label(painter, place, text, *rest)

    monkeypatch.setattr(marks, "label", kept)
    image = QImage(500, 40, QImage.Format.Format_RGB32)
    image.fill(theme.paper)
    painter = QPainter(image)
    end = LEFT + room
    scale_legend.draw(painter, QPointF(LEFT, 20), end, code_image.palette(theme), theme)
    painter.end()
    assert all(place.right() <= end for place in drawn.values())
    assert all(needed[text] <= place.width() + 1 for text, place in drawn.items())
    assert ("0" in drawn) == ("1" in drawn)
    assert "0" in drawn or room < 74 or percent > 150
    beyond = image.copy(int(end) + 1, 0, 499 - int(end), 40)
    blank = QImage(beyond.size(), beyond.format())
    blank.fill(theme.paper)
    assert beyond == blank
