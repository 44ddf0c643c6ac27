"""A panel whose canvas shows slots, and what joins several of them."""

from collections.abc import Iterable

from PySide6.QtWidgets import QWidget

from app.theme import Theme
from app.widgets.panel import CanvasPanel
from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_scroll import SlotScroll


class SlotPanel(CanvasPanel):
    """A panel whose canvas shows slots."""

    def __init__(self, theme: Theme, canvas: SlotCanvas) -> None:
        """Takes the canvas."""
        super().__init__(theme, canvas)
        self._slots = canvas

    @property
    def slot_scroll(self) -> SlotScroll:
        """The part and the order that are shown."""
        return self._slots.slot_scroll

    def follow(self, scroll: SlotScroll) -> None:
        """Show what others show too."""
        self._slots.follow(scroll)

    def choices(self) -> SlotScroll:
        """What a view that takes the place of this one goes on with."""
        return self.slot_scroll

    def choose(self, choices: SlotScroll) -> None:
        """Go on with the choices of the view before."""
        self.follow(choices)


def share_scroll(widgets: Iterable[QWidget]) -> None:
    """Let all panels with slots among the widgets show the same part in the same order."""
    first, *others = [widget for widget in widgets if isinstance(widget, SlotPanel)] or [None]
    for panel in others:
        if first is not None and panel is not None:
            panel.follow(first.slot_scroll)
