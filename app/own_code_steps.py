"""A sequence of calls as a picture: after each call the rows that the class gives back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QResizeEvent

from app.theme import Theme
from app.widgets import marks
from app.widgets.canvas import Canvas, Hit
from app.widgets.slot_cells import draw_alarm, draw_cells
from core.contract.reading import Name
from core.contract.steps import Held, Step
from core.readouts.slot_states import SlotState

CELL_PX, LEAST_CELL_PX, NUMBERS_FROM_PX = 24, 6, 14
LABEL_PX = 60
HEAD_PX, GAP_PX = 20, 8
NUMBERS = ("length", "seen")
SHORT = {"nan": "N", "inf": "∞", "the key": "k", "the value": "v"}
LETTERS = 2
FROM_READS = "inferred: the calls up to here, on a new cache, and then a read"


@dataclass(frozen=True, slots=True)
class _Strip:
    """A row of cells.

    Attributes:
        label: what stands before it.
        held: of which layer.
        names: what is in the cells; None where the strip shows what is right.
        is_right: whether it shows what is right.
    """

    label: str
    held: Held
    names: tuple[Name, ...]
    is_right: bool = False


class StepsCanvas(Canvas):
    """Draws a sequence; as high as it needs to be, for whoever scrolls it."""

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__(theme, "The sequence of calls", 0, 0)
        self._steps: tuple[Step, ...] = ()
        self._strips: tuple[tuple[_Strip, ...], ...] = ()

    def show_steps(self, steps: Sequence[Step]) -> None:
        """Show these."""
        self._steps = tuple(steps)
        self._strips = tuple(_strips_of(self._steps))
        self.setAccessibleDescription("; ".join(map(_said, steps)))
        self._fit()
        self.update()

    def dress(self, theme: Theme) -> None:
        """Draw in another theme."""
        self.theme = theme
        self._fit()
        self.update()

    def sizeHint(self) -> QSize:
        """As high as all steps."""
        return QSize(200, self._needed_px())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Nothing hangs on the width but the size of the cells."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        height = self._needed_px()
        if height != self.minimumHeight():
            self.setFixedHeight(height)

    def _needed_px(self) -> int:
        return round(sum(self._step_px(strips) for strips in self._strips))

    def _step_px(self, strips: Sequence[_Strip]) -> float:
        return self._head_px + len(strips) * self._strip_px + GAP_PX

    @property
    def _head_px(self) -> int:
        return self.theme.px(HEAD_PX)

    @property
    def _cell_px(self) -> float:
        n = max((held.n_slots for step in self._steps for held in step.held), default=0)
        room = self.width() - self.theme.px(LABEL_PX) - 2 * self.theme.margin_px
        return min(self.theme.px(CELL_PX), max(LEAST_CELL_PX, room / max(1, n)))

    @property
    def _strip_px(self) -> float:
        return self.theme.px(CELL_PX) + 3

    # Drawing.

    def draw(self, painter: QPainter) -> None:
        """Call after call."""
        y = 0.0
        for number, (step, strips) in enumerate(zip(self._steps, self._strips, strict=True)):
            self._draw_head(painter, y, number, step)
            at = y + self._head_px
            for strip in strips:
                self._draw_strip(painter, at, strip, step)
                at += self._strip_px
            y += self._step_px(strips)

    def _draw_head(self, painter: QPainter, y: float, number: int, step: Step) -> None:
        theme, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        place = QRectF(theme.margin_px, y, self.width() - 2 * theme.margin_px, self._head_px)
        painter.setFont(theme.mono(px=theme.small_px))
        painter.setPen(theme.dim)
        painter.drawText(place, middle, str(number))
        place.setLeft(place.left() + theme.px(20))
        painter.setFont(theme.sans(is_bold=step.is_broken))
        painter.setPen(theme.text)
        painter.drawText(place, middle, step.words)
        left = place.left() + painter.fontMetrics().horizontalAdvance(step.words) + 2 * GAP_PX
        place.setLeft(left)
        painter.setFont(theme.sans(px=theme.small_px))
        painter.setPen(theme.alarm if step.is_broken else theme.dim)
        words = painter.fontMetrics().elidedText(
            _outcome(step), Qt.TextElideMode.ElideRight, int(place.width())
        )
        painter.drawText(place, middle, words)

    def _draw_strip(self, painter: QPainter, y: float, strip: _Strip, step: Step) -> None:
        theme, cell = self.theme, self._cell_px
        left = theme.px(LABEL_PX)
        place = QRectF(theme.margin_px, y, left - 2 * theme.margin_px, theme.px(CELL_PX))
        painter.setFont(theme.sans(px=theme.small_px))
        painter.setPen(theme.dim)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight,
                         strip.label)  # fmt: skip
        if strip.held.odd and not strip.is_right:
            rest = QRectF(left, y, self.width() - left, theme.px(CELL_PX))
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, strip.held.odd)
            return
        for slot in range(self._n_shown(strip)):
            box = QRectF(left + slot * cell, y, cell - 1, theme.px(CELL_PX))
            if strip.is_right:
                self._draw_right(painter, box, strip.names[slot])
            else:
                self._draw_found(painter, box, strip, slot, step.n_new)
        if not self._n_shown(strip):
            rest = QRectF(left, y, self.width() - left, theme.px(CELL_PX))
            painter.setPen(theme.dim)
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, "no rows")

    def _n_shown(self, strip: _Strip) -> int:
        n = len(strip.names) if strip.is_right else max(len(strip.names), len(strip.held.right))
        room = self.width() - self.theme.px(LABEL_PX) - self.theme.margin_px
        return min(n, int(room / self._cell_px))

    def _draw_right(self, painter: QPainter, box: QRectF, name: Name) -> None:
        marks.outline(painter, box, self.theme.text)
        self._letter(painter, box, name, self.theme.text)

    def _draw_found(
        self, painter: QPainter, box: QRectF, strip: _Strip, slot: int, n_new: int
    ) -> None:
        theme, right = self.theme, strip.held.right
        is_off = _is_off(strip, slot)
        name = strip.names[slot] if slot < len(strip.names) else None
        if name is None:
            marks.outline(painter, box, theme.alarm, px=2, style=Qt.PenStyle.DotLine)
            self._letter(painter, box, "−", theme.alarm)
        elif name == "zeros":
            state = SlotState.UNWRITTEN if is_off else SlotState.NEVER_WRITTEN
            written = not is_off and slot < len(right)
            draw_cells(painter, {SlotState.LIVE if written else state: [box]}, theme)
            if written:
                self._letter(painter, box, "zeros", theme.text)
        elif isinstance(name, int):
            is_new = not is_off and slot < len(right) and slot >= len(right) - n_new
            marks.fill(painter, box, theme.new if is_new else theme.live)
            if is_off:
                draw_alarm(painter, [box], theme)
            self._letter(painter, box, name, theme.paper if is_new else theme.text)
        else:
            self._draw_strange(painter, box, name, is_off=is_off)

    def _draw_strange(self, painter: QPainter, box: QRectF, name: str, *, is_off: bool) -> None:
        theme = self.theme
        marks.fill(painter, box, theme.live)
        if is_off:
            draw_alarm(painter, [box], theme)
        self._letter(painter, box, _short(name), theme.text)

    def _letter(self, painter: QPainter, box: QRectF, name: Name, colour: QColor) -> None:
        if box.width() < NUMBERS_FROM_PX - 1:
            return
        painter.setFont(self.theme.mono(px=self.theme.small_px))
        painter.setPen(colour)
        text = "0" if name == "zeros" else str(name)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # Pointing.

    def hit(self, at: QPointF) -> Hit | None:
        """The call, or the cell, under the mouse."""
        y = 0.0
        for step, strips in zip(self._steps, self._strips, strict=True):
            end = y + self._step_px(strips)
            if y <= at.y() < end:
                return Hit(self._tip(step, strips, at, at.y() - y - self._head_px), None)
            y = end
        return None

    def _tip(self, step: Step, strips: Sequence[_Strip], at: QPointF, below_head: float) -> str:
        place = int(below_head // self._strip_px)
        if below_head < 0 or place >= len(strips):
            return _said(step)
        strip = strips[place]
        slot = int((at.x() - self.theme.px(LABEL_PX)) // self._cell_px)
        if not 0 <= slot < self._n_shown(strip):
            return FROM_READS
        name = strip.names[slot] if slot < len(strip.names) else "no row"
        right = strip.held.right[slot] if slot < len(strip.held.right) else "no row"
        return f"slot {slot}\nfound: {_row_words(name)}\nright: {_row_words(right)}\n{FROM_READS}"


def _strips_of(steps: Sequence[Step]) -> Iterator[tuple[_Strip, ...]]:
    """Of each step; none where it only asked for a number, and all is as after the step before."""
    before: tuple[Held, ...] = ()
    for step in steps:
        is_told = step.kind in NUMBERS and step.held == before
        yield () if is_told else tuple(_strips(step))
        before = step.held


def _strips(step: Step) -> Iterator[_Strip]:
    """Of each layer what is found, and below it what is right where that differs."""
    for held in step.held:
        layer = f"layer {held.layer}" if len(step.held) > 1 else ""
        if held.odd or held.keys == held.values:
            yield _Strip(layer or "holds", held, held.keys)
        else:
            yield _Strip("keys", held, held.keys)
            yield _Strip("values", held, held.values)
        if held.odd or any(held.is_off(slot) for slot in range(held.n_slots)):
            yield _Strip("right", held, held.right, is_right=True)


def _is_off(strip: _Strip, slot: int) -> bool:
    held = strip.held
    if held.is_whole and slot >= len(held.right):
        return False
    found = strip.names[slot] if slot < len(strip.names) else None
    return found != (held.right[slot] if slot < len(held.right) else None)


def _short(name: str) -> str:
    """What a row is that is no row of a token, in the room of a cell."""
    for beginning, letter in SHORT.items():
        if name.startswith(beginning):
            return letter
    word = name.removeprefix("all ").removeprefix("layer ")
    layer, _, of = word.partition("'s ")
    short = f"L{layer}" if of else word
    return short if len(short) <= LETTERS else "?"


def _outcome(step: Step) -> str:
    """What a call gave, and what it should have given."""
    parts = []
    if step.found:
        parts.append(step.found)
    if step.length is not None and step.kind != "length":
        right = step.right_length
        is_right = right is None or step.length == right
        parts.append(f"length {step.length}" if is_right else f"length {step.length}, not {right}")
    return " · ".join(parts)


def _said(step: Step) -> str:
    """A call in words."""
    outcome = _outcome(step)
    right = f", expected {step.expected}" if step.is_broken else ""
    return f"{step.words}: {outcome}{right}" if outcome else step.words


def _row_words(name: Name) -> str:
    if isinstance(name, int):
        return f"the row of token {name}"
    return "a row of zeros" if name == "zeros" else name
