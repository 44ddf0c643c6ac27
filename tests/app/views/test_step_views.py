"""Spread, timeline, next token, tokens and the strip: what they draw, and what they answer."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter
from PySide6.QtWidgets import QLabel, QTableView, QWidget
from pytestqt.qtbot import QtBot

from app.docks.registry import DOCKS
from app.layout import TITLE_PX
from app.theme import DARK, LIGHT, Theme
from app.views.diagnosis import DiagnosisStrip
from app.views.next_token import NextTokenView
from app.views.spread import SpreadView
from app.views.timeline import TimelineView
from app.views.tokens import MORE, NOTE, TokensView
from app.widgets import marks
from app.widgets.canvas import Canvas
from app.widgets.cell_canvas import CellCanvas
from app.widgets.decades import amount, code, contrast, heat
from app.widgets.kept_canvas import KeptCanvas
from app.widgets.slot_ruler import SlotRuler
from app.widgets.step_ruler import StepRuler
from core.readouts.first_difference import first_difference_readout
from core.readouts.next_token import next_token_readout
from core.readouts.run_view import RunView
from core.readouts.spread import SpreadCell, SpreadColumn, spread_readout
from core.readouts.timeline import timeline_readout
from core.readouts.tokens import TokenCell, TokenRow, tokens_readout
from core.selection import Selection
from tests.core.readouts.runs import (
    CHUNKED,
    FORCED,
    FULL,
    LONG,
    NEW_TEXT,
    PLAIN,
    PROBED,
    ROLLED_BACK,
    UNEVEN,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

PARTS: dict[str, tuple[Callable[[Theme], Any], Callable[[RunView], Any]]] = {
    "spread": (SpreadView, spread_readout),
    "timeline": (TimelineView, timeline_readout),
    "next token": (NextTokenView, next_token_readout),
    "tokens": (TokensView, tokens_readout),
    "first difference": (DiagnosisStrip, first_difference_readout),
}
CASES = {
    "first step": (PLAIN, 0),
    "decode": (PLAIN, 3),
    "chunk": (CHUNKED, 1),
    "forced": (FORCED, 1),
    "long prompt": (LONG, 0),
    "refused": (FULL, 6),
    "rollback": (ROLLED_BACK, 7),
    "new prompt": (NEW_TEXT, 2),
    "probe": (PROBED, 2),
    "window": (WINDOW, 4),
    "pos-restart": (with_fault(PLAIN, "pos-restart"), 2),
    "mask-unwritten": (with_fault(PLAIN, "mask-unwritten"), 0),
    "store-row-zero": (with_fault(PLAIN, "store-row-zero"), 2),
    "cap-early": (with_fault(FULL, "cap-early"), 5),
    "cap-counter-first": (with_fault(FULL, "cap-counter-first"), 6),
    "store-uneven": (with_fault(UNEVEN, "store-uneven"), 3),
}
SIZES = ((264, 60), (640, 130), (1280, 300))
FAULTY = view_of(*CASES["pos-restart"])
N_STEPS = len(FAULTY.records)
MakeView = Callable[..., Any]


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[MakeView]:
    """A part, shown at a size with the readout of a view; it lives as long as the test."""
    alive: list[QWidget] = []

    def make(
        part: str, view: RunView | None, size: tuple[int, int] = (1000, 200), theme: Theme = LIGHT
    ) -> Any:
        build, readout_of = PARTS[part]
        widget = build(theme)
        alive.append(widget)
        qtbot.addWidget(widget)
        widget.resize(*size)
        if view is not None:
            widget.show_readout(readout_of(view))
        widget.show()
        return widget

    yield make
    alive.clear()


def canvas_of(widget: QWidget) -> Canvas:
    (canvas,) = widget.findChildren(Canvas)
    return canvas


def kept_canvas_of(widget: QWidget) -> KeptCanvas:
    canvas = canvas_of(widget)
    assert isinstance(canvas, KeptCanvas)
    return canvas


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


def colours(image: QImage) -> set[int]:
    kept = image.convertToFormat(QImage.Format.Format_RGB32)  # alive as long as its pixels are
    return set(np.unique(np.frombuffer(kept.constBits(), np.uint32)).tolist())


def labels_drawn(monkeypatch: pytest.MonkeyPatch, widget: QWidget) -> list[str]:
    """The words that a canvas draws when it is drawn anew."""
    drawn: list[str] = []
    label = marks.label

    def kept(painter: QPainter, place: QRectF, text: str, *rest: Any) -> None:
        drawn.append(text)
        label(painter, place, text, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(marks, "label", kept)
        kept_canvas_of(widget).refresh()
        picture(widget)
    return drawn


def has_alarm(image: QImage, theme: Theme) -> bool:
    """Whether the hue that means wrong is anywhere, also where a letter's edge mixed it."""
    hue = theme.alarm.hue()
    found = (QColor(pixel) for pixel in colours(image))
    return any(c.saturation() > 120 and abs(c.hue() - hue) < 12 for c in found)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("part", PARTS)
