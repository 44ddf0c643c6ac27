"""The strip above the timeline: what goes wrong, and where it first shows; a click goes there.

More than 300 lines: a strip has one line or two, and what gives way first is decided in one place.
"""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import USUAL_PX, Theme
from app.widgets import marks
from app.widgets.letters import whole_words
from core.readouts.first_difference import FirstDifferenceReadout
from core.selection import Selection

HEIGHT_PX = 22
NAME = "First difference"
DIAGNOSIS = "Diagnosis"
BLANK = "what goes wrong first appears here, with the mechanism behind it"
_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_GO = "go there"
_AND = "; and "
_LINE_OF_LETTER = 1.2
"""Height of a line beside that of its letters."""
_LEAST_PX = 24
"""Words are left out where less room than this is left for them."""

_Part = tuple[str, bool, bool]
"""Words, whether they are bold, whether they are dim."""


class DiagnosisStrip(QWidget):
    """Shows a `FirstDifferenceReadout` in one line; `selected` tells what a click goes to."""

    selected = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty until there is something to show."""
        super().__init__()
        self.theme = theme
        self._readout: FirstDifferenceReadout | None = None
        self._is_under_mouse = False
        self.setFixedHeight(theme.px(HEIGHT_PX))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(NAME)
        self.setAccessibleDescription(BLANK)

    @property
    def sentence(self) -> str:
        """What is said, in full."""
        return BLANK if self._readout is None else self._readout.sentence

    @property
    def shown_words(self) -> str:
        """What is drawn where it has room: `sentence`, or less of it."""
        if self._readout is None:
            return BLANK
        return " ".join(words for words, _, _ in self._fitting(self._readout)[0])

    @property
    def says_wrong(self) -> bool:
        """Whether it says what goes wrong: nothing is to be laid over that."""
        return self._readout is not None and self._readout.state == "wrong"

    @property
    def words_px(self) -> int:
        """Up to where its words stand, and the link at their end."""
        readout, theme = self._readout, self.theme
        if readout is None:
            return theme.margin_px + 4 + QFontMetrics(theme.sans()).horizontalAdvance(BLANK)
        signs = QFontMetrics(theme.sans(is_bold=True)).horizontalAdvance("✕") + 8
        parts, px = self._fitting(readout)
        words_px = theme.margin_px + 4 + signs + self._wide(parts, px)
        if _has_link(readout):
            words_px += 10 + QFontMetrics(theme.sans()).horizontalAdvance(_GO) + 4
        return min(words_px, self.width())

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(400, self.theme.px(HEIGHT_PX))

    def show_readout(self, readout: FirstDifferenceReadout) -> None:
        """Say it."""
        self._take(readout)

    @Slot(object)
    def show_pointed(self, selection: Selection | None) -> None:
        """Nothing here lights up."""

    def clear(self) -> None:
        """Say nothing."""
        self._take(None)

    def _take(self, readout: FirstDifferenceReadout | None) -> None:
        before, self._readout = self._readout, readout
        if _shown(before) == _shown(readout):
            return  # what a click goes to may be another place: it is in the readout
        self.setAccessibleDescription(self.sentence)
        can_go = readout is not None and readout.target is not None
        account = () if readout is None else readout.account
        go = ("Click to go there",) if can_go else ()
        self.setToolTip("\n".join((self.sentence, *account, *go)))
        shape = Qt.CursorShape.PointingHandCursor if can_go else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A sign, the words, and where there is something to go to, a link at the end."""
        theme, readout = self.theme, self._readout
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.paper)
        if readout is None:
            self._draw_blank(painter)
        else:
            self._draw(painter, readout)
        if self.hasFocus() and self.window().isActiveWindow():
            marks.outline(painter, QRectF(self.rect()), theme.new, px=2)
        painter.end()

    def _draw_blank(self, painter: QPainter) -> None:
        painter.setFont(self.theme.sans())
        left = self.theme.margin_px + 4
        marks.label(
            painter,
            QRectF(left, 0, self.width() - 2 * left, self.height()),
            BLANK,
            self.theme.dim,
            Qt.AlignmentFlag.AlignLeft,
        )

    def _draw(self, painter: QPainter, readout: FirstDifferenceReadout) -> None:
        theme, height = self.theme, float(self.height())
        sign, colour = _sign(readout, theme)
        if readout.state == "wrong":
            painter.fillRect(QRectF(0, 0, 3, height), theme.alarm)
        left = theme.margin_px + 4.0
        painter.setFont(theme.sans(is_bold=True))
        painter.setPen(colour)
        sign_px = painter.fontMetrics().horizontalAdvance("✕") + 8
        painter.drawText(QRectF(left, 0, sign_px, height), Qt.AlignmentFlag.AlignVCenter, sign)
        left += sign_px
        right = self.width() - theme.margin_px
        painter.setFont(theme.sans())
        link_px = painter.fontMetrics().horizontalAdvance(_GO) + 4.0
        has_link = _has_link(readout)
        end = right - (link_px + 12 if has_link else 0)
        parts, px = self._fitting(readout)
        is_wide = len(parts) > 1 and self._room_px(readout) < self._wide(parts, px)
        if is_wide and px == self._low_px:
            left = self._draw_two_lines(painter, parts, left, end)
        else:
            left = self._draw_parts(painter, parts, px, QRectF(left, 0, end - left, height))
        if has_link:
            painter.setFont(theme.sans())
            self._draw_link(painter, QRectF(left + 10, 0, link_px, height))

    def _draw_two_lines(
        self, painter: QPainter, parts: tuple[_Part, ...], left: float, end: float
    ) -> float:
        """The mechanism above the difference; gives where they end."""
        half, ends = self.height() / 2, []
        for line, top in ((parts[:-1], 0), (parts[-1:], half)):
            px = self._low_px
            while px > USUAL_PX[-1] and self._wide(line, px) > end - left:
                px -= 1
            ends.append(self._draw_parts(painter, line, px, QRectF(left, top, end - left, half)))
        return max(ends)

    def _draw_parts(
        self, painter: QPainter, parts: tuple[_Part, ...], px: int, line: QRectF
    ) -> float:
        """One after the other, as far as there is room; gives where they end."""
        left = line.left()
        for words, is_bold, is_dim in parts:
            painter.setFont(self.theme.sans(px=px, is_bold=is_bold))
            width = min(painter.fontMetrics().horizontalAdvance(words) + 6.0, line.right() - left)
            if width < _LEAST_PX:
                break
            colour = self.theme.dim if is_dim else self.theme.text
            place = QRectF(left, line.top(), width, line.height())
            shown = whole_words(words, painter.font(), int(width))
            marks.label(painter, place, shown, colour, Qt.AlignmentFlag.AlignLeft)
            left += width
        return left

    @property
    def _low_px(self) -> int:
        """Letters of which two lines have room."""
        return int(self.height() / 2 / _LINE_OF_LETTER)

    def _room_px(self, readout: FirstDifferenceReadout) -> int:
        """Width for words, between the sign and the link."""
        theme = self.theme
        used = QFontMetrics(theme.sans(is_bold=True)).horizontalAdvance("✕") + 8
        if _has_link(readout):
            used += QFontMetrics(theme.sans()).horizontalAdvance(_GO) + 16
        return self.width() - 2 * theme.margin_px - 4 - used

    def _fitting(self, readout: FirstDifferenceReadout) -> tuple[tuple[_Part, ...], int]:
        """What is said and how large: in full, else without the explanations, else smaller.

        Else without its title; else in two lines, where those can be read.
        """
        theme, parts, room = self.theme, _parts(readout), self._room_px(readout)
        brief = tuple((_brief(words) if bold else words, bold, dim) for words, bold, dim in parts)
        bare = tuple(part for part in brief if not part[2])
        usual, small = theme.sans_px, theme.small_px
        for tried, px in ((parts, usual), (brief, usual), (brief, small), (bare, small)):
            if self._wide(tried, px) <= room:
                return tried, px
        has_lines = len(bare) > 1 and self._low_px >= USUAL_PX[-1]
        return (bare, self._low_px) if has_lines else (bare, small)

    def _wide(self, parts: tuple[_Part, ...], px: int) -> int:
        return sum(
            QFontMetrics(self.theme.sans(px=px, is_bold=is_bold)).horizontalAdvance(words) + 6
            for words, is_bold, _ in parts
        )

    def _draw_link(self, painter: QPainter, place: QRectF) -> None:
        marks.label(painter, place, _GO, self.theme.new, Qt.AlignmentFlag.AlignLeft)
        if self._is_under_mouse:
            y = place.center().y() + painter.fontMetrics().ascent() / 2 + 1
            painter.setPen(QPen(self.theme.new, 1))
            painter.drawLine(QPointF(place.left(), y), QPointF(place.right() - 4, y))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go there."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._go()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space go there too."""
        if Qt.Key(event.key()) in _KEYS:
            self._go()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Space is not the window's while the keyboard is here."""
        is_asked = event.type() == QEvent.Type.ShortcutOverride
        if is_asked and isinstance(event, QKeyEvent) and Qt.Key(event.key()) in _KEYS:
            event.accept()
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """The link is underlined; other views light up what it leads to."""
        super().enterEvent(event)
        self._is_under_mouse = True
        self.pointed.emit(None if self._readout is None else self._readout.target)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """The mouse is elsewhere."""
        super().leaveEvent(event)
        self._is_under_mouse = False
        self.pointed.emit(None)
        self.update()

    def _go(self) -> None:
        if self._readout is not None and self._readout.target is not None:
            self.selected.emit(self._readout.target)


