"""The names beside the heads."""

from typing import Any

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from app.theme import LIGHT
from app.widgets import marks
from app.widgets.head_atlas import HeadAtlas


@pytest.mark.parametrize("percent", [80, 100, 150, 200])
@pytest.mark.parametrize("n_layers", [4, 12])
def test_the_names_of_layers_and_heads_are_whole_in_letters_of_every_size(
    monkeypatch: pytest.MonkeyPatch, percent: int, n_layers: int
) -> None:
    room: dict[str, float] = {}

    def kept(painter: QPainter, place: QRectF, text: str, *rest: Any) -> None:
        room[text] = place.width() - QFontMetricsF(painter.font()).horizontalAdvance(text)

    monkeypatch.setattr(marks, "label", kept)
    image = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    atlas = HeadAtlas(QRectF(0, 0, 240, n_layers * 60 + 20), n_layers, 4)
    atlas.draw_names(painter, LIGHT.sized(percent=percent))
    painter.end()
    assert {"L0", f"L{n_layers - 1}"} <= set(room)
    assert min(room.values()) >= 0
