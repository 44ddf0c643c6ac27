"""Where columns stand, and which of them are shown."""

import pytest

from app.widgets.slot_ruler import ALL_LABELS_PX, READABLE_PX, SlotRuler

WIDE = 660


def test_twelve_slots_are_wide_enough_for_numbers_in_the_narrowest_window() -> None:
    """The middle column of a window of 1024 pixels is this narrow."""
    ruler = SlotRuler(394, 12)
    assert not ruler.is_scrolled
    assert ruler.column_px >= READABLE_PX


def test_twelve_slots_have_room_for_texts_in_a_window_of_1280() -> None:
    assert SlotRuler(650, 12).column_px >= ALL_LABELS_PX


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_the_side_gives_what_twelve_slots_lack_for_their_texts(scale: float) -> None:
    """A frame around a window of 1280 pixels takes some of them; the side keeps its least width."""
    widths = [round(width * scale) for width in range(584, 660)]
    rulers = [SlotRuler(width, 12, scale=scale) for width in widths]
    assert min(ruler.column_px for ruler in rulers) >= ALL_LABELS_PX * scale
    assert min(ruler.side_px for ruler in rulers) >= 104 * scale - 1


@pytest.mark.parametrize("width", [394, 650, 1290, 2400])
@pytest.mark.parametrize("n_columns", [1, 7, 12, 64, 1024])
@pytest.mark.parametrize("scale", [0.8, 1.0, 2.0])
@pytest.mark.parametrize("shows_all", [False, True])
def test_columns_end_before_the_side_begins(
    width: int, n_columns: int, scale: float, shows_all: bool
) -> None:
    ruler = SlotRuler(width, n_columns, shows_all=shows_all, scale=scale)
    assert ruler.end <= max(ruler.side_left, ruler.start + ruler.column_px)
    assert ruler.n_shown == len(ruler.shown)
    assert ruler.shown.stop <= n_columns


@pytest.mark.parametrize(
    "ruler", [SlotRuler(WIDE, 12), SlotRuler(WIDE, 64, in_sight=40), SlotRuler(WIDE, 9)]
)
def test_the_column_at_the_middle_of_a_cell_is_that_cell_s(ruler: SlotRuler) -> None:
    for column in ruler.shown:
        assert ruler.column_at(ruler.cell(column, 0, 10).center().x()) == column
    assert ruler.column_at(ruler.start - 1) is None
    assert ruler.column_at(ruler.end + 1) is None


@pytest.mark.parametrize("in_sight", [0, 3, 500, 1022, 1023])
def test_the_column_to_be_seen_is_shown(in_sight: int) -> None:
    assert in_sight in SlotRuler(WIDE, 1024, in_sight=in_sight).shown
    assert in_sight in SlotRuler(WIDE, 1024, 200, in_sight).shown


def test_columns_stay_where_they_are_while_the_one_to_be_seen_is_among_them() -> None:
    held = SlotRuler(WIDE, 1024, 200)
    for column in held.shown:
        assert SlotRuler(WIDE, 1024, 200, column).shown == held.shown


def test_beyond_either_end_nothing_is_shown() -> None:
    assert SlotRuler(WIDE, 64, -5).first == 0
    assert SlotRuler(WIDE, 64, 400).shown.stop == 64


def test_all_columns_are_shown_where_that_is_wanted() -> None:
    ruler = SlotRuler(WIDE, 4096, shows_all=True)
    assert ruler.shown == range(4096)
    assert ruler.column_px < 1
