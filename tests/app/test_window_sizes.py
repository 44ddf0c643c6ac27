"""The window at the sizes that people have: no words are cut, no panel has a scroll bar."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QLabel, QScrollBar, QTabBar

from app.advice import hint
from app.docks.dock import ReadoutDock
from app.theme import DARK, LIGHT
from app.widgets.panel import CanvasPanel
from app.widgets.sentence import Sentence
from tests.app.desk import Desk

SIZES = ((1024, 640), (1280, 800), (1366, 768), (1920, 1080))
SCROLLED = ("lesson", "runs")
"""Texts and lists: they are scrolled where they are longer than their place."""
FAULTS = ("mask-top-left", "cap-early", "store-row-zero")

each_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))


@pytest.fixture
def desk_at(shared_desk, start_run) -> Callable[[tuple[int, int]], Desk]:
    """The first run in a window of a size, with the panels where they stand at first."""

    def show(size: tuple[int, int]) -> Desk:
        desk = shared_desk(start_run.draft, 7)
        desk.window.resize(*size)
        desk.window.layouts.follow_size()
        desk.window.layouts.reset()
        desk.qtbot.waitUntil(lambda: is_at_rest(desk))
        return desk

    return show


def is_at_rest(desk: Desk) -> bool:
    """Whether each panel that is seen has at least the height that its contents need."""
    seen = [d for d in desk.window.readout_docks if d.isVisible() and not d.is_behind]
    return all(d.content.height() >= d.content.minimumHeight() for d in seen)


def bring_to_front(desk: Desk, dock: ReadoutDock) -> None:
    if dock.is_behind:
        dock.raise_()
        desk.do(desk.control.situation_changed.emit)
    assert not dock.is_behind


def is_cut(label: QLabel) -> bool:
    """Whether a label has less room than its own letters need."""
    if label.wordWrap():
        return label.heightForWidth(label.width()) > label.height()
    return label.fontMetrics().horizontalAdvance(label.text()) > label.contentsRect().width()


@each_size
def test_no_words_are_cut(desk_at, size):
    desk = desk_at(size)
    cut: list[str] = []
    for fault_id in FAULTS:
        desk.tick(fault_id)
        for dock in desk.window.readout_docks:
            bring_to_front(desk, dock)
            labels = [each for each in dock.findChildren(QLabel) if each.isVisible()]
            cut += [f"{dock.id}: {each.text()!r}" for each in labels if is_cut(each)]
        desk.tick(fault_id)
    assert cut == []
    assert desk.window.size().toTuple() == size


@each_size
def test_no_panel_has_a_scroll_bar(desk_at, size):
    desk = desk_at(size)
    found: list[str] = []
    for dock in desk.window.readout_docks:
        if dock.id not in SCROLLED:
            bring_to_front(desk, dock)
            bars = [bar for bar in dock.findChildren(QScrollBar) if bar.isVisible()]
            found += [dock.id for bar in bars]
    assert found == []
    areas = [area for area in desk.window.findChildren(QAbstractScrollArea) if area.isVisible()]
    across = [type(area).__name__ for area in areas if area.horizontalScrollBar().isVisible()]
    assert across == []


@each_size
@pytest.mark.parametrize("layout", ["debug", "teach"])
def test_the_hint_covers_no_panel_but_the_strip(desk_at, size, layout):
    desk = desk_at(size)
    desk.window.layouts.choose(layout)
    try:
        desk.window.show_notice(hint(desk.control.try_fault))
        desk.qtbot.waitUntil(lambda: is_at_rest(desk))
        bar = desk.window.message_bar.geometry()
        seen = [dock for dock in desk.window.docks if dock.isVisible() and not dock.is_behind]
        covered = [dock.id for dock in seen if dock.geometry().intersects(bar)]
        assert covered == ["diagnosis"]
    finally:
        desk.window.message_bar.clear_notice()
        desk.window.layouts.choose("debug")


def test_every_size_is_drawn_in_both_themes(desk_at):
    for theme, other in ((DARK, LIGHT), (LIGHT, DARK)):
        for size in SIZES:
            desk = desk_at(size)
            desk.window.actions_by_id.actions[f"theme-{theme.name}"].trigger()
            desk.do(desk.control.situation_changed.emit)
            image = desk.window.grab().toImage()
            assert image.size().toTuple() == size
            drawn = {image.pixel(x, y) for x in range(0, size[0], 5) for y in range(0, size[1], 5)}
            assert {colour.rgb() for colour in (theme.paper, theme.text, theme.live)} <= drawn
            assert other.live.rgb() not in drawn


def test_no_panel_leaves_the_window_when_the_theme_changes(desk_at):
    desk = desk_at((1440, 900))
    code = desk.window.dock("code")
    bring_to_front(desk, code)
    before = code.x(), code.width()
    for theme in ("dark", "light"):
        desk.window.actions_by_id.actions[f"theme-{theme}"].trigger()
        desk.do(desk.control.situation_changed.emit)
        desk.qtbot.waitUntil(lambda: is_at_rest(desk))
        code.raise_()
        desk.qtbot.waitUntil(lambda: not code.is_behind)
        assert (code.x(), code.width()) == before
        assert desk.window.rect().contains(code.geometry())


def test_a_window_made_smaller_in_teach_gives_each_panel_the_height_it_needs(desk_at):
    desk = desk_at((1440, 900))
    desk.window.layouts.choose("teach")
    desk.window.resize(1024, 640)
    desk.window.layouts.follow_size()
    try:
        desk.qtbot.waitUntil(lambda: is_at_rest(desk))
        seen = [d for d in desk.window.readout_docks if d.isVisible() and not d.is_behind]
        places = [dock.geometry() for dock in seen]
        assert not any(a.intersects(b) for i, a in enumerate(places) for b in places[i + 1 :])
    finally:
        desk.window.layouts.choose("debug")


@each_size
def test_no_sentence_is_cut(desk_at, size):
    desk = desk_at(size)
    cut: list[str] = []
    for fault_id in (*FAULTS, "both-bugs", "pos-restart"):
        desk.tick(fault_id)
        for dock in desk.window.readout_docks:
            if isinstance(dock.content, CanvasPanel):
                bring_to_front(desk, dock)
                said = [each.text() for each in dock.content.findChildren(Sentence)]
                cut += [f"{fault_id}, {dock.id}: {text}" for text in said if text.endswith(" …")]
        desk.tick(fault_id)
    assert cut == []


@each_size
def test_tabs_of_the_usual_size_keep_their_letters(desk_at, size):
    desk = desk_at(size)
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    tabs = [each for each in desk.window.findChildren(QTabBar, options=direct) if each.count()]
    usual_px = desk.window.looks.theme.small_px + 1
    assert {each.font().pixelSize() for each in tabs} == {usual_px}


@pytest.mark.parametrize("size", [(1024, 640), (1280, 800)], ids=["small", "usual"])
def test_no_sentence_is_cut_in_teach(desk_at, size):
    desk = desk_at(size)
    desk.window.layouts.choose("teach")
    cut: list[str] = []
    try:
        for fault_id in ("pos-restart", "mask-top-left", "cap-early"):
            desk.do(lambda fault_id=fault_id: desk.control.try_fault(fault_id))
            desk.qtbot.waitUntil(lambda: is_at_rest(desk))
            for dock in desk.window.readout_docks:
                if dock.isVisible() and isinstance(dock.content, CanvasPanel):
                    bring_to_front(desk, dock)
                    said = [each.text() for each in dock.content.findChildren(Sentence)]
                    cut += [f"{dock.id}: {text}" for text in said if text.endswith(" …")]
            desk.do(lambda: desk.control.set_faults(()))
    finally:
        desk.window.layouts.choose("debug")
    assert cut == []
