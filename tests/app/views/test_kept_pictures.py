"""What a view keeps from step to step never shows: it paints as one that was just made."""

import random
from collections.abc import Callable

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme
from app.views.attention import AttentionView
from app.views.cache import CacheView
from app.views.mask import MaskView
from app.views.next_token import NextTokenView
from app.widgets import code_image
from app.widgets.canvas import Canvas
from app.widgets.head_atlas import HeadAtlas
from app.widgets.panel import CanvasPanel, Readout
from app.widgets.slot_panel import SlotPanel
from app.widgets.slot_scroll import SlotScroll
from app.widgets.tensor_image import TensorImage
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.inspector import inspector_readout
from core.readouts.mask import mask_readout
from core.readouts.next_token import next_token_readout
from core.readouts.run_view import RunView
from tests.core.readouts.runs import (
    FORCED,
    FULL,
    LONG,
    NOTHING,
    PLAIN,
    SINKS,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

VIEWS: dict[str, tuple[Callable[[Theme], CanvasPanel], Callable[[RunView], Readout]]] = {
    "attention": (AttentionView, attention_readout),
    "cache": (CacheView, cache_readout),
    "mask": (MaskView, mask_readout),
    "next token": (NextTokenView, next_token_readout),
}
LOOKS = [
    view_of(spec, step, **chosen)
    for spec, step, chosen in (
        (PLAIN, 2, {}),
        (PLAIN, 3, {"layer": 2, "head": 1}),
        (PLAIN, 3, {"slot": 4}),
        (WINDOW, 3, {}),
        (with_fault(PLAIN, "pos-restart"), 2, {}),
        (WINDOW, 4, {"token_index": 6}),
        (SINKS, 4, {}),
        (with_fault(PLAIN, "mask-top-left"), 1, {}),
        (with_fault(PLAIN, "mask-unwritten"), 1, {}),
        (FORCED, 1, {}),
        (FULL, 6, {}),
        (LONG, 0, {}),
        (NOTHING, 0, {}),
    )
] + [pending_view_of(PLAIN, 3)]
SIZES = ((660, 260), (420, 140), (900, 200))


def picture(widget: QWidget) -> QImage:
    (canvas,) = widget.findChildren(Canvas)
    return canvas.grab().toImage()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("part", VIEWS)
def test_after_any_jumps_and_sizes_a_view_paints_as_a_new_one(
    qtbot: QtBot, part: str, theme: Theme
) -> None:
    build, readout_of = VIEWS[part]
    rnd = random.Random(part)
    kept = build(theme)
    qtbot.addWidget(kept)
    for _ in range(30):
        view, size = rnd.choice(LOOKS), rnd.choice(SIZES)
        by_slot = rnd.random() < 0.5
        fresh = build(theme)
        qtbot.addWidget(fresh)
        for widget in (kept, fresh):
            widget.resize(*size)
            if isinstance(widget, SlotPanel):
                scroll = widget.slot_scroll
                (scroll.order_by_slot if by_slot else scroll.order_by_token)()
            widget.show_readout(readout_of(view))
            widget.show()
        assert picture(kept) == picture(fresh), (view.spec, view.selection, size)


@pytest.mark.parametrize("view", LOOKS[:8], ids=lambda view: f"step {view.selection.step}")
@pytest.mark.parametrize("part", ["attention", "cache", "mask"])
def test_an_order_chosen_later_paints_as_one_that_was_there_first(
    qtbot: QtBot, part: str, view: RunView
) -> None:
    build, readout_of = VIEWS[part]
    kept, fresh = build(LIGHT), build(LIGHT)
    for widget in (kept, fresh):
        qtbot.addWidget(widget)
        widget.resize(*SIZES[0])
    assert isinstance(kept, SlotPanel)
    assert isinstance(fresh, SlotPanel)
    kept.show_readout(readout_of(view))
    picture(kept)
    for choose in (SlotScroll.order_by_token, SlotScroll.show_all, SlotScroll.order_by_slot):
        for panel in (kept, fresh):
            choose(panel.slot_scroll)
            panel.slot_scroll.go_to(0, view.selection.slot)  # so all orders share a ruler
        fresh.show_readout(readout_of(view))
        assert picture(kept) == picture(fresh)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_heat_map_paints_as_a_new_one_after_any_other_tensor(qtbot: QtBot, theme: Theme) -> None:
    readout = inspector_readout(view_of(PLAIN, 0))
    sheets = [sheet for entry in readout.tensors if (sheet := readout.sheet(entry.id)) is not None]
    assert {sheet.kind for sheet in sheets} == {"signed", "weights", "mask"}
    kept = TensorImage(theme)
    qtbot.addWidget(kept)
    for sheet in (*sheets, *reversed(sheets)):
        fresh = TensorImage(theme)
        qtbot.addWidget(fresh)
        for canvas in (kept, fresh):
            canvas.resize(300, 150)
            canvas.show_sheet(sheet, readout.selection)
        assert kept.grab().toImage() == fresh.grab().toImage(), sheet.kind


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_a_tile_of_the_atlas_shows_the_codes_of_its_head(scale: float) -> None:
    """Tiles with more pixels than codes: each code is found in the middle of its part."""
    readout = attention_readout(view_of(PLAIN, 3))
    n_layers, n_heads, n_rows, n_columns = readout.atlas.shape
    colours = code_image.palette(LIGHT)
    atlas = HeadAtlas(QRectF(10, 5, 400, 300), n_layers, n_heads)
    image = QImage(int(500 * scale), int(400 * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(LIGHT.paper)
    painter = QPainter(image)
    atlas.draw(painter, readout.atlas, colours, LIGHT, scale)
    painter.end()
    for layer in range(n_layers):
        for head in range(n_heads):
            tile = atlas.tile(layer, head)
            for row in range(n_rows):
                for column in range(n_columns):
                    x = tile.left() + tile.width() * (column + 0.5) / n_columns
                    y = tile.top() + tile.height() * (row + 0.5) / n_rows
                    found = image.pixel(int(x * scale), int(y * scale))
                    assert found == colours[readout.atlas[layer, head, row, column]]
            assert image.pixel(
                int((tile.left() - 0.4) * scale), int(tile.center().y() * scale)
            ) == (LIGHT.frame.rgb())


def test_masked_and_never_written_differ_where_cells_are_a_pixel_high(qtbot: QtBot) -> None:
    for theme in (LIGHT, DARK):
        tones = code_image.palette(theme)
        assert tones[code_image.MASKED] != tones[code_image.NEVER_WRITTEN]
        widget = AttentionView(theme)
        qtbot.addWidget(widget)
        widget.resize(660, 140)
        widget.show_readout(attention_readout(view_of(LONG, 0)))
        image = picture(widget)
        found = {image.pixel(x, y) for x in range(90, 400) for y in range(10, 60)}
        assert int(tones[code_image.MASKED]) in found
