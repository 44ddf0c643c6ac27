"""Which panels a layout has and where they stand: a plan in numbers. `arranging` carries it out.

More than 300 lines: the plan is one calculation, and each of its numbers stands beside its use.
"""

import math
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
RIGHT, TEACH_RIGHT = 0.24, 0.34
MOST_ASIDE = 0.56
SMALL_TIMELINE_PX = 60
LINE_PX = 16
"""Height of another line of a sentence."""
STEP_PX = 720
"""In a window narrower than this the line of the step is broken into two."""
_LINE_OF_LETTER = 1.2
"""Height of a line beside that of its letters."""
LONG_SENTENCES: Mapping[str, int] = {"tokens": 800, "cache": 800, "mask": 1200, "timeline": 1100}
"""Panels whose least height has room for one line alone, and the width below which theirs has two.

Of a panel below the columns, that of the window.
"""
SPARE_PX = 172
"""What a panel would like that takes what the others leave."""
CODE_AREA_PX = 96_000
"""What code would like: the narrower it is, the more lines it takes."""
MERGES = (
    ("mask", "attention"),
    ("cache", "tokens"),
    ("tokens", "attention"),
    ("timeline", "attention"),
)
"""Which panels go behind which where there is no room for all, one after the other."""
TEACH_MERGES = (MERGES[0], MERGES[1], MERGES[3], MERGES[2])
"""Where the letters are for many to read, the cache stays beside the attention."""
BORDER_PX = 6
TITLE_PX = 22
BARS_PX, LOW_BARS_PX, TAB_PX = (26, 65), (26, 43), (15, 11)
"""Of heights: what is the same for all letters, and what grows with them."""


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


def n_step_lines(width_px: int, theme: Theme) -> int:
    """How many lines there are for what the step is."""
    return 2 if width_px < STEP_PX * theme.scale else 1


def has_low_bars(size: QSize, theme: Theme) -> bool:
    """Whether the status line has to leave its place below the panels to them."""
    return is_small(size, theme) and theme.scale <= 1


def of_layout(name: LayoutName, docks: Sequence[Dock]) -> list[Dock]:
    """The panels that a layout shows at first."""
    return [dock for dock in docks if name == "debug" or dock.id in TEACH]


def plan(name: LayoutName, docks: Sequence[Dock], size: QSize, theme: Theme) -> Plan:
    """The arrangement of panels, as a layout wants them, in a window of a size."""
    return _Planner(name, docks, size, theme).plan()


