"""Live values beside code: each with what was expected of it, where that is something else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.letters import letters
from core.readouts.seam_values import SeamValue

_BOX_PX = 4
_GAP_PX = 12
_ROW_PAD_PX = 4
_AS_EXPECTED = " ✓"


@dataclass(frozen=True, slots=True)
class _Piece:
    """Letters of a value, with their place: a line, and pixels from its left edge."""

    value: SeamValue
    text: str
    role: str
    line: int
    left: float
    width: float


class ValueList(Canvas):
    """What is wrong first, then answers, what came of them, and what the function was given."""

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__(theme, "Values beside the code", 0, 0)
        self._values: tuple[SeamValue, ...] = ()
        self._note = ""
        self._pieces: list[_Piece] = []
        self._first = 0
        self._placed_px: int | None = None
        self._font = theme.mono()
        self._metrics = QFontMetricsF(self._font)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def values(self) -> tuple[SeamValue, ...]:
        """Those shown, in the order in which they stand."""
        return self._values

    @property
    def n_lines(self) -> int:
        """Lines that all of it takes at this width."""
        n_value_lines = max((piece.line for piece in self._pieces), default=-1) + 1
        return n_value_lines + bool(self._note)

    @property
    def line_px(self) -> int:
        """Height of a line."""
        return round(self._metrics.height()) + _ROW_PAD_PX

    def show_values(self, values: Sequence[SeamValue], note: str) -> None:
        """Show these, and a line that says what is to be said of them."""
        order = ("answer", "effect", "argument")
        ordered = tuple(
            sorted(values, key=lambda value: (not value.is_wrong, order.index(value.kind)))
        )
        if (ordered, note) == (self._values, self._note):
            return
        self._values, self._note, self._placed_px = ordered, note, None
        self._first = 0
        self._place()

    def height_for(self, width: int, most_px: int) -> int:
        """Height of what is shown, whole lines, and no more than asked."""
        self._place(width)
        n_fitting = max(1, most_px // self.line_px)
        return min(self.n_lines, n_fitting) * self.line_px

    def sizeHint(self) -> QSize:
        """All lines."""
        return QSize(0, self.n_lines * self.line_px)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break lines anew."""
        super().resizeEvent(event)
        self._place()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Turn to lines that have no room."""
        turned = -1 if event.angleDelta().y() > 0 else 1
        most = max(0, self.n_lines - self._n_fitting())
        self._first = min(max(0, self._first + turned), most)
        self.update()

    def draw(self, painter: QPainter) -> None:
        """The lines in sight."""
        margin, n_hidden = self.theme.margin_px, self._n_hidden()
        last = self._first + self._n_fitting() - 1
        last_px = self._draw_more(painter, n_hidden) if n_hidden else float(self.width())
        painter.setFont(self.theme.mono())
        for piece in self._pieces:
            if self._first <= piece.line <= last:
                right_px = last_px if piece.line == last else float(self.width())
                self._draw_piece(painter, piece, right_px)
        if self._note and self.n_lines - 1 <= last:
            painter.setFont(self.theme.sans(px=self.theme.small_px))
            top = (self.n_lines - 1 - self._first) * self.line_px
            place = QRectF(margin, top, self.width() - 2 * margin, self.line_px)
            marks.label(painter, place, self._note, self.theme.dim, Qt.AlignmentFlag.AlignLeft)

    def hit(self, at: QPointF) -> Hit | None:
        """The value in full."""
        line = int(at.y() // self.line_px) + self._first
        for piece in self._pieces:
            if piece.line == line and piece.left <= at.x() <= piece.left + piece.width:
                value = piece.value
                lines = [f"{value.name} = {value.full}"]
                if value.expected is not None:
                    lines.append(f"expected {value.expected}" if value.is_wrong else "as expected")
                return Hit("\n".join(lines), None)
        if self._note and line == self.n_lines - 1:
            return Hit(self._note, None)
        return None

    def _place(self, width: int | None = None) -> None:
        width = self.width() if width is None else width
        if width != self._placed_px:
            self._placed_px = width
            self._pieces = list(self._placed(width))
            self.update()

    def _placed(self, width: int) -> Iterator[_Piece]:
        margin = float(self.theme.margin_px)
        line, left, kind = 0, margin, None
        for value in self._values:
            starts = value.kind != kind
            for role, text in _words(value):
                needed = self._width(role, text)
                if left > margin and (starts or left + needed > width - margin):
                    line, left = line + 1, margin
                starts = False
                room = min(needed, width - left - margin)
                yield _Piece(value, text, role, line, left, room)
                left += needed + (0 if role == "name" else _GAP_PX)
            kind = None if value.is_wrong else value.kind

    def _width(self, role: str, text: str) -> float:
        framed = 2 * _BOX_PX if role in ("wrong", "expected") else 0
        return letters(text, self._font).width + framed + 2

    def _draw_piece(self, painter: QPainter, piece: _Piece, right_px: float) -> None:
        """What stands left of `right_px`."""
        theme, role = self.theme, piece.role
        top = (piece.line - self._first) * self.line_px
        width = min(piece.width, right_px - piece.left)
        if width <= 2 * _BOX_PX:
            return
        place = QRectF(piece.left, top, width, self.line_px)
        box = place.adjusted(0, 1, -1, -2)
        if role == "wrong":
            marks.outline(painter, box, theme.alarm, px=2)
        elif role == "expected":
            marks.outline(painter, box, theme.text)
        if role in ("wrong", "expected"):
            place = place.adjusted(_BOX_PX, 0, -_BOX_PX, 0)
        is_dim = role == "name" or piece.value.kind == "argument"
        colour = theme.dim if is_dim and role not in ("wrong", "expected") else theme.text
        marks.label(painter, place, piece.text, colour, Qt.AlignmentFlag.AlignLeft)

    def _n_hidden(self) -> int:
        """Lines below those in sight."""
        return max(0, self.n_lines - self._first - self._n_fitting())

    def _n_fitting(self) -> int:
        return max(1, self.height() // self.line_px)

    def _draw_more(self, painter: QPainter, n_hidden: int) -> float:
        """How many lines have no room, at the end of the last one; gives where that begins."""
        painter.setFont(self.theme.sans(px=self.theme.small_px))
        text = f"{n_hidden} more ▾"
        width = painter.fontMetrics().horizontalAdvance(text) + 3 * _BOX_PX
        top = (self._n_fitting() - 1) * self.line_px
        place = QRectF(self.width() - width, top, width, self.line_px)
        marks.label(painter, place, text, self.theme.dim)
        return place.left()


def _words(value: SeamValue) -> Iterator[tuple[str, str]]:
    """Role and letters of the parts of a value; a right one fits together better in one."""
    if not value.is_wrong:
        yield "name", f"{value.name} = "
        yield "value", value.text + (_AS_EXPECTED if value.expected is not None else "")
        return
    yield "name", f"{value.name} = "
    yield "wrong", value.text
    yield "label", "expected"
    yield "expected", value.expected or ""
