"""A pane of code to read: letters in few voices, signs and marks at its left edge."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.theme import Theme
from app.widgets.code_lines import Mark, ShownLine
from app.widgets.python_style import Voice

_BAR_PX = 3
_GUTTER_LETTERS = 2


class CodeText(QPlainTextEdit):
    """Shows lines; they are broken by whoever gives them, so that none is cut or scrolled to."""

    resized = Signal()

    def __init__(self, theme: Theme, name: str) -> None:
        """Takes the name that a screen reader says."""
        super().__init__()
        self._theme = theme
        self._lines: tuple[ShownLine, ...] = ()
        self.setReadOnly(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.setFont(theme.mono())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName(name)
        self.document().setDocumentMargin(0)
        self._gutter = _Gutter(self)
        letter = QFontMetricsF(theme.mono()).horizontalAdvance("0")
        self.letter_px = letter
        self._gutter_px = round(_BAR_PX + 4 + _GUTTER_LETTERS * letter)
        self.setViewportMargins(self._gutter_px, 0, 0, 0)
        self.updateRequest.connect(self._scroll_gutter)

    def n_columns(self, *, has_bar: bool) -> int:
        """Letters that one line has room for, with or without a scroll bar beside it."""
        bar_px = self.verticalScrollBar().sizeHint().width() if has_bar else 0
        free = self.contentsRect().width() - self._gutter_px - bar_px - self._theme.margin_px
        return int(free / self.letter_px)

    def fits(self, lines: Sequence[ShownLine]) -> bool:
        """Whether there is room for so many lines."""
        line_px = QFontMetricsF(self._theme.mono()).lineSpacing()
        return len(lines) * line_px <= self.contentsRect().height()

    def show_lines(self, lines: Sequence[ShownLine]) -> None:
        """Show these, if they are not shown already, with the first marked line in sight."""
        policy = Qt.ScrollBarPolicy
        bar = policy.ScrollBarAlwaysOff if self.fits(lines) else policy.ScrollBarAlwaysOn
        self.setVerticalScrollBarPolicy(bar)
        if tuple(lines) == self._lines:
            return
        self._lines = tuple(lines)
        self.clear()
        cursor = QTextCursor(self.document())
        formats = {voice: self._format(voice) for voice in ("plain", "faint", "bold")}
        for i, line in enumerate(self._lines):
            if i:
                cursor.insertBlock()
            for span in line.spans:
                cursor.insertText(span.text, formats[span.voice])
        self._gutter.update()
        self._bring_into_sight()

    def sizeHint(self) -> QSize:
        """Any height will do."""
        return QSize(0, 0)

    def minimumSizeHint(self) -> QSize:
        """Any height will do."""
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter beside the text, and ask for lines that fit."""
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._gutter.setGeometry(
            QRect(inside.left(), inside.top(), self._gutter_px, inside.height())
        )
        self.resized.emit()
        self._bring_into_sight()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy what is chosen.

        Not by createMimeDataFromSelection: data made in Python that the clipboard still holds
        at the end of the program ends it with a fault (PySide6 6.11.3).
        """
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_lines())
        else:
            super().keyPressEvent(event)

    def selected_lines(self) -> str:
        """What is chosen, with the lines as they stand in the file."""
        cursor, document = self.textCursor(), self.document()
        first = document.findBlock(cursor.selectionStart()).blockNumber()
        parts = cursor.selectedText().split("\u2029")
        text = parts[0]
        for line, part in zip(self._lines[first + 1 :], parts[1:], strict=False):
            text += part.lstrip() if line.goes_on else f"\n{part}"
        return text

    def paint_gutter(self, painter: QPainter) -> None:
        """Signs and marks of the lines in sight."""
        theme = self._theme
        painter.fillRect(self._gutter.rect(), theme.paper)
        painter.setFont(theme.mono())
        colours: dict[Mark, QColor] = {"none": theme.dim, "wrong": theme.alarm, "right": theme.text}
        block, offset = self.firstVisibleBlock(), self.contentOffset()
        while block.isValid() and block.blockNumber() < len(self._lines):
            place = self.blockBoundingGeometry(block).translated(offset)
            if place.top() > self._gutter.height():
                return
            line = self._lines[block.blockNumber()]
            if line.mark != "none":
                bar = QRectF(1, place.top(), _BAR_PX, place.height())
                painter.fillRect(bar, colours[line.mark])
            if line.sign and not line.goes_on:
                painter.setPen(colours[line.mark])
                left = _BAR_PX + 3.0
                sign = QRectF(left, place.top(), self._gutter_px - left, place.height())
                painter.drawText(sign, Qt.AlignmentFlag.AlignLeft, line.sign)
            block = block.next()

    def _format(self, voice: Voice) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setFont(self._theme.mono(is_bold=voice == "bold"))
        made.setForeground(self._theme.dim if voice == "faint" else self._theme.text)
        return made

    def _bring_into_sight(self) -> None:
        """The last marked line, then the first: both, where there is room for them."""
        marked = [i for i, line in enumerate(self._lines) if line.mark != "none"]
        for line in (*marked[-1:], *marked[:1]):
            block = self.document().findBlockByNumber(line)
            self.setTextCursor(QTextCursor(block))
        if not marked:
            self.moveCursor(QTextCursor.MoveOperation.Start)

    def _scroll_gutter(self, exposed: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, exposed.y(), self._gutter.width(), exposed.height())


class _Gutter(QWidget):
    def __init__(self, text: CodeText) -> None:
        super().__init__(text)
        self._text = text

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._text.paint_gutter(painter)
        painter.end()
