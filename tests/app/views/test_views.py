"""Every view paints every kind of readout, and tells what was chosen in it."""

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme
from app.views.attention import AttentionView
from app.views.cache import CacheView
from app.views.mask import MaskView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from app.widgets import code_image
from app.widgets.canvas import Canvas
from app.widgets.panel import CanvasPanel
from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_ruler import SlotRuler
from app.widgets.step_ruler import StepRuler
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.run_view import RunView
from core.readouts.timeline import timeline_readout
from core.readouts.tokens import tokens_readout
from core.selection import Selection
from core.spec import RunSpec
from tests.core.readouts.runs import (
    CHUNKED,
    FORCED,
    FULL,
    LONG,
    NEW_TEXT,
    NOTHING,
    PLAIN,
    PROBED,
    RANKED,
    REPREFILL,
    ROLLED_BACK,
    SINKS,
    UNEVEN,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

PARTS: dict[str, tuple[Callable[[Theme], CanvasPanel], Callable[[RunView], object]]] = {
    "tokens": (TokensView, tokens_readout),
    "cache": (CacheView, cache_readout),
    "mask": (MaskView, mask_readout),
    "attention": (AttentionView, attention_readout),
    "timeline": (TimelineView, timeline_readout),
}
SIZES = ((320, 120), (640, 180), (1280, 420))
CASES: dict[str, tuple[RunSpec, int]] = {
    "first step": (PLAIN, 0),
    "decode": (PLAIN, 3),
    "chunk": (CHUNKED, 1),
    "long prompt": (LONG, 0),
    "refused prompt": (NOTHING, 0),
    "forced": (FORCED, 1),
    "refused": (FULL, 6),
    "rollback": (ROLLED_BACK, 7),
    "new prompt": (NEW_TEXT, 2),
    "probe": (PROBED, 2),
    "row of a probe": (PROBED, 3),
    "window": (WINDOW, 4),
    "sinks": (SINKS, 4),
    "ranks": (RANKED, 4),
    "reprefill": (REPREFILL, 3),
    "mask-top-left": (with_fault(PLAIN, "mask-top-left"), 2),
    "store-row-zero": (with_fault(PLAIN, "store-row-zero"), 2),
    "store-alias-in": (with_fault(PLAIN, "store-alias-in"), 3),
    "mask-unwritten": (with_fault(PLAIN, "mask-unwritten"), 0),
    "pos-restart": (with_fault(PLAIN, "pos-restart"), 2),
    "cap-early": (with_fault(FULL, "cap-early"), 5),
    "cap-counter-first": (with_fault(ROLLED_BACK, "cap-counter-first"), 8),
    "store-uneven": (with_fault(UNEVEN, "store-uneven"), 3),
    "one layer": (with_fault(PLAIN, "store-row-zero", layers=(2,)), 2),
}
MakeView = Callable[..., CanvasPanel]


@pytest.fixture
def shown(qtbot: QtBot) -> MakeView:
    """A part, shown at a size with the readout of a view; it lives as long as the test."""
    alive: list[CanvasPanel] = []

    def make(
        part: str, view: RunView | None, size: tuple[int, int] = (1000, 240), theme: Theme = LIGHT
    ) -> CanvasPanel:
        build, readout_of = PARTS[part]
        widget = build(theme)
        alive.append(widget)
        qtbot.addWidget(widget)
        widget.resize(*size)
        if view is not None:
            widget.show_readout(readout_of(view))
        widget.show()
        return widget

    return make


def canvas_of(widget: CanvasPanel) -> Canvas:
    (canvas,) = widget.findChildren(Canvas)
    return canvas


def colours(image: QImage) -> set[int]:
    kept = image.convertToFormat(QImage.Format.Format_RGB32)  # alive as long as its pixels are
    return set(np.unique(np.frombuffer(kept.constBits(), np.uint32)).tolist())


def is_near(pixel: int, colour: QColor) -> bool:
    """Whether it is the colour, or one that the edge of a letter mixed from it."""
    found = QColor(pixel)
    return found.saturation() > 150 and abs(found.hue() - colour.hue()) < 8


def place_of(readout_columns: int, canvas: Canvas, column: int, y: int) -> QPoint:
    ruler = SlotRuler(canvas.width(), readout_columns)
    return QPoint(int(ruler.left(column) + ruler.column_px / 2), y)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("part", PARTS)
def test_each_view_paints_each_kind_of_step_at_three_sizes(
    shown: MakeView, part: str, case: str
) -> None:
    for size in SIZES:
        for theme in (LIGHT, DARK):
            widget = shown(part, view_of(*CASES[case]), size, theme)
            image = canvas_of(widget).grab().toImage()
            assert len(colours(image)) > 2


@pytest.mark.parametrize("part", PARTS)
def test_each_view_paints_steps_without_a_verdict(shown: MakeView, part: str) -> None:
    spec, step = CASES["mask-top-left"]
    image = canvas_of(shown(part, pending_view_of(spec, step))).grab().toImage()
    assert LIGHT.alarm.rgb() not in colours(image)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("part", "case"),
    [
        ("tokens", "mask-top-left"),
        ("cache", "store-row-zero"),
        ("cache", "pos-restart"),
        ("cache", "cap-early"),
        ("mask", "mask-top-left"),
        ("mask", "mask-unwritten"),
        ("attention", "store-row-zero"),
        ("timeline", "cap-early"),
    ],
)
def test_what_is_wrong_is_painted_in_alarm(
    shown: MakeView, part: str, case: str, theme: Theme
) -> None:
    image = canvas_of(shown(part, view_of(*CASES[case]), theme=theme)).grab().toImage()
    assert theme.alarm.rgb() in colours(image)