def test_each_part_paints_each_kind_of_step_at_three_sizes(
    shown: MakeView, part: str, case: str
) -> None:
    for size in SIZES:
        for theme in (LIGHT, DARK):
            image = picture(shown(part, view_of(*CASES[case]), size, theme))
            assert len(colours(image)) > 2


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("part", ["spread", "timeline", "first difference"])
def test_what_is_wrong_is_painted_in_alarm_and_nothing_else_is(
    shown: MakeView, part: str, theme: Theme
) -> None:
    wrong, right = view_of(*CASES["pos-restart"]), view_of(*CASES["decode"])
    size = (330, 200) if part == "next token" else (1000, 26 if "first" in part else 200)
    assert has_alarm(picture(shown(part, wrong, size, theme)), theme)
    legend = part == "spread"  # it shows what the colours mean
    assert has_alarm(picture(shown(part, right, size, theme)), theme) == legend


@pytest.mark.parametrize("part", PARTS)
def test_what_is_said_is_also_told_to_a_screen_reader(shown: MakeView, part: str) -> None:
    widget = shown(part, FAULTY)
    sentence = PARTS[part][1](FAULTY).sentence
    assert widget.accessibleName().lower() == part
    assert widget.accessibleDescription() == sentence
    assert widget.sentence == sentence


@pytest.mark.parametrize("part", PARTS)
def test_a_grey_scale_picture_still_has_several_tones(shown: MakeView, part: str) -> None:
    tones = {QColor(pixel).lightness() // 16 for pixel in colours(picture(shown(part, FAULTY)))}
    assert len(tones) >= 3


# Steps


def middle(step: int, n_steps: int = N_STEPS, width: int = 1000) -> int:
    return int(StepRuler.of(LIGHT, width, n_steps).middle(step))


def test_a_step_stands_at_the_same_place_in_timeline_and_spread(shown: MakeView) -> None:
    for step in range(N_STEPS):
        for part in ("timeline", "spread"):
            found = canvas_of(shown(part, FAULTY)).hit(QPointF(middle(step), 40))
            assert found is not None
            assert found.selection is not None
            assert found.selection.step == step


@pytest.mark.parametrize("n_steps", [1, 7, 200, 2000])
def test_every_step_is_in_exactly_one_drawn_column(n_steps: int) -> None:
    ruler = StepRuler.of(LIGHT, 1100, n_steps)
    lefts, width, starts = ruler.pools()
    drawn = [ruler.steps_at(left + width / 2) for left in lefts]
    assert [step for steps in drawn for step in steps] == list(range(n_steps))
    assert [steps.start for steps in drawn] == starts
    assert lefts[0] == ruler.gutter_px
    assert lefts[-1] + width <= 1100


def test_a_click_in_the_spread_goes_to_the_step_and_its_layer(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown("spread", FAULTY, (1000, 240))
    canvas = canvas_of(widget)
    with qtbot.waitSignal(widget.selected) as signal:
        # Nine rows of 20 pixels from the third on: row 6 is layer 2.
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(middle(4), 3 + 6 * 20 + 9))
    assert signal.args == [Selection(step=4, layer=2)]


def test_dragging_along_the_timeline_goes_from_step_to_step(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("timeline", FAULTY)
    canvas = canvas_of(widget)
    chosen: list[int] = []
    widget.selected.connect(lambda selection: chosen.append(selection.step))
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(middle(1), 40))
    for step in (3, 4):
        qtbot.mouseMove(canvas, QPoint(middle(step), 40))
    qtbot.mouseMove(canvas, QPoint(995, 40))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(995, 40))
    assert chosen == [1, 3, 4, 5]


