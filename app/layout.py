"""Which panels a layout has and where they stand: a plan in numbers. `arranging` carries it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QSize

from app.docks.dock import Dock
from app.theme import Theme

LayoutName = Literal["debug", "teach"]
LAYOUTS: dict[LayoutName, str] = {
    "debug": "Every panel, in small letters",
    "teach": "Few panels, in letters that can be read from afar",
}
TEACH = ("tokens", "cache", "mask", "attention", "lesson", "faults", "diagnosis", "timeline")
SMALL = QSize(1200, 760)
"""Below this, in pixels beside letters of the usual size, panels stand behind one another."""
SETUP_PX = 222
SIDE_PX, RIGHT_PX = 300, 330
SMALL_SIDE_PX, SMALL_RIGHT_PX = 256, 296
TEACH_RIGHT = 0.34
MOST_ASIDE = 0.56
SMALL_TIMELINE_PX = 60
ATTENTION_PX = 190
BARS_PX, SMALL_BARS_PX = 90, 68
MERGES = (("mask", "attention"), ("cache", "tokens"), ("tokens", "attention"))
"""Which panels go behind which where there is no room for all, one after the other."""
BORDER_PX = 6
TAB_PX = 26


@dataclass(frozen=True, slots=True)
class Plan:
    """Where each panel stands.

    Attributes:
        columns: ids from top to bottom, of each column from the left.
        bottom: ids below the columns, from top to bottom.
        tabs: id of a panel in front, to the ids behind it.
        heights: of panels that do not take what is left.
        widths: of columns, by the id of the first panel; one takes what is left.
    """

    columns: tuple[tuple[str, ...], ...]
    bottom: tuple[str, ...]
    tabs: Mapping[str, tuple[str, ...]]
    heights: Mapping[str, int]
    widths: Mapping[str, int]

    def is_stacked(self, dock_id: str) -> bool:
        """Whether a panel stands in a stack, behind others or in front."""
        return dock_id in self.tabs or any(dock_id in behind for behind in self.tabs.values())

    def width_of(self, dock_id: str) -> int | None:
        """How wide a panel is to be; None: as wide as may be."""
        front = next((f for f, behind in self.tabs.items() if dock_id in behind), dock_id)
        first = next((column[0] for column in self.columns if front in column), None)
        return None if first is None else self.widths.get(first)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every panel that is shown."""
        placed = [*(each for column in self.columns for each in column), *self.bottom]
        return (*placed, *(each for behind in self.tabs.values() for each in behind))


def is_small(size: QSize, theme: Theme) -> bool:
    """Whether a window has too little room for every panel to have a place of its own."""
    return (
        size.width() < SMALL.width() * theme.scale or size.height() < SMALL.height() * theme.scale
    )


def has_low_bars(size: QSize, theme: Theme) -> bool:
    """Whether the status line has to leave its place below the panels to them."""
    return is_small(size, theme) and theme.scale <= 1


def plan(name: LayoutName, docks: Sequence[Dock], size: QSize, theme: Theme) -> Plan:
    """The arrangement of a layout in a window of a size."""
    return _Planner(name, docks, size, theme).plan()