class _Planner:
    """Knows the panels of a layout and the room that there is."""

    def __init__(self, name: LayoutName, docks: Sequence[Dock], size: QSize, theme: Theme) -> None:
        self._name = name
        self._theme = theme
        self._width_px = size.width()
        self._is_small = is_small(size, theme)
        bars_px = LOW_BARS_PX if has_low_bars(size, theme) else BARS_PX
        self._room_px = size.height() - _height(bars_px, theme) - _more_of_step_px(size, theme)
        self._tabs_px = _height(TAB_PX, theme)
        self._docks = {dock.id: dock for dock in docks}
        self._areas = {
            area: [dock.id for dock in docks if dock.area == area]
            for area in ("left", "centre", "right", "bottom")
        }
        columns = [self._areas[area] for area in ("left", "centre", "right")]
        self._centre_px = size.width() - sum(self._widths(columns).values())

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

    # What stands behind what.

    def _tabs(self) -> dict[str, str]:
        """Which panel stands behind which."""
        left, right = self._areas["left"], self._areas["right"]
        tabs = {i: d.tab_of for i, d in self._docks.items() if d.tab_of in self._docks}
        below = [i for i in self._areas["bottom"] if self._docks[i].has_title]
        is_teach = self._name == "teach"
        if is_teach or self._is_small or not self._has_room("centre", tabs):
            _stack(tabs, below)
        if is_teach and "lesson" in right:
            _stack(tabs, _with_first("lesson", [*right, *left]))
        elif is_teach or self._is_small:
            _stack(tabs, _with_first("faults", left))
            _stack(tabs, right)
        elif not self._has_room("right", tabs):
            _stack(tabs, [i for i in ("code", "inspector", "lesson") if i in right])
        for behind, front in TEACH_MERGES if is_teach else MERGES:
            if {behind, front} <= self._docks.keys() - tabs.keys() and self._is_cut(tabs):
                _stack(tabs, [front, behind])
        return tabs

    def _has_room(self, area: str, tabs: Mapping[str, str]) -> bool:
        """Whether all in a column, and below it, can have the heights that they would like."""
        ids = [i for i in (*self._areas[area], *self._areas["bottom"]) if i not in tabs]
        liked_px = sum(self._liked_px(i, tabs) + BORDER_PX for i in ids) - BORDER_PX
        return liked_px <= self._room_px

    def _is_cut(self, tabs: Mapping[str, str]) -> bool:
        """Whether there is too little room for contents and sentences of the middle and below."""
        ids = [i for i in (*self._areas["centre"], *self._areas["bottom"]) if i not in tabs]
        least_px = sum(self._whole_px(i, tabs) + BORDER_PX for i in ids) - BORDER_PX
        return least_px > self._room_px

    # Heights and widths.

    def _heights(
        self, fronts: Mapping[str, Sequence[str]], behind: Mapping[str, Sequence[str]]
    ) -> dict[str, int]:
        """Of panels that do not take what is left; a stack has its tabs besides."""
        tabs = {i: front for front, ids in behind.items() for i in ids}
        heights = self._shared([*fronts["centre"], *fronts["bottom"]], tabs, self._room_px)
        above_px = self._room_px - sum(heights[i] + BORDER_PX for i in fronts["bottom"])
        for area in ("left", "right"):
            heights |= self._shared(fronts[area], tabs, above_px)
        for area in ("left", "centre", "right"):
            ids = fronts[area]
            takers = [i for i in ids if not self._docks[i].height_px] or ids[-1:]
            heights = {i: px for i, px in heights.items() if i not in takers}
        return {i: px - (self._tabs_px if i in behind else 0) for i, px in heights.items()}

    def _shared(self, ids: Sequence[str], tabs: Mapping[str, str], room_px: int) -> dict[str, int]:
        """Of panels above one another: first for whole sentences, then for what takes what is left.

        The others get the same share of what they would like to have; what is spare then is for
        panels that stand behind one of them.
        """
        heights = {i: self._least_px(i, tabs) for i in ids}
        free = room_px - sum(heights.values()) - BORDER_PX * (len(ids) - 1)
        for i in ids:  # a whole line or none
            line_px = self._whole_px(i, tabs) - heights[i]
            if line_px <= free:
                heights[i] += line_px
                free -= line_px
        takers = {i: self._liked_px(i, tabs) for i in ids if self._docks[i].height_px is None}
        others = {i: self._liked_px(i, tabs) for i in ids if i not in takers}
        for liked in (takers, others):
            wishes = {i: max(0, px - heights[i]) for i, px in liked.items()}
            share = min(1.0, max(0, free) / max(1, sum(wishes.values())))
            given = {i: math.floor(wish * share) for i, wish in wishes.items()}
            heights |= {i: heights[i] + px for i, px in given.items()}
            free -= sum(given.values())
        for i, front in tabs.items():
            if front in heights:
                spare = min(free, self._liked_px(i, tabs) - heights[front])
                heights[front] += max(0, spare)
                free -= max(0, spare)
        return heights

    def _widths(self, columns: Sequence[Sequence[str]]) -> dict[str, int]:
        """Of the columns at the sides; the middle takes what is left."""
        left, centre, right = columns
        widths: dict[str, int] = {}
        if left:
            widths[left[0]] = self._theme.px(SMALL_SIDE_PX if self._is_small else SIDE_PX)
        if right:
            widths[right[0]] = self._right_px()
        most_px = round(MOST_ASIDE * self._width_px)
        if sum(widths.values()) > most_px:
            share = most_px / sum(widths.values())
            widths = {dock_id: round(px * share) for dock_id, px in widths.items()}
        if not centre:
            widths.pop(right[0] if right else left[0], None)
        return widths

    def _right_px(self) -> int:
        """Width of the column at the right, where all three have room."""
        if self._name == "teach":
            return round(self._width_px * TEACH_RIGHT)
        least_px = self._theme.px(SMALL_RIGHT_PX if self._is_small else RIGHT_PX)
        return max(least_px, round(self._width_px * RIGHT))

    def _least_px(self, dock_id: str, tabs: Mapping[str, str]) -> int:
        """Height in which nothing of a panel, or of those behind it, is cut: with title or tabs."""
        least_px = max(self._docks[i].least_px for i in self._stack_of(dock_id, tabs))
        return least_px + self._head_px(dock_id, tabs)

    def _whole_px(self, dock_id: str, tabs: Mapping[str, str]) -> int:
        """The same with another line for a long sentence, where that needs it."""
        stack = self._stack_of(dock_id, tabs)
        whole_px = max(self._docks[i].least_px + self._line_px(i) for i in stack)
        return whole_px + self._head_px(dock_id, tabs)

    def _stack_of(self, dock_id: str, tabs: Mapping[str, str]) -> list[str]:
        """A panel, and those that stand behind it."""
        return [dock_id, *(i for i, front in tabs.items() if front == dock_id)]

    def _line_px(self, dock_id: str) -> int:
        """Height of another line of a sentence, where its place is so narrow that it needs it."""
        is_below = self._docks[dock_id].area == "bottom"
        width_px = self._width_px if is_below else self._centre_px
        is_long = width_px < self._theme.px(LONG_SENTENCES.get(dock_id, 0))
        return self._theme.px(LINE_PX) if is_long else 0

    def _liked_px(self, dock_id: str, tabs: Mapping[str, str]) -> int:
        """Height that a panel would like, with its title or tabs."""
        dock = self._docks[dock_id]
        head_px = self._head_px(dock_id, tabs)
        if self._is_small and dock.area == "bottom" and dock.has_title:
            usual_px = max(self._theme.px(SMALL_TIMELINE_PX), dock.least_px)
            return usual_px + self._line_px(dock_id) + head_px
        if dock.height_px is None and dock.area == "right":
            area_px = CODE_AREA_PX * self._theme.scale**2
            return round(area_px / self._right_px()) + head_px
        usual_px = (dock.height_px or SPARE_PX) - (TITLE_PX if dock.has_title else 0)
        return max(self._theme.px(usual_px), dock.needed_px) + head_px

    def _head_px(self, dock_id: str, tabs: Mapping[str, str]) -> int:
        if dock_id in tabs or dock_id in tabs.values():
            return self._tabs_px
        return self._theme.title_px if self._docks[dock_id].has_title else 0


def _height(parts: tuple[int, int], theme: Theme) -> int:
    fixed, growing = parts
    return fixed + math.ceil(growing * theme.scale)


def _more_of_step_px(size: QSize, theme: Theme) -> int:
    """By how much the line of the step is higher where it has two lines of small letters."""
    letters_px = n_step_lines(size.width(), theme) * theme.small_px - theme.sans_px
    return math.ceil(_LINE_OF_LETTER * max(0, letters_px))


def _stack(tabs: dict[str, str], ids: Sequence[str]) -> None:
    """The first in front; behind it the others, and whatever stood behind one of them."""
    if ids:
        tabs |= dict.fromkeys(ids, ids[0])
        tabs |= {i: ids[0] for i, front in tabs.items() if front in ids}
        del tabs[ids[0]]


def _with_first(front: str, ids: Sequence[str]) -> list[str]:
    """The same, but with one of them, if it is there, before the others."""
    return sorted(ids, key=lambda dock_id: dock_id != front)
