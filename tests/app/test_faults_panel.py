"""The list of faults: ticks, combinations, search."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QListWidgetItem, QPushButton

from app.faults_on import FaultsOn
from app.faults_panel import FaultsPanel
from app.theme import LIGHT
from core.faults.catalog import COMBINATIONS, FAULTS
from core.faults.families import FAMOUS


@pytest.fixture
def panel(qtbot) -> FaultsPanel:
    made = FaultsPanel(LIGHT)
    qtbot.addWidget(made)
    made.show()
    return made


def item(panel: FaultsPanel, fault_id: str) -> QListWidgetItem:
    listed = panel.findChild(QListWidget)
    items = [listed.item(row) for row in range(listed.count())]
    return next(found for found in items if found.toolTip().startswith(fault_id + "\n"))


def tick(panel: FaultsPanel, fault_id: str, *, is_on: bool = True) -> None:
    state = Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
    item(panel, fault_id).setCheckState(state)


def is_ticked(panel: FaultsPanel, fault_id: str) -> bool:
    return item(panel, fault_id).checkState() == Qt.CheckState.Checked


def test_every_fault_and_combination_is_listed_with_title_and_symptom(panel):
    for fault in FAULTS:
        listed = item(panel, fault.id)
        assert listed.text() == fault.title
        assert fault.symptom in listed.toolTip()
    for name, members in COMBINATIONS.items():
        assert all(member in item(panel, name).toolTip() for member in members)


def test_a_tick_is_told_with_all_that_are_on(qtbot, panel):
    tick(panel, "mask-top-left")
    with qtbot.waitSignal(panel.ticked) as told:
        tick(panel, "pos-restart")
    assert told.args[0] == ("pos-restart", "mask-top-left")


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_combination_ticks_its_members_and_takes_them_away(qtbot, panel, name):
    with qtbot.waitSignal(panel.ticked) as told:
        tick(panel, name)
    assert set(told.args[0]) == set(COMBINATIONS[name])
    with qtbot.waitSignal(panel.ticked) as told:
        tick(panel, name, is_on=False)
    assert told.args[0] == ()


def test_a_combination_is_ticked_when_all_its_members_are(panel):
    tick(panel, "pos-restart")
    assert not is_ticked(panel, "both-bugs")
    tick(panel, "mask-top-left")
    assert is_ticked(panel, "both-bugs")
    tick(panel, "pos-restart", is_on=False)
    assert not is_ticked(panel, "both-bugs")


def test_showing_faults_is_no_tick(qtbot, panel):
    with qtbot.assertNotEmitted(panel.ticked):
        panel.show_faults(("both-bugs",))
    assert panel.ids == ("pos-restart", "mask-top-left")


def test_search_looks_in_id_title_and_symptom(panel):
    search = panel.findChild(QLineEdit)
    for text, expected in [
        ("row 0", {"mask-top-left", "store-row-zero"}),
        ("CAP-", {"cap-early", "cap-counter-first", "interview-class"}),
        ("no such thing", set()),
    ]:
        search.setText(text)
        ids = [*(fault.id for fault in FAULTS), *COMBINATIONS]
        shown = {fault_id for fault_id in ids if not item(panel, fault_id).isHidden()}
        words = text.casefold().split()
        assert shown >= expected
        assert all(word in item(panel, i).toolTip().casefold() for i in shown for word in words)


def test_show_it_is_about_a_fault_that_the_search_left_in_sight(qtbot, panel):
    panel.findChild(QLineEdit).setText("evict-off-by-one")
    with qtbot.waitSignal(panel.scenario_wanted) as told:
        panel.findChild(QPushButton).click()
    assert told.args == ["evict-off-by-one"]


def test_the_scenario_of_the_chosen_fault_can_be_asked_for(qtbot, panel):
    panel.findChild(QListWidget).setCurrentItem(item(panel, "cap-early"))
    with qtbot.waitSignal(panel.scenario_wanted) as told:
        panel.findChild(QPushButton).click()
    assert told.args == ["cap-early"]


def rows_on(panel: FaultsPanel) -> QListWidget:
    return next(
        found
        for found in panel.findChildren(QListWidget)
        if found.accessibleName() == "Faults that are on"
    )


def titles_on(panel: FaultsPanel) -> list[str]:
    rows = rows_on(panel)
    return [rows.item(row).text() for row in range(rows.count()) if rows.isVisible()]


def title_of(fault_id: str) -> str:
    return next(fault.title for fault in FAULTS if fault.id == fault_id)


def test_the_faults_that_are_on_are_counted_and_named_above_the_list(panel):
    assert titles_on(panel) == []
    panel.show_faults(("gauge-lies", "pos-restart"))
    expected = {title_of("gauge-lies"), title_of("pos-restart")}
    assert set(titles_on(panel)) == expected
    assert panel.findChild(FaultsOn).words == "2 on"
    tick(panel, "pos-restart", is_on=False)
    assert titles_on(panel) == [title_of("gauge-lies")]


def test_a_fault_is_taken_off_where_it_is_named_above_the_list(qtbot, panel):
    panel.show_faults(("gauge-lies", "pos-restart"))
    row = next(i for i in range(2) if rows_on(panel).item(i).text() == title_of("gauge-lies"))
    with qtbot.waitSignal(panel.ticked) as told:
        rows_on(panel).item(row).setCheckState(Qt.CheckState.Unchecked)
    assert told.args == [("pos-restart",)]
    assert not is_ticked(panel, "gauge-lies")
    assert titles_on(panel) == [title_of("pos-restart")]


def test_a_fault_that_is_on_is_found_in_the_list_whatever_is_searched_for(qtbot, panel):
    panel.resize(300, 260)
    panel.show_faults(("gauge-lies",))
    panel.findChild(QLineEdit).setText("cap-")
    assert item(panel, "gauge-lies").isHidden()
    rows = rows_on(panel)
    place = rows.visualItemRect(rows.item(0)).center() + QPoint(40, 0)
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
    listed = panel.findChild(QListWidget)
    assert listed.currentItem() is item(panel, "gauge-lies")
    assert listed.viewport().rect().intersects(listed.visualItemRect(listed.currentItem()))
    assert is_ticked(panel, "gauge-lies")


def headings(panel: FaultsPanel) -> list[QListWidgetItem]:
    listed = panel.findChild(QListWidget)
    items = [listed.item(row) for row in range(listed.count())]
    return [found for found in items if not found.flags()]


def test_faults_stand_under_their_tier_and_combinations_under_their_own_heading(panel):
    listed = panel.findChild(QListWidget)
    last = headings(panel)[-1]
    below = [listed.item(row).text() for row in range(listed.row(last) + 1, listed.count())]
    assert last.text() == "Together"
    assert below == ["Both bugs at once", "The interview's cache class"]


def test_the_list_begins_with_the_six_to_start_with_then_tiers_then_kinds(panel):
    words = [heading.text() for heading in headings(panel)]
    tiers = [word for word in words if word in ("Start here", "Met most often", "Met less often")]
    assert tiers == ["Start here", "Met most often", "Met less often"]
    assert words[:4] == ["Start here", "Met most often", "Position", "Mask"]
    listed = panel.findChild(QListWidget)
    first = [listed.item(row).toolTip().partition("\n")[0] for row in range(1, 7)]
    assert first == list(FAMOUS)


def test_a_heading_goes_with_the_last_fault_under_it(panel):
    panel.findChild(QLineEdit).setText("interview")
    shown = [heading.text() for heading in headings(panel) if not heading.isHidden()]
    assert shown == ["Together"]


def test_a_fault_can_be_switched_on_from_the_step_looked_at(qtbot, panel):
    menu = panel.menu_of("cap-early")
    act = next(action for action in menu.actions() if action.text() == "From this step on")
    with qtbot.waitSignal(panel.from_here_wanted) as told:
        act.trigger()
    assert told.args == ["cap-early"]


def test_a_combination_cannot_be_switched_on_in_mid_run(panel):
    assert [action.text() for action in panel.menu_of("both-bugs").actions()] == ["Show it"]


@pytest.mark.parametrize("theme", [LIGHT, LIGHT.sized(percent=100, is_large=True)])
def test_no_title_of_a_fault_is_cut_in_a_panel_of_300_pixels(qtbot, qapp, theme):
    narrow = FaultsPanel(theme)
    qtbot.addWidget(narrow)
    narrow.resize(theme.px(300), 1200)
    with qtbot.waitExposed(narrow):
        narrow.show()
    listed = narrow.findChild(QListWidget)
    bounds = QFontMetrics(listed.font())
    rows = [listed.item(row) for row in range(listed.count())]
    for found in (row for row in rows if row.flags()):
        area = listed.visualItemRect(found)
        words_px = area.width() - 24
        needed = bounds.boundingRect(
            QRect(0, 0, words_px, 0), Qt.TextFlag.TextWordWrap, found.text()
        )
        assert area.height() >= max(needed.height(), theme.target_px)
    assert not listed.horizontalScrollBar().isVisible()


def lines_px(words: str, font: QFont, width: int) -> int:
    room = QRect(0, 0, width, 9999)
    return QFontMetrics(font).boundingRect(room, Qt.TextFlag.TextWordWrap, words).height()


THEMES = [LIGHT.sized(percent=p, is_large=teach) for p in (80, 100, 150) for teach in (False, True)]


@pytest.fixture(params=THEMES, ids=lambda theme: f"{theme.sans_px} px")
def narrow(request, qtbot) -> FaultsPanel:
    """As narrow and as low as in the smallest window."""
    made = FaultsPanel(request.param)
    qtbot.addWidget(made)
    made.resize(request.param.px(178), 10 * request.param.target_px - 100)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_the_titles_of_faults_that_are_on_are_whole_in_a_narrow_panel(qtbot, narrow):
    for fault in FAULTS:
        narrow.show_faults((fault.id,))
        rows = rows_on(narrow)
        area = rows.visualItemRect(rows.item(0))
        assert rows.viewport().rect().contains(area)
        needed_px = lines_px(fault.title, rows.font(), area.width() - 24)
        assert area.height() >= needed_px


def test_the_symptom_of_the_fault_that_is_looked_at_is_whole_in_a_low_panel(qtbot, narrow):
    narrow.show_faults(("mask-top-left",))
    listed = narrow.findChild(QListWidget)
    for fault in FAULTS:
        listed.setCurrentItem(item(narrow, fault.id))
        narrow.layout().activate()
        about = next(a for a in narrow.findChildren(QLabel) if a.text().startswith(fault.id))
        assert about.height() >= lines_px(about.text(), about.font(), about.width())
        assert narrow.rect().contains(about.geometry())


def test_no_heading_is_cut_in_a_narrow_panel(narrow):
    listed = narrow.findChild(QListWidget)
    for heading in headings(narrow):
        area = listed.visualItemRect(heading)
        words_px = listed.viewport().width() - 4
        assert area.height() >= lines_px(heading.text(), heading.font(), words_px)


def test_the_fault_that_is_switched_on_stays_in_sight_below_what_is_on(narrow):
    listed = narrow.findChild(QListWidget)
    narrow.resize(narrow.width(), narrow.height() + 120)
    for fault_id in ("cap-early", "gauge-lies", "mask-top-left"):
        narrow.show_faults(())
        narrow.show_faults((fault_id,))
        narrow.layout().activate()
        place = listed.visualItemRect(item(narrow, fault_id))
        assert listed.viewport().rect().contains(place)