def test_keys_move_along_the_timeline(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("timeline", view_of(*CASES["pos-restart"]))
    for key, step in ((Qt.Key.Key_Right, 3), (Qt.Key.Key_Left, 1)):
        with qtbot.waitSignal(widget.selected) as signal:
            qtbot.keyClick(canvas_of(widget), key)
        assert signal.args == [Selection(step=step)]


def test_keys_move_through_the_cells_of_the_spread_and_enter_goes_there(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown("spread", FAULTY)
    canvas = canvas_of(widget)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(canvas, key)
    # The first key points at the first wrong stage of step 2; then step 3, one stage further.
    assert "step 3 · slots" in canvas.accessibleDescription()
    with qtbot.waitSignal(widget.selected) as signal:
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert signal.args == [Selection(step=3)]


@pytest.mark.parametrize("part", ["spread", "timeline", "tokens", "next token"])
def test_the_key_t_opens_the_same_data_as_a_table(qtbot: QtBot, shown: MakeView, part: str) -> None:
    widget = shown(part, FAULTY)
    qtbot.keyClick(canvas_of(widget), Qt.Key.Key_T)
    (table,) = widget.findChildren(QTableView)
    qtbot.waitUntil(table.isVisible)
    model = table.model()
    cells = [
        str(model.index(row, column).data())
        for row in range(model.rowCount())
        for column in range(model.columnCount())
    ]
    wanted = {
        "spread": "wrong",
        "timeline": "position ids",
        "tokens": f"‘{FAULTY.token_text(FAULTY.spec.prompt_ids[0])}’",
        "next token": "the right choice",
    }
    assert any(wanted[part] in cell for cell in cells)


def test_only_the_mark_of_the_step_changes_when_another_one_is_looked_at(shown: MakeView) -> None:
    """The picture below is kept; it is the same as one drawn anew."""
    for part in ("timeline", "spread"):
        moved = shown(part, FAULTY)
        picture(moved)
        there = replace(FAULTY, selection=replace(FAULTY.selection, step=4))
        moved.show_readout(PARTS[part][1](there))
        assert canvas_of(moved).grab().toImage() == canvas_of(shown(part, there)).grab().toImage()


# Spread


def test_inside_the_band_is_paper_and_beyond_it_more_alarm_with_each_decade() -> None:
    for theme in (LIGHT, DARK):
        assert heat(theme, SpreadCell("right")) == theme.paper
        cells = [SpreadCell("wrong", float(decades)) for decades in range(8)]
        gaps = [contrast(theme.paper, heat(theme, cell)) for cell in cells]
        assert gaps == sorted(gaps)
        assert gaps[0] > 1.1
        assert heat(theme, cells[6]) == heat(theme, SpreadCell("wrong")) == theme.alarm


@pytest.mark.parametrize(
    ("cell", "sign"),
    [
        (SpreadCell("wrong"), "✕"),
        (SpreadCell("wrong", 4.2), "10⁴"),
        (SpreadCell("wrong", 0.1), "✕"),
        (SpreadCell("wrong", 12.0), "10¹²"),
        (SpreadCell("wrong", float("inf")), "N"),
    ],
)
def test_a_wrong_cell_says_how_far_it_is_off(cell: SpreadCell, sign: str) -> None:
    assert amount(cell) == sign


def test_of_cells_in_one_pixel_the_worst_is_shown() -> None:
    order = [
        SpreadCell("nothing"),
        SpreadCell("right"),
        SpreadCell("not kept"),
        SpreadCell("rounding"),
        SpreadCell("pending"),
        SpreadCell("wrong", 0.0),
        SpreadCell("wrong", 3.0),
        SpreadCell("wrong"),
    ]
    codes = [code(cell) for cell in order]
    assert codes == sorted(set(codes))


def long_spread(n_steps: int, wrong: tuple[int, ...]) -> Any:
    """A right run of many steps in which only some are wrong, at the mask."""
    base = spread_readout(view_of(PLAIN, 0))
    right = base.columns[1].cells
    bad = (*right[:3], SpreadCell("wrong"), *right[4:])
    columns = tuple(
        SpreadColumn(step, "decode", bad if step in wrong else right) for step in range(n_steps)
    )
    first = (wrong[0], 3) if wrong else None
    return replace(base, columns=columns, first_wrong=first)


def test_one_wrong_step_among_two_thousand_is_seen_and_clicked(
    qtbot: QtBot, shown: MakeView
) -> None:
    widget = shown("spread", None, (1100, 200))
    widget.show_readout(long_spread(2000, (1234,)))
    canvas = canvas_of(widget)
    ruler = StepRuler.of(LIGHT, 1100, 2000)
    n_stages = len(spread_readout(view_of(PLAIN, 0)).stages)
    line_px = getattr(canvas, "line_px")  # noqa: B009  (of the canvas of Spread)
    row_px = (canvas.height() - 5 - line_px) // n_stages
    at = QPoint(int(ruler.middle(1234)), 3 + 3 * row_px + row_px // 2)
    strip = canvas.grab().toImage().copy(at.x() - 1, at.y(), 3, 1)
    assert LIGHT.alarm.rgb() in colours(strip)
    with qtbot.waitSignal(widget.selected) as signal:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert signal.args == [Selection(step=1234)]


def test_pending_steps_are_hatched_and_look_like_no_right_ones(shown: MakeView) -> None:
    pending, right = pending_view_of(PLAIN, 0), view_of(PLAIN, 0)
    x = middle(3)
    cells = [
        colours(canvas_of(shown("spread", view)).grab().toImage().copy(x - 8, 6, 16, 10))
        for view in (pending, right)
    ]
    assert cells[1] == {LIGHT.paper.rgb()}
    assert len(cells[0]) > 1


# The strip


def test_a_click_on_the_strip_goes_to_the_first_difference(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("first difference", FAULTY, (1000, 26))
    for act in (
        lambda: qtbot.mouseClick(widget, Qt.MouseButton.LeftButton),
        lambda: qtbot.keyClick(widget, Qt.Key.Key_Return),
    ):
        with qtbot.waitSignal(widget.selected) as signal:
            act()
        assert signal.args == [Selection(step=1, token_index=7)]


def test_the_strip_names_the_mechanism_and_accounts_for_it_in_its_tip(shown: MakeView) -> None:
    widget = shown("first difference", FAULTY, (1000, 26))
    readout = first_difference_readout(FAULTY)
    assert readout.mechanism is not None
    assert widget.sentence.startswith(readout.mechanism)
    for sentence in (readout.difference, *readout.account):
        assert sentence in widget.toolTip()
    unknown = replace(readout, mechanism=None, sentence=readout.difference)
    named = widget.grab().toImage()
    widget.show_readout(unknown)
    assert widget.grab().toImage() != named


def test_a_right_run_has_nowhere_to_go(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("first difference", view_of(PLAIN, 2), (1000, 26))
    with qtbot.assertNotEmitted(widget.selected):
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_the_strip_says_what_will_be_there_before_there_is_a_step(shown: MakeView) -> None:
    strip = shown("first difference", None, (1000, 26))
    assert "appears here" in strip.accessibleDescription()
    assert len(colours(picture(strip))) > 2
    strip.show_readout(first_difference_readout(view_of(PLAIN, 0)))
    strip.clear()
    assert "appears here" in strip.accessibleDescription()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("height", [108, 200], ids=["low rows", "high rows"])
def test_the_first_wrong_cell_is_filled_whatever_frame_is_around_it(
    shown: MakeView, theme: Theme, height: int
) -> None:
    widget = shown("spread", FAULTY, (1000, height), theme)
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    readout = spread_readout(FAULTY)
    assert readout.first_wrong is not None
    step, stage = readout.first_wrong
    middle = canvas.middle(stage, step)
    cell = readout.columns[step].cells[stage]
    image = canvas.grab().toImage()
    for x in range(-20, -9):  # beside the sign in its middle
        found = image.pixelColor(int(middle.x()) + x, int(middle.y()))
        assert found.name() == heat(theme, cell).name()


def test_every_stage_and_step_of_the_spread_is_named_at_the_height_that_it_has_at_first(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_first = next(dock.height_px for dock in DOCKS if dock.id == "spread")
    assert at_first is not None
    widget = shown("spread", FAULTY, (1000, at_first - TITLE_PX))
    canvas, readout = canvas_of(widget), spread_readout(FAULTY)
    assert isinstance(canvas, CellCanvas)
    assert (canvas.middle(1, 0) - canvas.middle(0, 0)).y() >= 10
    names = [*readout.stages, *(str(column.step) for column in readout.columns)]
    assert set(names) <= set(labels_drawn(monkeypatch, widget))


LOW = (1000, 78)
"""The size of Spread in a window of 1024 × 640 pixels."""


@pytest.mark.parametrize("theme", [LIGHT, LIGHT.sized(percent=150)], ids=["usual", "large"])
def test_where_stages_have_too_little_height_they_share_rows_whose_names_are_whole(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch, theme: Theme
) -> None:
    widget = shown("spread", FAULTY, (1000, theme.px(LOW[1])), theme)
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    n_rows = canvas.grid()[0]
    assert (canvas.middle(1, 0) - canvas.middle(0, 0)).y() >= theme.px(11)
    drawn = labels_drawn(monkeypatch, widget)
    names = {"admission", "positions, slots", "mask", "layers 0–3", "logits, contents"}
    assert n_rows == len(names)
    assert names <= set(drawn)
    font = theme.sans(px=theme.small_px - 1)
    room = StepRuler.of(theme, 1000, 7).gutter_px
    assert all(QFontMetrics(font).horizontalAdvance(name) < room for name in names)


def test_a_click_on_a_shared_row_goes_to_the_worst_of_its_stages_and_says_which(
    qtbot: QtBot, shown: MakeView
) -> None:
    readout = spread_readout(FAULTY)
    widget = shown("spread", FAULTY, LOW)
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    at = canvas.middle(3, 4)  # step 4, layers 0–3
    codes = [code(readout.columns[4].cells[stage]) for stage in range(4, 8)]
    layer = codes.index(max(codes))
    hit = canvas.hit(at)
    assert hit is not None
    assert hit.tip.startswith(f"step 4 · layers 0–3, of these layer {layer}: ")
    assert hit.selection == Selection(step=4, layer=layer)
    with qtbot.waitSignal(widget.selected) as signal:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at.toPoint())
    assert signal.args == [Selection(step=4, layer=layer)]


@pytest.mark.parametrize("n_steps", [40, 2000], ids=["cells", "narrow"])
def test_a_shared_row_has_the_colour_of_the_worst_of_its_stages(
    shown: MakeView, n_steps: int
) -> None:
    widget = shown("spread", None, LOW)
    readout = long_spread(n_steps, (17,))
    cells = readout.columns[17].cells
    bad = (*cells[:2], SpreadCell("wrong"), *cells[3:])  # slots alone
    columns = tuple(
        replace(column, cells=bad) if column.step == 17 else column for column in readout.columns
    )
    widget.show_readout(replace(readout, columns=columns, first_wrong=None))
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    image = canvas.grab().toImage()
    found = [
        image.pixelColor(int(at.x()), int(at.y()) - 3).name()
        for at in (canvas.middle(row, 17) for row in range(2))
    ]
    assert found == [LIGHT.paper.name(), LIGHT.alarm.name()]


def test_the_table_of_the_spread_has_every_stage_however_low_it_is(shown: MakeView) -> None:
    canvas = kept_canvas_of(shown("spread", FAULTY, LOW))
    assert tuple(canvas.table().rows) == spread_readout(FAULTY).stages


def test_rows_of_tokens_stay_where_they_are_whether_the_sentence_has_one_line_or_two(
    shown: MakeView,
) -> None:
    widget = shown("tokens", FAULTY, (460, 106))
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    tops = []
    for sentence in ("short", "a sentence of many words " * 4):
        widget.say(sentence)
        tops.append([canvas.middle(row, 7).y() for row in range(3)])
    assert tops[0] == tops[1]


@pytest.mark.parametrize("height", range(80, 170, 6))
def test_the_numbers_beside_the_timeline_do_not_touch(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch, height: int
) -> None:
    widget = shown("timeline", FAULTY, (1000, height))
    tops: list[float] = []
    label = marks.label

    def kept(painter: QPainter, place: QRectF, text: str, *rest: Any) -> None:
        if text[0] in "1." and place.right() < 82:
            tops.append(place.top())
        label(painter, place, text, *rest)

    monkeypatch.setattr(marks, "label", kept)
    kept_canvas_of(widget).refresh()
    picture(widget)
    assert len(tops) != 1
    assert all(lower - upper >= 13 for lower, upper in pairwise(tops))


def test_the_strip_is_cut_between_two_words(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"·", *first_difference_readout(FAULTY).difference.split()}
    cut: list[str] = []
    for width in range(440, 700, 9):
        strip = shown("first difference", FAULTY, (width, 26))
        drawn: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(marks, "label", lambda *args, kept=drawn: kept.append(args[2]))
            picture(strip)
        cut += [each for each in drawn if each.startswith("·") and each.endswith("…")]
    assert cut
    assert all(set(each.removesuffix("…").split()) <= words for each in cut)


# Next token


def test_a_double_click_on_a_token_asks_for_it(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("next token", FAULTY, (330, 220))
    rows = next_token_readout(FAULTY).rows
    canvas = canvas_of(widget)
    assert "double-click" not in str(canvas.hit(QPointF(100, 40)))
    widget.offer_forcing()
    assert "double-click" in str(canvas.hit(QPointF(100, 40)))
    with qtbot.waitSignal(widget.forced) as signal:
        qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(100, 24))
    assert signal.args == [rows[0].token_id]


def test_where_room_is_short_the_choices_stay_in_sight(shown: MakeView) -> None:
    view = view_of(with_fault(FORCED, "mask-top-left"), 1)
    widget = shown("next token", view, (330, 92))
    canvas = canvas_of(widget)
    tips = {hit.tip for y in range(canvas.height()) if (hit := canvas.hit(QPointF(60, y)))}
    for role in ("the engine's choice", "the right choice", "read next: forced"):
        assert any(role in tip for tip in tips)


@pytest.mark.parametrize("size", [(330, 200), (240, 120)], ids=["usual", "narrow"])
def test_why_a_token_is_read_next_covers_no_bar(shown: MakeView, size: tuple[int, int]) -> None:
    base = next_token_readout(view_of(FORCED, 1))
    full = replace(base.rows[0], engine=1.0, reference=1.0, is_engine_choice=False)
    rows = (replace(full, is_read_next=False), replace(full, is_read_next=True))
    widget = shown("next token", None, size)
    widget.show_readout(replace(base, rows=rows, how="forced"))
    image = picture(canvas_of(widget)).convertToFormat(QImage.Format.Format_RGB32)
    blue = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    per_line = (blue == LIGHT.new.rgba()).sum(axis=1)[22:]
    bars = per_line[per_line > 0.3 * per_line.max()]
    lines_of_a_bar = len(bars) // 2
    assert lines_of_a_bar >= 4
    assert bars.min() == bars.max()


def test_a_refused_step_says_once_that_nothing_was_computed(shown: MakeView) -> None:
    widget = shown("next token", view_of(FULL, 6), (330, 200))
    assert [label for label in widget.findChildren(QLabel) if label.isVisible()] == []
    told = "nothing was computed in this step: it was refused"
    assert widget.accessibleDescription() == told


# Tokens


def long_tokens(n_columns: int, step: int) -> tuple[Any, list[int]]:
    """A text of many tokens, and the columns that somebody looked at."""
    asked: list[int] = []

    def make(column: int) -> TokenCell:
        asked.append(column)
        return TokenCell(column, 1, f"t{column}", "read", False, False, column, False)

    base = tokens_readout(view_of(PLAIN, 2))
    row, none = TokenRow(n_columns, make), TokenRow(0, lambda column: None)
    selection = replace(base.selection, step=step)
    readout = replace(
        base, step=step, n_columns=n_columns, run=row, right=none, clean=none, selection=selection
    )
    return readout, asked


def test_of_two_thousand_tokens_only_those_in_sight_are_made(shown: MakeView) -> None:
    widget = shown("tokens", None, (900, 110))
    readout, asked = long_tokens(2000, 1993)
    widget.show_readout(readout)
    picture(widget)
    assert 1999 in asked
    assert min(asked) > 1900


def test_tokens_scroll_with_the_step_and_back_with_the_keys(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("tokens", None, (900, 110))
    canvas = canvas_of(widget)
    for n in (400, 200):
        readout, _ = long_tokens(n, n)
        widget.show_readout(readout)
        right = [canvas.hit(QPointF(x, 30)) for x in range(600, 900, 5)]
        tokens = [hit.selection.token_index for hit in right if hit and hit.selection]
        assert tokens[-1] == n - 1
    for _ in range(60):
        qtbot.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.accessibleDescription().startswith("‘t140’")
    left = canvas.hit(QPointF(SlotRuler(900, 1).gutter_px + 3, 30))
    assert left is not None
    assert left.selection is not None
    assert left.selection.token_index is not None
    assert left.selection.token_index <= 140


def test_a_token_that_another_view_points_at_lights_up(shown: MakeView) -> None:
    widget = shown("tokens", view_of(PLAIN, 2))
    canvas = canvas_of(widget)
    before = canvas.grab().toImage()
    widget.show_pointed(Selection(step=2, token_index=3))
    assert canvas.grab().toImage() != before
    widget.show_pointed(None)
    assert canvas.grab().toImage() == before


def test_escape_lets_the_chosen_token_go(qtbot: QtBot, shown: MakeView) -> None:
    widget = shown("tokens", view_of(PLAIN, 2, token_index=3))
    with qtbot.waitSignal(widget.selected) as signal:
        qtbot.keyClick(canvas_of(widget), Qt.Key.Key_Escape)
    assert signal.args == [Selection(step=2)]


def row_ends(widget: QWidget) -> list[int]:
    """Where the pixels of each row of tokens end."""
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    image = canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    tops = [int(canvas.middle(row, canvas.grid()[1] - 1).y()) for row in range(3)]
    return [int(np.flatnonzero((pixels[y - 6 : y + 7] != pixels[0, -1]).any(0))[-1]) for y in tops]


def test_the_clean_run_says_that_it_is_an_illustration(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = shown("tokens", FAULTY, (1000, 110))
    assert NOTE in labels_drawn(monkeypatch, widget)
    assert kept_canvas_of(widget).table().rows[2] == f"clean run ({NOTE})"
    assert NOTE in str(kept_canvas_of(widget).at_place(2, 3))


def test_the_words_about_the_clean_run_take_the_place_of_no_token(
    shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = shown("tokens", FAULTY, (1000, 110))
    while NOTE in labels_drawn(monkeypatch, widget):
        widget.resize(widget.width() - 4, 110)
    run_end, _, clean_end = row_ends(widget)
    assert abs(run_end - clean_end) <= 4


def test_rows_of_tokens_that_go_on_beyond_the_edge_say_so(
    qtbot: QtBot, shown: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = shown("tokens", FAULTY, (300, 110))
    assert MORE not in labels_drawn(monkeypatch, widget)
    qtbot.keyClick(canvas_of(widget), Qt.Key.Key_Right)
    canvas = canvas_of(widget)
    assert isinstance(canvas, CellCanvas)
    canvas.middle(0, 0)
    assert labels_drawn(monkeypatch, widget).count(MORE) == 3


def test_where_a_token_is_forced_the_right_one_is_in_alarm_if_the_engine_would_miss_it(
    shown: MakeView,
) -> None:
    canvas = kept_canvas_of(shown("tokens", view_of(with_fault(FORCED, "mask-top-left"), 1)))
    assert has_alarm(canvas.grab().toImage(), LIGHT)
    assert "the engine would say" in str(canvas.at_place(1, 8))
    assert not has_alarm(picture(shown("tokens", view_of(FORCED, 1))), LIGHT)


@pytest.mark.parametrize(
    ("width", "is_brief"), [(1900, False), (1280, True), (1024, True)], ids=str
)
def test_the_diagnosis_of_two_faults_leaves_its_explanations_out_before_it_is_cut(
    shown: MakeView, width: int, is_brief: bool
) -> None:
    strip = shown("first difference", view_of(with_fault(PLAIN, "pos-restart", "mask-top-left"), 1))
    strip.resize(width, strip.height())
    words = strip.shown_words
    assert strip.words_px < width
    assert ("the past is not added" in words) != is_brief
    assert "position ids start again at 0" in words
    assert "the causal mask is aligned top-left" in words
    assert words.endswith("expected 7")
