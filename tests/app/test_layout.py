"""The arrangement of the panels: what fits where, and what is given back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QApplication

from app.docks.registry import DOCKS
from app.draft import Draft
from app.layout import LINE_PX, SETUP_PX, TEACH, TITLE_PX, Plan, of_layout, plan
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT, apply_theme
from app.views.code import CodeView
from app.widgets.code_text import CodeText
from core.readouts.code import code_readout
from core.selection import Selection
from core.spec import Decode, Prefill, Rollback
from tests.app.fakes import FakeBackend, dock_spec
from tests.core.readouts.runs import PLAIN, PROMPT_IDS, view_of, with_fault

REFUSED = replace(PLAIN, steps=0, requests=(Prefill(PROMPT_IDS), *(Decode(),) * 6))
SIZES = [(1024, 640), (1280, 800), (1366, 768), (1920, 1080)]


@dataclass(frozen=True)
class Panel:
    """As much of a panel as a plan asks for."""

    id: str
    area: str
    height_px: int | None = None
    least_px: int = 60
    tab_of: str | None = None
    has_title: bool = True
    needed_px: int = 0


EVERY = (
    Panel("setup", "left", 240),
    Panel("faults", "left"),
    Panel("tokens", "centre", 118),
    Panel("cache", "centre", 146),
    Panel("mask", "centre", 108),
    Panel("attention", "centre"),
    Panel("next-token", "right", 180),
    Panel("inspector", "right", 240),
    Panel("code", "right"),
    Panel("lesson", "right", tab_of="code"),
    Panel("diagnosis", "bottom", 26, 26, has_title=False),
    Panel("timeline", "bottom", 116),
    Panel("runs", "bottom", tab_of="timeline"),
    Panel("spread", "bottom", 120),
)


def made(name: str, size: tuple[int, int], panels=EVERY, theme=LIGHT) -> Plan:
    return plan(name, of_layout(name, panels), QSize(*size), theme)


def test_a_large_window_has_the_columns_of_the_drawing():
    where = made("debug", (1920, 1080))
    assert where.columns == (
        ("setup", "faults"),
        ("tokens", "cache", "mask", "attention"),
        ("next-token", "inspector", "code"),
    )
    assert where.bottom == ("diagnosis", "timeline", "spread")
    assert where.tabs == {"code": ("lesson",), "timeline": ("runs",)}


def test_what_is_spare_goes_to_attention():
    assert "attention" not in made("debug", (1920, 1080)).heights


def test_where_the_height_does_not_do_spread_stands_behind_the_timeline():
    where = made("debug", (1280, 800))
    assert where.bottom == ("diagnosis", "timeline")
    assert where.tabs["timeline"] == ("runs", "spread")


def test_where_the_right_column_is_low_the_inspector_stands_behind_the_code():
    assert made("debug", (1280, 800)).tabs["code"] == ("inspector", "lesson")
    assert made("debug", (1920, 1080)).tabs["code"] == ("lesson",)


def test_the_height_is_shared_so_that_attention_has_what_it_likes_first():
    low, high = made("debug", (1366, 768)), made("debug", (1440, 900))
    assert low.heights["cache"] < high.heights["cache"] == 146
    spare = 768 - sum(low.heights[i] for i in ("tokens", "cache", "mask", "diagnosis", "timeline"))
    assert spare >= 172


def test_a_stack_is_as_high_as_the_panel_behind_would_be_where_that_much_is_spare():
    panels = [replace(p, height_px=180) if p.id == "spread" else p for p in EVERY]
    high, low = made("debug", (1440, 900), panels), made("debug", (1280, 720), panels)
    assert "spread" in high.tabs["timeline"]
    assert high.heights["timeline"] == 180 - TITLE_PX
    assert low.heights["timeline"] <= 116 - TITLE_PX


def test_in_teach_a_panel_that_was_opened_besides_stands_behind_the_lesson():
    panels = [p for p in EVERY if p.id in TEACH or p.id in ("setup", "code")]
    where = plan("teach", panels, QSize(1920, 1080), LIGHT.sized(percent=100, is_large=True))
    assert set(where.ids) == {panel.id for panel in panels}
    assert set(where.tabs["lesson"]) == {"code", "faults", "setup"}


@pytest.mark.parametrize("size", [(1199, 900), (1400, 759)])
def test_in_a_small_window_the_right_column_is_one_stack(size):
    where = made("debug", size)
    assert where.columns[2] == ("next-token",)
    assert set(where.tabs["next-token"]) >= {"inspector", "code"}
    assert where.heights["timeline"] == 60


def test_the_layout_for_teaching_has_few_panels():
    where = made("teach", (1920, 1080), theme=LIGHT.sized(percent=100, is_large=True))
    assert set(where.ids) == set(TEACH)
    assert where.columns[-1] == ("lesson",)


def test_panels_that_would_be_cut_stand_behind_others():
    high = [replace(panel, least_px=120) for panel in EVERY]
    where = made("debug", (1024, 640), high, LIGHT.sized(percent=200))
    assert where.columns[1] == ("attention",)
    assert set(where.tabs["attention"]) >= {"mask", "tokens", "cache"}


@pytest.mark.parametrize("name", ["debug", "teach"])
@pytest.mark.parametrize("left_out", [panel.id for panel in EVERY])
def test_any_panel_may_be_missing(name, left_out):
    panels = [panel for panel in EVERY if panel.id != left_out]
    for size in SIZES:
        ids = made(name, size, panels).ids
        wanted = {p.id for p in panels if name == "debug" or p.id in TEACH}
        assert sorted(ids) == sorted(wanted)


@pytest.fixture
def open_window(qtbot, qapp, tmp_path) -> Iterator[Callable[..., MainWindow]]:
    """Opens a window of a size; the same settings serve each."""
    opened: list[MainWindow] = []

    def make(width: int, height: int, docks=DOCKS) -> MainWindow:
        control = RunControl(FakeBackend, Draft("learned", "ab"))
        window = MainWindow(control, docks, LIGHT, Preferences(tmp_path / "kvscope.ini"))
        qtbot.addWidget(window)
        opened.append(window)
        window.resize(width, height)
        with qtbot.waitExposed(window):
            window.show()
        return window

    yield make
    for window in opened:
        window.close()
        assert window.control.close(5000)
    apply_theme(qapp, LIGHT)


def places(window: MainWindow) -> list[QRect]:
    """Of the panels that can be seen: one behind a tab has none."""
    return [dock.geometry() for dock in window.docks if not dock.visibleRegion().isEmpty()]


def is_at_rest(window: MainWindow) -> bool:
    """Whether the panels share all the room there is."""
    bar = window.statusBar()
    end = window.height() if bar.isHidden() else bar.geometry().top()
    seen = [d for d in window.docks if not (d.isHidden() or d.isFloating() or d.is_behind)]
    return max(dock.geometry().bottom() for dock in seen) + 1 == end


def close_some(window: MainWindow) -> None:
    for dock in window.readout_docks[:3]:
        dock.close()


def close_all(window: MainWindow) -> None:
    for dock in window.docks:
        dock.close()


def float_some(window: MainWindow) -> None:
    for dock in window.readout_docks[1:4]:
        dock.setFloating(True)


def move_some(window: MainWindow) -> None:
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, window.readout_docks[0])
    window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, window.panels[0])
    window.tabifyDockWidget(window.readout_docks[1], window.readout_docks[3])


def change_nothing(window: MainWindow) -> None:
    """As it is."""


CHANGES = (change_nothing, close_some, close_all, float_some, move_some)


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("size", [(1440, 900), (1280, 800)])
def test_reset_gives_each_panel_the_place_of_the_first_start(size, change, open_window, qtbot):
    window = open_window(*size)
    qtbot.waitUntil(lambda: is_at_rest(window))
    at_start = places(window)
    change(window)
    for _ in range(2):
        window.layouts.reset()
        qtbot.waitUntil(lambda: places(window) == at_start)
        assert not any(dock.isHidden() for dock in window.docks)


@pytest.mark.parametrize("fault", ["mask-top-left", "store-row-zero"])
def test_where_every_panel_has_a_place_code_is_not_scrolled(fault, open_window, qtbot):
    window = open_window(1920, 1080)
    qtbot.waitUntil(lambda: is_at_rest(window))
    code = window.dock("code").findChild(CodeView)
    code.show_readout(code_readout(view_of(with_fault(PLAIN, fault), 1)))
    (pane,) = (text for text in code.findChildren(CodeText) if text.isVisible())
    assert pane.toPlainText().startswith("runs:")
    assert pane.firstVisibleBlock().blockNumber() == pane.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize("size", SIZES)
def test_code_with_many_changed_lines_is_shortened_to_them_before_it_is_scrolled(
    size, open_window, qtbot
):
    window = open_window(*size)
    qtbot.waitUntil(lambda: is_at_rest(window))
    dock = window.dock("code")
    dock.raise_()
    code = dock.findChild(CodeView)
    readout = code_readout(view_of(with_fault(REFUSED, "cap-counter-first"), 6))
    qtbot.waitUntil(lambda: not code.visibleRegion().isEmpty())
    code.show_readout(readout)
    (pane,) = (text for text in code.findChildren(CodeText) if text.isVisible())
    assert not pane.verticalScrollBar().isVisible()
    shown = "".join(pane.toPlainText().split())
    changed = [row for row in readout.section(readout.first).rows if row.is_changed]
    assert len(changed) > 2
    for row in changed:
        for place, source in (
            (row.faulty, readout.section(readout.first).faulty),
            (row.correct, readout.section(readout.first).correct),
        ):
            if place is not None:
                assert "".join(source.text.splitlines()[place].split()) in shown


@pytest.mark.parametrize("name", ["debug", "teach"])
@pytest.mark.parametrize("percent", [80, 100, 150])
@pytest.mark.parametrize("size", SIZES)
def test_no_panel_is_lower_than_its_contents_need(name, size, percent, open_window, qtbot):
    window = open_window(*size)
    for _ in range(5):
        if window.looks.text_percent != percent:
            window.looks.larger_text() if percent > 100 else window.looks.smaller_text()
    assert window.looks.text_percent == percent
    window.layouts.choose(name)

    def is_settled() -> bool:
        shown = [dock for dock in window.readout_docks if not dock.visibleRegion().isEmpty()]
        return bool(shown) and all(
            dock.widget().height() >= dock.widget().minimumHeight() for dock in shown
        )

    qtbot.waitUntil(is_settled)
    assert (window.width(), window.height()) == size
    shown = [dock for dock in window.docks if not dock.visibleRegion().isEmpty()]
    for dock in shown:
        others = [other for other in shown if other is not dock]
        assert not any(dock.geometry().intersects(other.geometry()) for other in others)


WAYS = {
    "smaller": [(1440, 900), (1366, 768)],
    "larger": [(1024, 640), (1920, 1080)],
    "there and back": [(1280, 800), (1024, 640), (1920, 1080), (1100, 1000), (1280, 800)],
}


def bring_to(window: MainWindow, sizes: list[tuple[int, int]], qtbot) -> None:
    for size in sizes:
        window.resize(*size)
        window.layouts.follow_size()
        qtbot.waitUntil(lambda: is_at_rest(window))


@pytest.mark.parametrize("name", ["debug", "teach"])
@pytest.mark.parametrize("sizes", WAYS.values(), ids=WAYS)
def test_a_window_brought_to_a_size_is_arranged_as_one_opened_at_it(
    name, sizes, open_window, qtbot
):
    opened = open_window(*sizes[-1])
    opened.layouts.choose(name)
    brought = open_window(*sizes[0])  # in the same layout: that is remembered
    bring_to(brought, sizes[1:], qtbot)
    qtbot.waitUntil(lambda: places(brought) == places(opened))
    assert [d.is_behind for d in brought.docks] == [d.is_behind for d in opened.docks]


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_a_panel_that_floats_leaves_its_room_and_gets_it_back(open_window, qtbot):
    opened, window = open_window(1280, 800), open_window(1440, 900)
    cache, attention = window.dock("cache"), window.dock("attention")
    low = attention.height()
    cache.title_bar.float_wanted.emit()
    qtbot.waitUntil(lambda: attention.height() > low)
    bring_to(window, [(1280, 800)], qtbot)
    assert cache.isFloating()
    cache.title_bar.float_wanted.emit()
    qtbot.waitUntil(lambda: places(window) == places(opened))


def test_a_panel_that_was_closed_stays_so_and_the_others_share_its_room(open_window, qtbot):
    opened, window = open_window(1280, 800), open_window(1440, 900)
    window.dock("mask").close()
    bring_to(window, [(1280, 800)], qtbot)
    assert window.dock("mask").isHidden()
    assert window.dock("attention").height() > opened.dock("attention").height()
    assert window.dock("timeline").height() >= opened.dock("timeline").height()


def test_a_panel_brought_forward_stays_in_front_in_another_size(open_window, qtbot):
    window = open_window(1440, 900)
    window.dock("lesson").raise_()
    for size in ((1280, 800), (1920, 1080), (1024, 640)):
        qtbot.waitUntil(lambda: not window.dock("lesson").is_behind)
        bring_to(window, [size], qtbot)
    qtbot.waitUntil(lambda: not window.dock("lesson").is_behind)


def test_letters_of_another_size_leave_the_panel_in_front_there(open_window, qtbot):
    window = open_window(1280, 800)
    timeline, runs = window.dock("timeline"), window.dock("runs")
    drag_the_line_below(window, "tokens", 20, qtbot)
    runs.raise_()
    qtbot.waitUntil(lambda: timeline.is_behind)
    QApplication.processEvents()  # how the panels stand is noted once all have told that they moved
    window.actions_by_id.actions["text-larger"].trigger()
    qtbot.waitUntil(lambda: is_at_rest(window) and timeline.is_behind)
    timeline.raise_()
    qtbot.waitUntil(lambda: runs.is_behind)
    window.actions_by_id.actions["text-usual"].trigger()
    qtbot.waitUntil(lambda: is_at_rest(window) and not window.dock("setup").is_behind)
    assert (timeline.is_behind, runs.is_behind) == (False, True)


def drag_the_line_below(window: MainWindow, dock_id: str, by_px: int, qtbot) -> None:
    place = window.dock(dock_id).geometry()
    line = QPoint(place.center().x(), place.bottom() + 3)
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=line)
    height = window.dock(dock_id).height()
    qtbot.mouseMove(window, line + QPoint(0, by_px))
    qtbot.waitUntil(lambda: window.dock(dock_id).height() == height + by_px)
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=line + QPoint(0, by_px))


def test_a_line_that_a_person_dragged_stays_in_another_size(open_window, qtbot):
    window = open_window(1440, 900)
    usual = window.dock("tokens").height()
    drag_the_line_below(window, "tokens", 40, qtbot)
    bring_to(window, [(1500, 950), (1400, 850)], qtbot)
    assert window.dock("tokens").height() == usual + 40
    window.layouts.reset()
    qtbot.waitUntil(lambda: window.dock("tokens").height() == usual)


def test_what_a_person_arranged_is_there_at_the_next_start(open_window, qtbot):
    window = open_window(1440, 900)
    usual = window.dock("tokens").height()
    drag_the_line_below(window, "tokens", 40, qtbot)
    window.close()
    again = open_window(1440, 900)
    qtbot.waitUntil(lambda: again.dock("tokens").height() == usual + 40)


def test_closed_panels_stay_so_at_the_next_start_and_the_others_follow_its_size(open_window, qtbot):
    window = open_window(1440, 900)
    window.dock("mask").close()
    bring_to(window, [(1600, 1000)], qtbot)
    there = places(window)
    window.close()
    again = open_window(1440, 900)
    assert again.dock("mask").isHidden()
    bring_to(again, [(1600, 1000)], qtbot)
    assert places(again) == there


@pytest.mark.parametrize("chosen", ["attention", "mask"])
def test_the_panel_that_shows_what_is_wrong_gives_way_to_one_chosen_since(
    chosen, open_window, qtbot
):
    window = open_window(1024, 640)
    qtbot.waitUntil(lambda: is_at_rest(window))
    window.control.wrong_reached.emit("visible")
    qtbot.waitUntil(lambda: not window.dock("mask").is_behind)
    window.dock(chosen).raise_()
    qtbot.waitUntil(lambda: not window.dock(chosen).is_behind)
    heard: list[str] = []
    window.control.cursor = SimpleNamespace(
        selection=Selection(step=1), first_wrong=1, view=lambda: None, n_records=0
    )
    for size in ((1030, 645), (1440, 900), (1024, 640)):
        window.layouts.arranged.connect(lambda: heard.append("arranged"))
        bring_to(window, [size], qtbot)
        QApplication.processEvents()
    qtbot.waitUntil(lambda: not window.dock(chosen).is_behind)
    assert heard
    other = "mask" if chosen == "attention" else "attention"
    assert window.dock(other).is_behind


def test_an_error_in_the_form_gets_room_and_gives_it_back(open_window, qtbot):
    window = open_window(1280, 800)
    setup, form = window.panels[0], window.panels[0].widget()
    bar = form.verticalScrollBar()
    qtbot.waitUntil(lambda: form.viewport().height() == form.needed_px)
    usual = setup.height()
    window.setup.show_error("policy", "4 sinks leave no room in a capacity of 4: raise it to 5")
    qtbot.waitUntil(lambda: setup.height() > usual and bar.maximum() == 0)
    window.setup.clear_errors()
    qtbot.waitUntil(lambda: setup.height() == usual)


FEW = (dock_spec("tokens"), dock_spec("lesson", "right"), dock_spec("other", "right"))


def test_each_layout_keeps_its_own_arrangement(open_window):
    window = open_window(1440, 900, FEW)
    tokens, lesson, other = window.readout_docks
    other.hide()
    window.layouts.choose("teach")
    assert (window.panels[0].isHidden(), other.isHidden()) == (True, True)
    tokens.hide()
    window.layouts.choose("debug")
    assert [dock.isHidden() for dock in (tokens, lesson, other)] == [False, False, True]
    assert not window.panels[0].isHidden()
    window.layouts.choose("teach")
    assert [dock.isHidden() for dock in (tokens, lesson)] == [True, False]


def test_the_layout_shown_last_is_the_one_of_the_next_start(open_window):
    window = open_window(1440, 900, FEW)
    window.layouts.choose("teach")
    window.close()
    again = open_window(1440, 900, FEW)
    assert again.layouts.name == "teach"
    assert again.looks.theme.sans_px == 18
    assert again.panels[0].isHidden()


def test_a_window_that_becomes_small_and_large_again_is_arranged_as_before(open_window, qtbot):
    window = open_window(1440, 900, FEW)
    before = places(window)
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: window.tabifiedDockWidgets(window.readout_docks[1]) != [])
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: places(window) == before)


SCRIPT = (Decode(), Rollback(3), Decode(), Rollback(1), Decode(), Decode(), Rollback(2), Decode())


@pytest.mark.parametrize("draft", [
    Draft("learned", "ab", then=SCRIPT), Draft("learned", "ab", policy="sinks", then=SCRIPT),
], ids=["script", "script and sinks"])  # fmt: skip
def test_the_form_gets_the_height_of_a_row_that_comes(open_window, qtbot, draft):
    window = open_window(1280, 800)
    bar = window.panels[0].widget().verticalScrollBar()
    assert bar.maximum() == 0
    window.control.draft_loaded.emit(draft)
    qtbot.waitUntil(lambda: window.panels[0].height() > SETUP_PX and bar.maximum() == 0)


def test_a_panel_on_a_tab_has_no_second_title(open_window, qtbot):
    window = open_window(1440, 900, FEW)
    upper, lower = window.readout_docks[1:]
    assert not upper.title_bar.isHidden()
    window.tabifyDockWidget(upper, lower)
    qtbot.waitUntil(lambda: upper.title_bar.isHidden() and lower.title_bar.isHidden())
    window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, lower)
    qtbot.waitUntil(lambda: not upper.title_bar.isHidden() and not lower.title_bar.isHidden())


def test_in_a_narrow_window_long_sentences_have_another_line_before_others_have_more():
    low = [replace(p, height_px=None if p.height_px is None else 40) for p in EVERY]
    narrow, wide = made("debug", (1024, 640), low), made("debug", (1480, 640), low)
    more = {i: narrow.heights[i] - wide.heights[i] for i in ("tokens", "cache", "timeline")}
    assert set(more.values()) == {LINE_PX}


def test_a_narrow_column_of_a_wide_window_gives_its_sentences_another_line():
    small = LIGHT.sized(percent=80)
    low = [replace(p, height_px=None if p.height_px is None else 40) for p in EVERY]
    narrow, wide = made("debug", (1024, 640), low, small), made("debug", (1480, 640), low, small)
    more = {i: narrow.heights[i] - wide.heights[i] for i in ("tokens", "cache")}
    assert set(more.values()) == {small.px(LINE_PX)}


def test_in_teach_the_timeline_makes_room_for_whole_sentences_before_the_cache_does():
    panels = [replace(p, least_px=90) if p.area == "centre" else p for p in EVERY]
    large = LIGHT.sized(percent=100, is_large=True)
    narrow, high = (made("teach", (1024, px), panels, large) for px in (540, 700))
    assert high.bottom == ("diagnosis", "timeline")
    assert narrow.bottom == ("diagnosis",)
    assert narrow.columns[0] == high.columns[0] == ("tokens", "attention")
    assert "timeline" in narrow.tabs["attention"]