class _Planner:
    """Knows the panels of a layout and the room that there is."""

    def __init__(self, name: LayoutName, docks: Sequence[Dock], size: QSize, theme: Theme) -> None:
        self._name = name
        self._theme = theme
        self._width_px = size.width()
        self._is_small = is_small(size, theme)
        bars_px = SMALL_BARS_PX if has_low_bars(size, theme) else BARS_PX
        self._room_px = size.height() - theme.px(bars_px)
        shown = [dock for dock in docks if name == "debug" or dock.id in TEACH]
        self._docks = {dock.id: dock for dock in shown}
        self._areas = {
            area: [dock.id for dock in shown if dock.area == area]
            for area in ("left", "centre", "right", "bottom")
        }

    def plan(self) -> Plan:
        tabs = self._tabs()
        fronts = {a: tuple(i for i in ids if i not in tabs) for a, ids in self._areas.items()}
        columns = [fronts[area] for area in ("left", "centre", "right")]
        order = [i for i in self._docks if i in tabs]
        behind = {front: tuple(i for i in order if tabs[i] == front) for front in tabs.values()}
        return Plan(
            columns=tuple(column for column in columns if column),
            bottom=fronts["bottom"],
            tabs=behind,
            heights=self._heights(fronts, behind),
            widths=self._widths(columns),
        )

    def _tabs(self) -> dict[str, str]:
        """Which panel stands behind which."""
        docks = self._docks
        tabs = {i: dock.tab_of for i, dock in docks.items() if dock.tab_of in docks}
        below = [i for i in self._areas["bottom"] if docks[i].has_title]
        if self._name == "teach":
            tabs |= {"faults": "lesson"} if {"faults", "lesson"} <= docks.keys() else {}
            tabs |= _stack(below)
        if self._is_small:
            tabs |= _stack(self._areas["right"]) | _stack(below)
            tabs |= {"setup": "faults"} if {"setup", "faults"} <= docks.keys() else {}
        elif not self._has_room(tabs):
            tabs |= _stack(below)
        return tabs | self._merges(tabs)

    def _has_room(self, tabs: Mapping[str, str]) -> bool:
        """Whether every panel in the middle and below can have the height that it would like."""
        wanted = [i for area in ("centre", "bottom") for i in self._areas[area] if i not in tabs]
        return sum(self._liked_px(i) + BORDER_PX for i in wanted) <= self._room_px

    def _merges(self, tabs: Mapping[str, str]) -> dict[str, str]:
        """Panels of the middle that must stand behind another, so that no contents are cut."""
        merged: dict[str, str] = {}
        least = {i: self._least_px(i) for i in self._areas["centre"]}
        room = self._room_px - self._below_px([i for i in self._areas["bottom"] if i not in tabs])
        for behind, front in MERGES:
            needed = sum(least.values()) + BORDER_PX * (len(least) - 1)
            if needed > room and {behind, front} <= least.keys():
                merged |= dict.fromkeys([b for b, f in merged.items() if f == behind], front)
                merged[behind] = front
                least[front] = max(least[front], least.pop(behind)) + self._theme.px(4)
        return merged

    def _heights(
        self, fronts: Mapping[str, Sequence[str]], behind: Mapping[str, object]
    ) -> dict[str, int]:
        """A panel in a stack has its tabs above it, and no title."""
        title_px = self._theme.title_px
        ids = [i for area in fronts.values() for i in area if self._docks[i].height_px]
        liked = {i: self._liked_px(i) - (title_px if i in behind else 0) for i in ids}
        if not self._is_small:
            return liked
        heights = {
            i: self._bottom_px(i) - (title_px if i in behind else 0) for i in fronts["bottom"]
        }
        least = {i: self._least_px(i) for i in fronts["centre"]}
        free = self._room_px - self._below_px(fronts["bottom"])
        free -= sum(least.values()) + BORDER_PX * (len(least) - 1)
        wishes = {i: max(0, liked[i] - least[i]) for i in fronts["centre"] if i in liked}
        share = min(1.0, max(0, free) / max(1, sum(wishes.values())) * 0.5)
        return heights | {i: least[i] + round(wish * share) for i, wish in wishes.items()}

    def _widths(self, columns: Sequence[Sequence[str]]) -> dict[str, int]:
        """Of the columns at the sides; the middle takes what is left."""
        left, centre, right = columns
        widths: dict[str, int] = {}
        if left:
            widths[left[0]] = self._theme.px(SMALL_SIDE_PX if self._is_small else SIDE_PX)
        if right and self._name == "teach":
            widths[right[0]] = round(self._width_px * TEACH_RIGHT)
        elif right:
            widths[right[0]] = self._theme.px(SMALL_RIGHT_PX if self._is_small else RIGHT_PX)
        most_px = round(MOST_ASIDE * self._width_px)
        if sum(widths.values()) > most_px:
            share = most_px / sum(widths.values())
            widths = {dock_id: round(px * share) for dock_id, px in widths.items()}
        if not centre:
            widths.pop(right[0] if right else left[0], None)
        return widths

    def _below_px(self, ids: Sequence[str]) -> int:
        tabs_px = self._theme.px(TAB_PX) - self._theme.title_px
        return sum(self._bottom_px(i) + BORDER_PX for i in ids) + tabs_px

    def _bottom_px(self, dock_id: str) -> int:
        if self._is_small and self._docks[dock_id].has_title:
            least_px = max(self._theme.px(SMALL_TIMELINE_PX), self._docks[dock_id].least_px)
            return least_px + self._theme.title_px
        return self._liked_px(dock_id)

    def _least_px(self, dock_id: str) -> int:
        return self._docks[dock_id].least_px + self._theme.title_px

    def _liked_px(self, dock_id: str) -> int:
        return self._theme.px(self._docks[dock_id].height_px or ATTENTION_PX)


def _stack(ids: Sequence[str]) -> dict[str, str]:
    """The first in front, the others behind it."""
    return dict.fromkeys(ids[1:], ids[0]) if ids else {}
