"""What Cache, Mask and Attention paint, compared with the readout cell by cell."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QColor

from app.theme import DARK, LIGHT
from app.widgets import code_image
from app.widgets.slot_cells import state_colour
from app.widgets.weight_words import part_words
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.slot_states import SlotState
from tests.app.views.slots_shown import (
    MakeThree,
    canvas_of,
    has_alarm,
    middle,
    picture,
    pixels,
)
from tests.core.readouts.runs import PLAIN, SINKS, WINDOW, view_of, with_fault

# What is painted


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("spec", "step"),
    [(PLAIN, 1), (SINKS, 4), (WINDOW, 4), (with_fault(PLAIN, "store-row-zero"), 3)],
    ids=["plain", "sinks", "window", "store-row-zero"],
)
def test_each_slot_has_the_colour_of_its_state(three: MakeThree, spec, step, theme) -> None:
    view = view_of(spec, step)
    readout, cache = cache_readout(view), three(view, theme=theme).cache
    image = picture(cache)
    row_px = canvas_of(cache).row_middle(0)
    for slot, code in enumerate(readout.rows[0].state.tolist()):
        at = middle(cache, slot, row_px)
        state, label = SlotState(code), readout.labels[slot]
        expected = state_colour(state, theme)
        if state == SlotState.FOREIGN:
            expected = theme.new if readout.rows[0].is_new[slot] else theme.live
        if state in (SlotState.UNWRITTEN, SlotState.LEFT):
            expected = theme.paper
        # Beside the sign in the middle of the cell.
        found = QColor(image.pixel(at.x() - 10, at.y() + 6))
        assert found.rgb() == expected.rgb(), (slot, label, state)


@pytest.mark.parametrize(
    ("spec", "step"), [(PLAIN, 1), (with_fault(PLAIN, "mask-top-left"), 2)], ids=["right", "wrong"]
)
def test_used_cells_are_filled_where_the_mask_let_through(three: MakeThree, spec, step) -> None:
    view = view_of(spec, step)
    readout, mask = mask_readout(view), three(view).mask
    image = pixels(picture(mask))
    for place, column in enumerate(readout.columns):
        at = middle(mask, column.slot, canvas_of(mask).row_middle(0))
        cell = image[at.y() - 6 : at.y() + 6, at.x() - 10 : at.x() + 10]
        is_filled = (cell == LIGHT.live.rgb()).mean() > 0.5
        is_framed = (image[at.y() - 12 : at.y() + 12, at.x()] == LIGHT.alarm.rgb()).any()
        assert is_filled == bool(readout.used[0, place])
        assert is_framed == bool(readout.is_blind[0, place])


def test_an_inner_block_stands_where_a_row_should_be_seen(three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "mask-unwritten"), 1)
    readout, mask = mask_readout(view), three(view).mask
    image = picture(mask)
    for place, column in enumerate(readout.columns):
        at = middle(mask, column.slot, canvas_of(mask).row_middle(1))
        is_block = image.pixel(at) == LIGHT.text.rgb()
        assert is_block == bool(readout.expected[0, place])


@pytest.mark.parametrize("order", ["slot", "token"])
@pytest.mark.parametrize("spec", [PLAIN, WINDOW], ids=["plain", "window"])
def test_each_weight_has_the_colour_of_its_code(three: MakeThree, spec, order) -> None:
    """The newest row, whose keys are all in the ruler in both orders."""
    view = view_of(spec, 3, layer=1, head=2)
    views = three(view, (660, 420))
    if order == "token":
        views.attention.slot_scroll.order_by_token()
    told, colours = view.records[3].layers[1], code_image.palette(LIGHT)
    canvas = canvas_of(views.attention)
    image = picture(views.attention)
    y = canvas.row_middle(canvas.n_rows() - 1) + 3
    for place, slot in enumerate(told.plan.view_slots.tolist()):
        weight = float(told.weights[2, -1, place])
        at = middle(views.attention, slot, y)
        if told.plan.mask[-1, place] and weight > 0:
            code = int(np.float32(np.sqrt(np.float32(weight))) * 251 + 3.5)
            assert image.pixel(at.x() - 8, at.y()) in colours[code - 1 : code + 2].tolist()


def test_the_weights_of_the_newest_row_are_written_under_it(three: MakeThree) -> None:
    views = three(view_of(PLAIN, 1), (660, 420))
    canvas = canvas_of(views.attention)
    image = pixels(picture(views.attention))
    bottom = int(canvas.row_middle(canvas.n_rows() - 1))
    row_px = int(canvas.row_middle(1) - canvas.row_middle(0))
    line = image[bottom + row_px // 2 + 2 : bottom + row_px // 2 + 12]
    for slot in range(12):
        at = middle(views.attention, slot, 0).x()
        has_ink = (line[:, at - 9 : at + 9] != LIGHT.paper.rgb()).any()
        assert has_ink == (slot < 8)


def test_a_sink_has_a_bar_on_top_also_when_it_is_new(three: MakeThree) -> None:
    cache = three(view_of(SINKS, 0)).cache
    image, top = picture(cache), int(canvas_of(cache).row_middle(0)) - 12
    bars = [image.pixel(middle(cache, slot, top)) == LIGHT.text.rgb() for slot in range(8)]
    assert bars == [True, True, *[False] * 6]


def test_a_line_stands_after_the_last_slot_of_the_capacity(three: MakeThree) -> None:
    """A ring of eight slots with a row more, so that a chunk can be read before rows leave."""
    for spec, has_line in ((WINDOW, True), (PLAIN, False)):
        cache = three(view_of(spec, 3)).cache
        canvas = canvas_of(cache)
        column = pixels(picture(cache))[:, int(canvas.ruler().left(8)) - 1]
        top = int(canvas.row_middle(0))
        assert (column[top - 10 : top + 10] == LIGHT.text.rgb()).all() == has_line


def test_each_layer_that_differs_has_a_strip_of_its_own(three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "pos-restart"), 1)
    cache = three(view).cache
    at = middle(cache, 7, canvas_of(cache).row_middle(0))
    column = pixels(picture(cache))[at.y() :, at.x() + 9] == LIGHT.alarm.rgb()
    firsts = np.flatnonzero(column[1:] & ~column[:-1]) + 1
    lasts = np.flatnonzero(column[:-1] & ~column[1:])
    heights = (lasts - firsts + 1).tolist()
    n_layers = len(cache_readout(view).rows[0].layers)
    assert heights[:n_layers] == [4] * n_layers


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_masked_and_what_was_never_written_stay_apart_where_rows_are_low(
    three: MakeThree, theme
) -> None:
    spec = replace(PLAIN, capacity=200, prompt_ids=tuple(range(100, 250)))
    attention = three(view_of(spec, 0), theme=theme).attention
    canvas, image = canvas_of(attention), pixels(picture(attention))
    assert canvas.row_middle(1) - canvas.row_middle(0) < 6
    last = canvas.slots[: canvas.ruler().shown.stop][-1]
    top, bottom = int(canvas.row_middle(0)) + 2, int(canvas.row_middle(0)) + 22
    assert last >= 150

    def around(slot: int) -> np.ndarray:
        x = middle(attention, slot, 0).x()
        return image[top:bottom, x - 6 : x + 6]

    masked, unwritten = around(148), around(int(last))
    tone = code_image.masked_tone(theme).rgb()
    assert 0.3 < (masked == tone).mean() < 0.95
    assert 0.5 < (unwritten == theme.paper.rgb()).mean() < 0.99


def test_which_slots_are_shown_is_said_where_it_is_not_all() -> None:
    assert part_words(np.arange(936, 955), 1024)[0] == "slots 936–954 of 1,024"
    assert part_words(np.array([3, 1, 2]), 1024)[0] == "3 of 1,024 slots"
    assert part_words(np.arange(12), 12) == ("", "")


def test_a_wrong_number_is_shown_where_only_every_eighth_has_room(three: MakeThree) -> None:
    spec = with_fault(replace(PLAIN, capacity=50), "pos-restart")
    cache = three(view_of(spec, 1)).cache
    cache.slot_scroll.show_all()
    canvas = canvas_of(cache)
    assert 6 <= canvas.ruler().column_px < 14
    numbers = pixels(picture(cache))[int(canvas.row_middle(0)) + 16 :]
    at = middle(cache, 7, 0).x()
    assert (numbers[:, at - 4 : at + 5] == LIGHT.alarm.rgb()).any()
    assert not (numbers[:, : at - 12] == LIGHT.alarm.rgb()).any()


# At the left of the mask


def test_the_row_that_the_mask_used_is_named_in_alarm_beside_its_cells(three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 1)
    mask = three(view).mask
    canvas = canvas_of(mask)
    gutter = pixels(picture(mask))[:, 48 : int(canvas.ruler().start) - 4]
    used, right = (int(canvas.row_middle(row)) for row in (0, 1))
    assert has_alarm(gutter[used - 7 : used + 7])
    assert not has_alarm(gutter[right - 7 : right + 7])
    assert (gutter[right - 7 : right + 7] != LIGHT.paper.rgb()).any()


def test_a_right_mask_has_no_alarm_at_the_left(three: MakeThree) -> None:
    mask = three(view_of(PLAIN, 1)).mask
    gutter = pixels(picture(mask))[:, : int(canvas_of(mask).ruler().start)]
    assert not has_alarm(gutter)


def test_the_triangle_shows_the_row_used_and_the_right_one(three: MakeThree) -> None:
    """Eight rows, of which the first was used and the last is right."""
    mask = three(view_of(with_fault(PLAIN, "mask-top-left"), 1)).mask
    canvas, image = canvas_of(mask), pixels(picture(mask))
    top = canvas.row_middle(0) - 10
    each = (canvas.row_middle(1) + 10 - top) / 8
    found = [image[int(top + each * (row + 0.4)), LIGHT.margin_px + 1] for row in range(8)]
    assert [colour == LIGHT.live.rgb() for colour in found] == [True, *[False] * 6, True]
    assert all(colour == LIGHT.frame.rgb() for colour in found[1:7])
    # The bracket of the row used begins at the end of row 0, that of the right one at row 7.
    beside = image[:, LIGHT.margin_px + 31 : LIGHT.margin_px + 36]
    first, last = (beside[int(top + each * row) : int(top + each * (row + 1))] for row in (0, 7))
    assert has_alarm(first)
    assert not has_alarm(last)
    assert (last != LIGHT.paper.rgb()).any()


def test_in_a_narrow_view_the_words_stay_and_the_triangle_goes(three: MakeThree) -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 1)
    mask = three(view, (394, 200)).mask
    gutter = pixels(picture(mask))[:, : int(canvas_of(mask).ruler().start) - 2]
    assert has_alarm(gutter)
    assert not (gutter == LIGHT.live.rgb()).any()