def _has_link(readout: FirstDifferenceReadout) -> bool:
    """Whether there is something to go to, and it is elsewhere."""
    return readout.target is not None and readout.step != readout.selection.step


def _shown(readout: FirstDifferenceReadout | None) -> tuple[object, ...] | None:
    """All that is drawn or told of a readout: the same in most steps."""
    if readout is None:
        return None
    is_there = readout.step == readout.selection.step
    told = (readout.sentence, readout.difference, readout.mechanism, readout.account)
    return (readout.state, is_there, readout.target is not None, *told)


def _brief(mechanism: str) -> str:
    """The mechanisms by their names, without what stands after each to explain it."""
    return _AND.join(part.partition(": ")[0] for part in mechanism.split(_AND))


def _parts(readout: FirstDifferenceReadout) -> tuple[_Part, ...]:
    """What is said, in parts: the words, whether they are bold, whether they are dim."""
    if readout.mechanism is not None:
        return (
            (f"{DIAGNOSIS}:", False, True),
            (readout.mechanism, True, False),
            (f"· {readout.difference}", False, False),
        )
    title = ((f"{NAME}:", False, True),) if readout.state == "wrong" else ()
    return (*title, (readout.sentence, False, False))


def _sign(readout: FirstDifferenceReadout, theme: Theme) -> tuple[str, QColor]:
    if readout.state == "wrong":
        return "✕", theme.alarm
    return ("✓", theme.dim) if readout.state == "right" else ("…", theme.dim)
