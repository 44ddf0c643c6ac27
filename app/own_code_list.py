"""The list of findings and rules: a sign, the rule as a sentence, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import Theme
from core.contract.own_report import Row, RowState

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
ROW_ROLE = Qt.ItemDataRole.UserRole
SIGNS: dict[RowState, str] = {
    "waiting": "·",
    "pass": "✓",
    "fail": "✕",
    "follows": "↳",
    "note": "○",
    "not_offered": "–",
    "skipped": "–",
    "right": "✓",
    "rounding": "≈",
    "wrong": "✕",
    "not_taken": "–",
}
STATE_WORDS: dict[RowState, str] = {
    "waiting": "",
    "pass": "holds",
    "fail": "broken",
    "follows": "follows",
    "note": "note",
    "not_offered": "not offered",
    "skipped": "skipped",
    "right": "right",
    "rounding": "rounding",
    "wrong": "wrong",
    "not_taken": "not taken",
}
LONGEST_REMARK = "follows from 40"
QUIET: tuple[RowState, ...] = ("waiting", "not_offered", "skipped", "not_taken")
SIGN_PX, NUMBER_PX, GAP_PX = 24, 24, 8


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the list.

    Attributes:
        text: what it says.
        row: what it stands for; None: it is the title of a part.
        is_finding: whether it says what is wrong, instead of which rule it is.
    """

    text: str
    row: Row | None = None
    is_finding: bool = False


def lines_of(findings: Sequence[Row], rows: Sequence[Row], title: str) -> tuple[Line, ...]:
    """Findings first, then every row."""
    first = (Line("Findings"), *(Line(row.mechanism, row, is_finding=True) for row in findings))
    rest = (Line(title), *(Line(row.title, row) for row in rows))
    return (*(first if findings else ()), *(rest if rows else ()))


def state_words(row: Row) -> str:
    """What came of a row: "follows from 4"."""
    return f"follows from {row.root}" if row.root is not None else STATE_WORDS[row.state]


def sign_colour(state: RowState, theme: Theme) -> QColor:
    """Of the sign: only what is wrong is loud."""
    if state in ("fail", "wrong"):
        return theme.alarm
    return theme.new if state == "rounding" else theme.dim


