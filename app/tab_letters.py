"""The letters of tabs: where panels stand behind one another, their names are not cut."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QMainWindow, QStyle, QTabBar

from app.theme import USUAL_PX, Theme


def fit_tabs(window: QMainWindow, theme: Theme) -> None:
    """Give the tabs of every stack of panels the usual letters, or smaller ones that fit."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    for tabs in window.findChildren(QTabBar, options=direct):
        if tabs.isVisible() and tabs.count():
            font = _fitting(tabs, theme)
            if font.pixelSize() != tabs.font().pixelSize():
                tabs.setFont(font)


def _fitting(tabs: QTabBar, theme: Theme) -> QFont:
    """The largest letters in which all names fit; never smaller than those of a usual label."""
    space_px = tabs.style().pixelMetric(QStyle.PixelMetric.PM_TabBarTabHSpace, None, tabs)
    names = [tabs.tabText(i) for i in range(tabs.count())]
    usual_px = theme.small_px + 1
    for px in range(usual_px, USUAL_PX[-1], -1):
        font = theme.sans(px=px)
        metrics = QFontMetrics(font)
        needed_px = sum(metrics.horizontalAdvance(name) + space_px for name in names)
        if needed_px <= tabs.width():
            return font
    return theme.sans(px=min(usual_px, USUAL_PX[-1]))