def test_a_wrong_step_without_logits_has_a_sign_in_alarm(shown: MakeView) -> None:
    """Step 7, the rollback, is wrong too, but not the first, and has no error to draw."""
    view = view_of(*CASES["cap-counter-first"])
    image = canvas_of(shown("timeline", view, (1000, 160))).grab().toImage()
    ruler = StepRuler.of(LIGHT, 1000, len(view.records))
    wrong, right = (
        image.copy(int(ruler.middle(step)) - 14, 0, 28, image.height()) for step in (7, 4)
    )
    assert any(is_near(pixel, LIGHT.alarm) for pixel in colours(wrong))
    assert not any(is_near(pixel, LIGHT.alarm) for pixel in colours(right))


@pytest.mark.parametrize(
    "case", ["first step", "decode", "window", "sinks", "ranks", "probe", "row of a probe"]
)
@pytest.mark.parametrize("part", PARTS)
def test_a_right_run_has_no_alarm_anywhere(shown: MakeView, part: str, case: str) -> None:
    image = canvas_of(shown(part, view_of(*CASES[case]))).grab().toImage()
    assert LIGHT.alarm.rgb() not in colours(image)


@pytest.mark.parametrize("part", PARTS)
def test_a_cleared_view_says_what_will_be_there(shown: MakeView, part: str) -> None:
    empty = canvas_of(shown(part, None)).grab().toImage()
    widget = shown(part, view_of(PLAIN, 2))
    assert canvas_of(widget).grab().toImage() != empty
    widget.clear()
    assert canvas_of(widget).grab().toImage() == empty
    assert len(colours(empty)) > 2


@pytest.mark.parametrize("part", PARTS)
def test_a_screen_reader_gets_a_name_and_the_sentence(shown: MakeView, part: str) -> None:
    view = view_of(PLAIN, 1)
    widget = shown(part, view)
    sentence = PARTS[part][1](view).sentence  # pyright: ignore[reportAttributeAccessIssue]
    for spoken in (widget, canvas_of(widget)):
        assert spoken.accessibleName().lower() == part
        assert spoken.accessibleDescription() == sentence
    assert widget.sentence == sentence


@pytest.mark.parametrize("part", ["tokens", "cache", "mask", "attention"])
def test_the_selection_is_marked_in_every_view(shown: MakeView, part: str) -> None:
    plain = canvas_of(shown(part, view_of(PLAIN, 2))).grab().toImage()
    chosen = view_of(PLAIN, 2, token_index=3)
    assert canvas_of(shown(part, chosen)).grab().toImage() != plain