class OwnCodeModel(QAbstractListModel):
    """Findings and rules; the lines stay where they are while a check fills them in."""

    def __init__(self) -> None:
        """Empty."""
        super().__init__()
        self._lines: tuple[Line, ...] = ()

    def show_lines(self, lines: tuple[Line, ...]) -> None:
        """Show these; where only what they say has changed, nothing else moves."""
        if len(lines) == len(self._lines) and all(
            _key(old) == _key(new) for old, new in zip(self._lines, lines, strict=True)
        ):
            self._lines = lines
            if lines:
                self.dataChanged.emit(self.index(0), self.index(len(lines) - 1))
            return
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def row_at(self, index: Index) -> Row | None:
        """What a place stands for; None: nothing."""
        return self._lines[index.row()].row if index.isValid() else None

    def place_of(self, key: str, *, is_finding: bool) -> QModelIndex:
        """Where a row stands; not valid: nowhere."""
        for place, line in enumerate(self._lines):
            if line.row is not None and line.row.key == key and line.is_finding == is_finding:
                return self.index(place)
        return QModelIndex()

    def is_finding_at(self, index: Index) -> bool:
        """Whether it is one of the findings."""
        return index.isValid() and self._lines[index.row()].is_finding

    def first(self) -> QModelIndex:
        """The first row that can be chosen."""
        places = (i for i, line in enumerate(self._lines) if line.row is not None)
        place = next(places, None)
        return QModelIndex() if place is None else self.index(place)

    # What Qt asks.

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802  (a name of Qt)
        """Lines."""
        return 0 if parent.isValid() else len(self._lines)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Titles cannot be chosen."""
        if self.row_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """What a place shows."""
        if not index.isValid():
            return None
        line = self._lines[index.row()]
        if role == ROW_ROLE:
            return line
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return _in_full(line)
        return None


class LinePainter(QStyledItemDelegate):
    """Draws a line of the list."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        """Takes the colours, and the list whose focus it shows."""
        super().__init__(view)
        self._view = view
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """As many lines as the text needs."""
        line: Line = index.data(ROW_ROLE)
        height = self.theme.target_px
        if line.row is None:
            return QSize(0, height + self.theme.margin_px)
        text = self._words_of(line, QRect(0, 0, self._view.viewport().width(), height))
        metrics = QFontMetrics(self.theme.sans())
        flags = Qt.TextFlag.TextWordWrap
        needed = metrics.boundingRect(QRect(0, 0, text.width(), 9999), flags, line.text)
        return QSize(0, max(height, needed.height() + self.theme.margin_px))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one line."""
        line: Line = index.data(ROW_ROLE)
        place = QRect(option.rect)
        painter.save()
        if line.row is None:
            self._title(painter, place, line.text)
        else:
            if index == self._view.currentIndex():
                self._chosen(painter, place)
            self._row(painter, place, line, line.row)
        painter.restore()

    def _title(self, painter: QPainter, place: QRect, text: str) -> None:
        painter.setFont(self.theme.sans(px=self.theme.small_px, is_bold=True))
        painter.setPen(self.theme.dim)
        inside = place.adjusted(self.theme.margin_px, 0, 0, -2)
        painter.drawText(inside, Qt.AlignmentFlag.AlignBottom, text)

    def _chosen(self, painter: QPainter, place: QRect) -> None:
        painter.fillRect(place, self.theme.frame)
        if self._view.hasFocus():
            painter.setPen(QPen(self.theme.new, 2))
            painter.drawRect(place.adjusted(1, 1, -1, -1))

    def _row(self, painter: QPainter, place: QRect, line: Line, row: Row) -> None:
        theme, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        painter.setFont(theme.sans(is_bold=row.state in ("fail", "wrong")))
        painter.setPen(sign_colour(row.state, theme))
        sign = QRect(place.left(), place.top(), theme.px(SIGN_PX), place.height())
        painter.drawText(sign, Qt.AlignmentFlag.AlignCenter, SIGNS[row.state])
        words = self._words_of(line, place)
        if row.number is not None and not line.is_finding:
            self._number(painter, place, row.number)
        painter.setFont(theme.sans())
        painter.setPen(theme.dim if row.state in QUIET else theme.text)
        painter.drawText(words, Qt.TextFlag.TextWordWrap | middle, line.text)
        painter.setFont(theme.sans(px=theme.small_px))
        painter.setPen(theme.alarm if row.state in ("fail", "wrong") else theme.dim)
        right = place.adjusted(0, 0, -theme.margin_px, 0)
        painter.drawText(right, middle | Qt.AlignmentFlag.AlignRight, _remark(line, row))

    def _number(self, painter: QPainter, place: QRect, number: int) -> None:
        theme = self.theme
        painter.setFont(theme.mono(px=theme.small_px))
        painter.setPen(theme.dim)
        left = place.left() + theme.px(SIGN_PX)
        box = QRect(left, place.top(), theme.px(NUMBER_PX) - 4, place.height())
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(box, flags, str(number))

    def _words_of(self, line: Line, place: QRect) -> QRect:
        """Where the text of a line stands."""
        theme, row = self.theme, line.row
        left = theme.px(SIGN_PX)
        if row is not None and row.number is not None and not line.is_finding:
            left += theme.px(NUMBER_PX) + 2
        small = QFontMetrics(theme.sans(px=theme.small_px))
        # Of a rule the longest remark: its lines stay the same whatever comes of it.
        remark = _remark(line, row) if row is not None and line.is_finding else LONGEST_REMARK
        right = small.horizontalAdvance(remark) + GAP_PX + theme.margin_px
        return place.adjusted(left, 0, -right, 0)


def _remark(line: Line, row: Row) -> str:
    """What stands at the right end of a line."""
    if not line.is_finding:
        return state_words(row)
    return row.remark if row.number is None else f"rule {row.number}"


def _in_full(line: Line) -> str:
    """A line with all that there is to say of it."""
    row = line.row
    if row is None:
        return line.text
    said = f"rule {row.number}, {state_words(row)}: " if row.number else f"{state_words(row)}: "
    why = f" ({row.remark})" if row.remark else ""
    return f"{said}{line.text}{why}"


def _key(line: Line) -> tuple[str, bool, str]:
    if line.row is None:
        return line.text, False, ""
    return line.row.key, line.is_finding, line.text if line.is_finding else ""
