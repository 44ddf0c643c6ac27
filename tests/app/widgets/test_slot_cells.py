"""Every state of a slot has a look of its own, without hue too."""

from itertools import combinations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from app.theme import DARK, LIGHT, Theme
from app.widgets import slot_cells
from core.readouts.slot_states import SlotState

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def drawn(state: SlotState, theme: Theme, size: int) -> QImage:
    image = QImage(size + 4, size + 4, QImage.Format.Format_RGB32)
    image.fill(theme.paper)
    painter = QPainter(image)
    slot_cells.draw_cells(painter, {state: [QRectF(2, 2, size, size)]}, theme)
    painter.end()
    return image


def difference(one: QImage, other: QImage) -> int:
    """Pixels that differ by more than a little in lightness."""
    pairs = (
        (one.pixelColor(x, y).lightness(), other.pixelColor(x, y).lightness())
        for x in range(one.width())
        for y in range(one.height())
    )
    return sum(abs(a - b) > 12 for a, b in pairs)


@THEMES
@pytest.mark.parametrize("size", [14, 28])
def test_states_are_told_apart_without_hue(qapp, theme: Theme, size: int) -> None:
    pictures = {state: drawn(state, theme, size) for state in SlotState}
    for one, other in combinations(SlotState, 2):
        assert difference(pictures[one], pictures[other]) >= 5, (one, other)


@THEMES
def test_only_what_is_wrong_is_in_alarm(qapp, theme: Theme) -> None:
    for state in SlotState:
        image = drawn(state, theme, 28)
        found = {image.pixel(x, y) for x in range(32) for y in range(32)}
        assert (theme.alarm.rgb() in found) == (state in slot_cells.WRONG), state


@THEMES
def test_a_cell_too_small_for_signs_has_the_colour_of_its_state(qapp, theme: Theme) -> None:
    table = slot_cells.state_colours(theme)
    for state in SlotState:
        assert int(table[state]) == slot_cells.state_colour(state, theme).rgb()
    assert {int(table[state]) for state in slot_cells.WRONG} == {theme.alarm.rgb()}


def test_every_state_has_a_name(qapp) -> None:
    assert set(slot_cells.STATE_NAMES) == set(slot_cells.SHORT_NAMES) == set(SlotState)
