"""A kept picture is drawn anew whenever something that it shows is another."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter
from pytestqt.qtbot import QtBot

from app.theme import LIGHT
from app.widgets.kept_canvas import KeptCanvas
from app.widgets.kept_part import KeptPart

SIZE = QSize(8, 6)


class Counted:
    """Fills in a colour, and counts how often it was asked to."""

    def __init__(self, colour: str) -> None:
        self.colour, self.n = QColor(colour), 0

    def __call__(self, painter: QPainter) -> None:
        self.n += 1
        painter.fillRect(0, 0, 4, 6, self.colour)


def test_the_same_part_is_drawn_once(qtbot: QtBot) -> None:
    part, draw = KeptPart(LIGHT.paper), Counted("#0000ff")
    pictures = [part.picture(SIZE, 1.0, ("a", 1), draw) for _ in range(3)]
    assert draw.n == 1
    assert pictures[2].toImage() == pictures[0].toImage()


@pytest.mark.parametrize(
    ("size", "scale", "shown"),
    [(QSize(9, 6), 1.0, "a"), (SIZE, 2.0, "a"), (SIZE, 1.0, "b")],
    ids=["size", "scale", "what is shown"],
)
def test_a_part_of_another_look_is_drawn_anew(
    qtbot: QtBot, size: QSize, scale: float, shown: str
) -> None:
    part, draw = KeptPart(LIGHT.paper), Counted("#ff0000")
    part.picture(SIZE, 1.0, "a", Counted("#0000ff"))
    picture = part.picture(size, scale, shown, draw)
    assert draw.n == 1
    assert picture.size() == size * scale
    image = picture.toImage()
    assert image.pixelColor(1, 1) == draw.colour
    assert image.pixelColor(image.width() - 1, 1) == LIGHT.paper


class CountedCanvas(KeptCanvas):
    """Draws a number, and counts how often."""

    n_draws = 0

    def draw(self, painter: QPainter) -> None:
        self.n_draws += 1
        painter.setFont(LIGHT.sans(px=30))
        painter.setPen(Qt.GlobalColor.red)
        painter.translate(3, 3)
        painter.drawText(5, 40, str(self.readout))


def test_what_is_painted_again_unchanged_is_drawn_for_a_picture_and_then_no_more(
    qtbot: QtBot,
) -> None:
    canvas = CountedCanvas(LIGHT, "numbers", 20, 60)
    qtbot.addWidget(canvas)
    canvas.resize(90, 60)
    canvas.show_readout(7)
    first, *others = [canvas.grab().toImage() for _ in range(4)]
    assert all(image == first for image in others)
    assert canvas.n_draws == (2 if canvas.devicePixelRatioF() == 1 else 1)


def test_another_readout_and_another_size_are_drawn_anew(qtbot: QtBot) -> None:
    canvas = CountedCanvas(LIGHT, "numbers", 20, 60)
    qtbot.addWidget(canvas)
    canvas.resize(90, 60)
    for number, width in ((7, 90), (8, 90), (8, 120), (9, 120)):
        canvas.resize(width, 60)
        canvas.show_readout(number)
        for _ in range(2):
            fresh = CountedCanvas(LIGHT, "numbers", 20, 60)
            qtbot.addWidget(fresh)
            fresh.resize(width, 60)
            fresh.show_readout(number)
            assert canvas.grab().toImage() == fresh.grab().toImage()
