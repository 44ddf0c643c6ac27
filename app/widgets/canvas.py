"""A surface that draws itself, and answers what is under the mouse."""

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.theme import Theme
from core.selection import Selection

_GOOD_WIDTH = 640


@dataclass(frozen=True, slots=True)
class Hit:
    """What is at a place.

    Attributes:
        tip: its numbers in full, one line each.
        selection: what a click there chooses; None: nothing.
    """

    tip: str
    selection: Selection | None


class Canvas(QWidget):
    """Sub-classes draw in `draw` and answer in `hit`; both in logical pixels."""

    picked = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme, name: str, least_height: int, good_height: int) -> None:
        """Takes the name that a screen reader says, the least height, and one that shows all."""
        super().__init__()
        self.theme = theme
        self.pointed_at: Selection | None = None
        self._mine: Selection | None = None
        self._good_height = good_height
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # what holds it is not painted
        self.setMinimumHeight(least_height)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """The height that shows everything well."""
        return QSize(_GOOD_WIDTH, self._good_height)

    def show_readout(self, readout: Any) -> None:  # noqa: ANN401  (each draws one kind; None: none)
        """Sub-classes keep it and draw it."""

    def show_pointed(self, selection: Selection | None) -> None:
        """Light up what the mouse is over, here or in another view; None: nothing."""
        if selection != self.pointed_at:
            self.pointed_at = selection
            self.update()

    def draw(self, painter: QPainter) -> None:
        """Draw everything; the ground is painted already."""

    def says_all(self) -> bool:
        """Whether it draws the sentence itself, as there is nothing else to draw."""
        return False

    def draw_blank(self, painter: QPainter, text: str) -> None:
        """Say in the middle why there is nothing, or what will be here."""
        margin = self.theme.margin_px
        painter.setFont(self.theme.sans())
        painter.setPen(self.theme.dim)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(self.rect().adjusted(margin, margin, -margin, -margin), flags, text)

    def hit(self, at: QPointF) -> Hit | None:
        """What is at a place; None: nothing."""
        return None

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, contents, and a ring when the keyboard is here."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.paper)
        painter.setFont(self.theme.mono(px=self.theme.small_px))
        self.draw(painter)
        self.draw_ring(painter)
        painter.end()

    def draw_ring(self, painter: QPainter) -> None:
        """A ring when the keyboard is here."""
        if self.hasFocus() and self.window().isActiveWindow():
            painter.setPen(QPen(self.theme.new, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def owns(self, key: QKeyEvent) -> bool:
        """Whether a key is its own while the keyboard is here; else it may be a shortcut."""
        return False

    def event(self, event: QEvent) -> bool:
        """Numbers in full where the mouse rests, and keys that are no shortcuts here."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            found = self.hit(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), found.tip if found else "", self)
            return True
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and self.owns(event)
        ):
            event.accept()
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click chooses what is there."""
        found = self.hit(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found and found.selection:
            self.picked.emit(found.selection)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show by the mouse's shape what can be clicked, and tell what it is over."""
        found = self.hit(event.position())
        self.tell_pointed(found.selection if found else None)
        can_click = found is not None and found.selection is not None
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if can_click else Qt.CursorShape.ArrowCursor
        )

    def leaveEvent(self, event: QEvent) -> None:
        """The mouse is over nothing here any more."""
        super().leaveEvent(event)
        self.tell_pointed(None)

    def tell_pointed(self, selection: Selection | None) -> None:
        """Tell every view what is pointed at here; None: nothing any more."""
        if selection != self._mine:
            self._mine = selection
            self.pointed.emit(selection)
