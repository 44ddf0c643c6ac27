"""A canvas whose columns are the steps of the run: a click or a drag goes to a step."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter

from app.widgets import marks
from app.widgets.cell_canvas import CellCanvas
from app.widgets.step_ruler import StepRuler
from core.selection import Selection

_EDGE_ALPHA, _POINTED_EDGE_ALPHA = 200, 100
_TINT_SHARE = 6


class StepCanvas(CellCanvas):
    """Sub-classes say which steps there are; their readouts have a `selection`."""

    is_kept_at_once = True
    tints = True
    """Whether the step looked at is tinted; not where colours are numbers."""

    _ruler: tuple[tuple[int, int], StepRuler] | None = None

    def steps(self) -> Sequence[object]:
        """What is shown of each step; the same object as long as the picture would be the same."""
        return ()

    def ruler(self) -> StepRuler:
        """Where they stand."""
        key = (self.width(), max(1, len(self.steps())))
        if self._ruler is None or self._ruler[0] != key:
            self._ruler = (key, StepRuler.of(self.theme, *key))
        return self._ruler[1]

    def show_readout(self, readout: Any) -> None:  # noqa: ANN401  (each draws one kind; None: none)
        """The picture is kept while only the step looked at is another one."""
        before, picture = self.steps(), self.kept_picture()
        super().show_readout(readout)
        if readout is not None and self.steps() is before:
            self.keep_picture(picture)

    @property
    def line_px(self) -> int:
        """Height of a line of numbers."""
        return self.theme.small_px + 3

    def draw_numbers(self, painter: QPainter, top: float) -> None:
        """The numbers of the steps in a line, as many as there is room for."""
        theme, line, ruler = self.theme, self.line_px, self.ruler()
        marks.gutter_name(painter, theme, top, line, ruler.gutter_px, "step")
        painter.setFont(theme.mono(px=theme.small_px - 1))
        room = painter.fontMetrics().horizontalAdvance(str(ruler.n_steps - 1)) + 6
        every = next(e for e in _intervals() if e * ruler.step_px >= room)
        for step in range(0, ruler.n_steps, every):
            place = QRectF(ruler.middle(step) - room, top, 2 * room, line)
            marks.label(painter, place, str(step), theme.dim)

    def draw_over(self, painter: QPainter) -> None:
        """The step looked at, and the one that is pointed at."""
        pointed, current = self.pointed_at, self.readout.selection.step
        if pointed is not None and pointed.step != current:
            self._draw_step(painter, pointed.step, _POINTED_EDGE_ALPHA)
        self._draw_step(painter, current, _EDGE_ALPHA)
        place = self._band(current)
        painter.fillRect(QRectF(place.left(), 0, place.width(), 3), self.theme.new)

    def _draw_step(self, painter: QPainter, step: int, alpha: int) -> None:
        if not 0 <= step < len(self.steps()):
            return
        place = self._band(step)
        shade = QColor(self.theme.new)
        if self.tints:
            self._tint(painter, place, alpha / 255 / _TINT_SHARE)
        shade.setAlpha(alpha)
        for x in (place.left() - 1, place.right()):
            marks.shade(painter, QRectF(x, 0, 1, place.height()), shade)

    def _tint(self, painter: QPainter, place: QRectF, share: float) -> None:
        """Colour the ground alone: what is drawn on it stands out from it more, in its own hue."""
        theme = self.theme
        mode = QPainter.CompositionMode
        is_light = theme.name == "light"
        painter.save()
        painter.setCompositionMode(
            mode.CompositionMode_Darken if is_light else mode.CompositionMode_Lighten
        )
        marks.shade(painter, place, theme.mixed(theme.new, share))
        painter.restore()

    def _band(self, step: int) -> QRectF:
        ruler = self.ruler()
        width = max(3.0, ruler.step_px - (1.0 if ruler.step_px >= 6 else 0.0))
        left = ruler.left(step) if ruler.step_px >= 3 else ruler.middle(step) - width / 2
        return QRectF(left, 0, width, self.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """With the button held, the step follows the mouse."""
        if self.readout is None or not event.buttons() & Qt.MouseButton.LeftButton:
            super().mouseMoveEvent(event)
            return
        selection: Selection = self.readout.selection
        step = self.ruler().nearest(event.position().x())
        if step != selection.step:
            self.picked.emit(replace(selection, step=step))

    def middle_of_step(self, step: int, y: float) -> QPointF:
        """A place in the column of a step."""
        return QPointF(self.ruler().middle(step), y)


def _intervals() -> Iterator[int]:
    scale = 1
    while True:
        for factor in (1, 2, 5):
            yield factor * scale
        scale *= 10
