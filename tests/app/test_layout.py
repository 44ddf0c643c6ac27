"""The arrangement of the panels: what fits where, and what is given back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QRect, QSize, Qt

from app.docks.registry import DOCKS
from app.draft import Draft
from app.layout import SETUP_PX, TEACH, Plan, plan
from app.main_window import MainWindow
from app.preferences import Preferences
from app.run_control import RunControl
from app.theme import LIGHT, apply_theme
from core.spec import Decode, Rollback
from tests.app.fakes import FakeBackend, dock_spec

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


EVERY = (
    Panel("setup", "left", 240),
    Panel("faults", "left"),
    Panel("tokens", "centre", 118),
    Panel("cache", "centre", 146),
    Panel("mask", "centre", 108),
    Panel("attention", "centre"),
    Panel("next-token", "right", 180),
    Panel("inspector", "right"),
    Panel("code", "right"),
    Panel("lesson", "right", tab_of="code"),
    Panel("diagnosis", "bottom", 26, 26, has_title=False),
    Panel("timeline", "bottom", 116),
    Panel("runs", "bottom", tab_of="timeline"),
    Panel("spread", "bottom", 120),
)


def made(name: str, size: tuple[int, int], panels=EVERY, theme=LIGHT) -> Plan:
    return plan(name, panels, QSize(*size), theme)


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
    assert set(where.tabs["attention"]) == {"mask", "tokens", "cache"}


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
    below = window.dock("timeline").geometry()
    return below.bottom() + 1 == window.statusBar().geometry().top()


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


@pytest.mark.parametrize("name", ["debug", "teach"])
@pytest.mark.parametrize("size", SIZES)
def test_no_panel_is_lower_than_its_contents_need(name, size, open_window, qtbot):
    window = open_window(*size)
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