def test_a_long_sentence_is_cut_between_words_where_there_is_one_line(shown: MakeView) -> None:
    view = view_of(*CASES["mask-unwritten"])
    full = mask_readout(view).sentence
    low, high = shown("mask", view, (420, 60)), shown("mask", view, (420, 200))
    label = low.findChildren(QLabel)[0]
    assert label.text().endswith(" …")
    assert full.startswith(label.text().removesuffix(" …"))
    assert label.toolTip() == full
    assert label.geometry().top() >= canvas_of(low).geometry().bottom()
    assert high.findChildren(QLabel)[0].text() == full
    assert low.sentence == full


def click(qtbot: QtBot, widget: CanvasPanel, at: QPoint) -> Selection:
    with qtbot.waitSignal(widget.selected) as signal:
        qtbot.mouseClick(canvas_of(widget), Qt.MouseButton.LeftButton, pos=at)
    assert signal.args is not None
    (selection,) = signal.args
    assert isinstance(selection, Selection)
    return selection


def test_a_click_on_a_slot_chooses_slot_token_and_position(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("cache", view_of(RANKED, 3, layer=1, head=2))
    n_slots = cache_readout(view_of(RANKED, 3)).n_slots
    # Slot 4 holds token 4, which has rank 2 now.
    at = place_of(n_slots, canvas_of(widget), 4, 12)
    assert click(qtbot, widget, at) == Selection(
        step=3, layer=1, head=2, token_index=4, slot=4, position_id=2
    )


def lines_px(n_layers: int) -> int:
    """Height of the lines that say in which layers a stored row is not the reference's."""
    return 4 * n_layers + 3


def test_a_click_on_a_line_below_a_row_chooses_its_layer(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("cache", view_of(*CASES["mask-top-left"]), (1000, 240))
    chosen = [
        click(qtbot, widget, place_of(12, canvas_of(widget), 7, 6 + 28 + 5 * line + 2)).layer
        for line in range(4)
    ]
    assert chosen == [0, 1, 2, 3]


def test_a_row_that_is_not_the_references_has_a_corner_and_lines_in_alarm(shown: MakeView) -> None:
    """Under mask-top-left all rows of decoded tokens differ, above layer 0: slots 7 and 8."""
    canvas = canvas_of(shown("cache", view_of(*CASES["mask-top-left"]), (1000, 240)))
    image, ruler = canvas.grab().toImage(), SlotRuler(canvas.width(), 12)

    def in_alarm(top: int, height: int) -> list[int]:
        width = int(ruler.column_px) - 8
        cells = [image.copy(int(ruler.left(n)) + 6, top, width, height) for n in range(12)]
        return [n for n, cell in enumerate(cells) if LIGHT.alarm.rgb() in colours(cell)]

    assert in_alarm(6, 24) == [7, 8]
    assert in_alarm(34, 4) == []
    assert in_alarm(38, 12) == [7, 8]


def test_a_click_on_the_row_of_another_layer_chooses_the_layer(
    qtbot: QtBot, shown: MakeView
) -> None:
    spec, step = CASES["one layer"]
    widget = shown("cache", view_of(spec, step), (1000, 240))
    # The second row from the top is layer 2, in which slot 0 holds token 8. Between the two are
    # lines of the three other layers: in layer 3 the row of token 8 is not the reference's.
    at = place_of(12, canvas_of(widget), 0, 6 + 28 + lines_px(3) + 8)
    assert click(qtbot, widget, at) == Selection(
        step=step, layer=2, token_index=0, slot=0, position_id=0
    )


def test_a_click_on_a_masked_row_chooses_its_slot(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("mask", view_of(*CASES["mask-top-left"]))
    at = place_of(12, canvas_of(widget), 5, 12)
    assert click(qtbot, widget, at) == Selection(step=2, token_index=5, slot=5, position_id=5)


def test_a_click_on_the_name_of_a_query_chooses_its_token(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("mask", view_of(PLAIN, 0), (1000, 240))
    assert click(qtbot, widget, QPoint(40, 6 + 22 * 2 + 8)) == Selection(step=0, token_index=2)


def test_a_click_on_a_token_chooses_it(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("tokens", view_of(PLAIN, 2, slot=3))
    at = place_of(1, canvas_of(widget), 0, 30)
    at.setX(int(SlotRuler(1000, 1).gutter_px) + 4)
    assert click(qtbot, widget, at) == Selection(step=2, token_index=0)


def test_a_click_in_the_atlas_chooses_layer_and_head(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("attention", view_of(PLAIN, 2, token_index=3), (1200, 420))
    canvas = canvas_of(widget)
    side = SlotRuler(canvas.width(), 12).side_left + 24
    width = (canvas.width() - side - 6) / 4
    at = QPoint(int(side + 2.5 * width), 40)
    assert click(qtbot, widget, at) == Selection(step=2, layer=0, head=2, token_index=3)


def row_of_attention(canvas: Canvas, row: int) -> int:
    """The middle of a row of the enlarged head; -1: the newest."""
    assert isinstance(canvas, SlotCanvas)
    return int(canvas.row_middle(row % canvas.n_rows()))


def test_a_click_in_the_enlarged_head_chooses_the_key(qtbot: QtBot, shown: MakeView) -> None:
    view = view_of(WINDOW, 3)
    widget = shown("attention", view, (1200, 420))
    newest = place_of(9, canvas_of(widget), 0, row_of_attention(canvas_of(widget), -1))
    assert click(qtbot, widget, newest) == Selection(step=3, token_index=9, slot=0)
    first = place_of(9, canvas_of(widget), 0, 20)
    assert click(qtbot, widget, first) == Selection(step=3, token_index=0, slot=0)


def test_a_click_on_the_timeline_chooses_the_step(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("timeline", view_of(PLAIN, 1, layer=2, token_index=3))
    at = QPoint(int(StepRuler.of(LIGHT, 1000, 6).middle(4)), 60)
    assert click(qtbot, widget, at) == Selection(step=4, layer=2, token_index=3)


def test_a_click_beside_everything_chooses_nothing(qtbot: QtBot, shown: MakeView) -> None:
    for part in PARTS:
        widget = shown(part, view_of(PLAIN, 2), (1200, 240))
        with qtbot.assertNotEmitted(widget.selected):
            qtbot.mouseClick(canvas_of(widget), Qt.MouseButton.LeftButton, pos=QPoint(1190, 2))


def tip_at(canvas: Canvas, at: QPoint) -> str:
    found = canvas.hit(QPointF(at))
    return "" if found is None else found.tip


def test_the_exact_weight_is_told_where_the_mouse_rests(shown: MakeView) -> None:
    view = view_of(PLAIN, 0)
    widget = shown("attention", view, (1200, 420))
    canvas = canvas_of(widget)
    recorded = float(view.records[0].layers[0].weights[0, 1, 0])
    tip = tip_at(canvas, place_of(12, canvas, 0, row_of_attention(canvas, 1)))
    assert f"weight {recorded!r}" in tip
    assert "query: token 1 ‘h’, step 0" in tip
    assert "key: slot 0, token 0 ‘W’" in tip


def test_a_tool_tip_shows_what_a_slot_holds(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda at, text, widget: said.append(text))
    canvas = canvas_of(shown("cache", view_of(*CASES["store-row-zero"])))
    at = place_of(12, canvas, 0, 12)
    for place in (at, QPoint(2, 2)):
        event = QHelpEvent(QEvent.Type.ToolTip, place, canvas.mapToGlobal(place))
        QApplication.sendEvent(canvas, event)
    assert said[0].splitlines()[:3] == [
        "slot 0 · row 0",
        "holds the row of another token",
        f"token 8 ‘{view_token(8)}’",
    ]
    assert said[1] == ""


def test_the_tip_of_a_slot_tells_what_the_ledger_claims_where_it_differs(shown: MakeView) -> None:
    canvas = canvas_of(shown("cache", view_of(*CASES["store-row-zero"])))
    tips = [tip_at(canvas, place_of(12, canvas, slot, 12)).splitlines() for slot in (0, 7, 1)]
    assert tips[0][-3:] == [
        "position id 8",
        "its row is not the one that the reference computes for the token, in layers 1–3",
        "the ledger claims token 0, position id 0",
    ]
    assert tips[1][-2:] == [
        "counted, never written",
        "the ledger claims token 7, position id 7",
    ]
    assert tips[2][-1] == "position id 1"


def test_a_mask_cell_that_shows_another_token_s_row_is_marked(shown: MakeView) -> None:
    """Slot 0 holds token 8, slots 7 and 8 nothing; a first row of cells, all of them seen."""
    canvas = canvas_of(shown("mask", view_of(*CASES["store-row-zero"]), (1000, 240)))
    image = canvas.grab().toImage()
    ruler = SlotRuler(canvas.width(), 12)
    cells = [image.copy(int(ruler.left(n)), 6, 30, 20) for n in range(9)]
    assert [n for n, cell in enumerate(cells) if LIGHT.alarm.rgb() in colours(cell)] == [0, 7, 8]


@pytest.mark.parametrize("height", [240, 300, 420])
def test_low_rows_of_attention_still_have_names(shown: MakeView, height: int) -> None:
    """Of rows lower than a letter every n-th is named, and always the newest."""
    canvas = canvas_of(shown("attention", view_of(LONG, 0), (1000, height)))
    gutter = canvas.grab().toImage().copy(0, 17, 70, canvas.height() - 17 - 24)
    lines = [len(colours(gutter.copy(0, y, 70, 1))) > 1 for y in range(gutter.height())]
    assert sum(lines) > len(lines) // 3
    assert any(lines[-14:])


def test_the_tip_of_a_mask_column_gives_a_position_to_the_token_that_has_it(
    shown: MakeView,
) -> None:
    canvas = canvas_of(shown("mask", view_of(*CASES["store-row-zero"])))
    tip = tip_at(canvas, place_of(12, canvas, 0, 12)).splitlines()
    assert tip[1].startswith("slot 0: token 8")
    assert tip[2] == "the ledger claims token 0, position id 0"


def test_a_position_that_the_ledger_does_not_claim_is_outlined(shown: MakeView) -> None:
    """Slot 0 holds token 8, slots 7 and 8 nothing; positions stand in the third row of labels.

    Between cells and labels are lines of four layers: the row in slot 0 is not the reference's.
    """
    canvas = canvas_of(shown("cache", view_of(*CASES["store-row-zero"]), (1000, 240)))
    image = canvas.grab().toImage()
    ruler, top = SlotRuler(canvas.width(), 12), 6 + 28 + lines_px(4) + 2 * 14
    cells = [image.copy(int(ruler.left(n)) + 4, top + 4, 20, 10) for n in range(9)]
    outlined = [n for n, cell in enumerate(cells) if LIGHT.alarm.rgb() in colours(cell)]
    assert outlined == [0, 7, 8]


def view_token(token_index: int) -> str:
    spec, step = CASES["store-row-zero"]
    return list(tokens_readout(view_of(spec, step)).run)[token_index].text


def test_a_hidden_difference_is_told_in_the_tip_of_the_mask(shown: MakeView) -> None:
    canvas = canvas_of(shown("mask", view_of(*CASES["mask-top-left"])))
    tip = tip_at(canvas, place_of(12, canvas, 5, 12))
    assert tip.splitlines()[-2:] == ["masked", "should be seen"]


def test_cache_mask_and_attention_share_one_ruler(shown: MakeView) -> None:
    """The same slot stands at the same place in all three."""
    view = view_of(WINDOW, 3)
    for slot in range(9):
        for part in ("cache", "mask", "attention"):
            canvas = canvas_of(shown(part, view, (900, 240)))
            found = canvas.hit(QPointF(place_of(9, canvas, slot, 20)))
            assert found is not None
            assert found.selection is not None
            assert found.selection.slot == slot


def test_the_switch_of_the_attention_puts_keys_in_token_order(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown("attention", view_of(WINDOW, 3), (1200, 420))
    by_token = next(
        button for button in widget.findChildren(QWidget) if button.toolTip() == "columns by token"
    )
    qtbot.mouseClick(by_token, Qt.MouseButton.LeftButton)
    canvas = canvas_of(widget)
    # Tokens 1 to 9 stand in nine columns; the first query came before token 9.
    rows = (row_of_attention(canvas, 0), row_of_attention(canvas, -1))
    hits = [canvas.hit(QPointF(place_of(9, canvas, 8, y))) for y in rows]
    assert [hit.selection for hit in hits if hit] == [Selection(step=3, token_index=9, slot=0)] * 2
    first = next(hit for hit in hits if hit)
    assert first.tip.splitlines()[2:] == ["key: token 9", "not there yet"]


@pytest.mark.parametrize(
    ("case", "row", "column", "words"),
    [
        ("window", 0, 0, "key: slot 0, token 0 ‘W’"),
        ("window", 0, 8, "key: slot 8\nnot there yet"),
        ("store-row-zero", 0, 0, "key: slot 0, token 0 ‘W’"),
        ("store-row-zero", 7, 0, "the ledger claims token 0"),
        ("store-row-zero", 7, 7, "key: slot 7, never written"),
        ("mask-top-left", 7, 5, "key: slot 5, token 5 ‘s’\nmasked"),
        ("window", 8, 0, "key: slot 0, token 0 ‘W’\nmasked"),
    ],
)
def test_the_tip_of_a_cell_names_the_key_as_that_query_read_it(
    shown: MakeView, case: str, row: int, column: int, words: str
) -> None:
    view = view_of(*CASES[case])
    readout = attention_readout(view)
    canvas = canvas_of(shown("attention", view, (1200, 420)))
    y = row_of_attention(canvas, row)
    n_columns = len(readout.by_slot.columns)
    assert words in tip_at(canvas, place_of(n_columns, canvas, column, y))


def test_masked_cells_are_hatched_in_both_themes(shown: MakeView) -> None:
    for theme in (LIGHT, DARK):
        canvas = canvas_of(shown("attention", view_of(PLAIN, 0), (1200, 420), theme))
        image = canvas.grab().toImage()
        ruler = SlotRuler(canvas.width(), 12)
        left, top = int(ruler.left(5)) + 2, 19
        cell = {image.pixel(left + x, top + y) for x in range(24) for y in range(24)}
        assert code_image.masked_tone(theme).rgb() in cell
        assert len(cell) > 1


def test_a_text_longer_than_the_view_shows_its_end(shown: MakeView) -> None:
    canvas = canvas_of(shown("tokens", view_of(PLAIN, 5), (260, 120)))
    places = [canvas.hit(QPointF(x, 30)) for x in range(82, 260, 4)]
    tokens = {hit.selection.token_index for hit in places if hit and hit.selection}
    assert 12 in tokens
    assert 0 not in tokens


@pytest.mark.parametrize("part", PARTS)
def test_a_grey_scale_picture_keeps_light_and_dark_apart(shown: MakeView, part: str) -> None:
    """Nothing is told by hue alone: without hue there are still several tones."""
    image = canvas_of(shown(part, view_of(*CASES["store-row-zero"]))).grab().toImage()
    tones = {QColor(pixel).lightness() // 16 for pixel in colours(image)}
    assert len(tones) >= 3


@pytest.mark.parametrize("part", ["mask", "attention"])
def test_a_step_in_which_nothing_was_computed_says_so_once(shown: MakeView, part: str) -> None:
    widget = shown(part, view_of(NOTHING, 0), (640, 200))
    labels = [label for label in widget.findChildren(QLabel) if label.isVisible()]
    assert [label.text() for label in labels] == []
    assert "nothing was computed in this step" in widget.accessibleDescription()
    assert canvas_of(widget).height() == widget.height()
    widget.show_readout(PARTS[part][1](view_of(PLAIN, 1)))
    labels = [label for label in widget.findChildren(QLabel) if label.isVisible()]
    assert [label.text() for label in labels] == [widget.sentence]
