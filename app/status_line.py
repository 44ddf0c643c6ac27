"""The quiet line: what the mouse is over, what the cache saved, what the engine does."""

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.elided_label import ElidedLabel
from app.icons import icon
from app.theme import Theme

SHOW_AFTER_MS = 300
PROGRESS_PX = 90
GAP_PX = 12
WORK_TIP = "Up to the step looked at; without a cache each step would read its text from the start"


class StatusLine(QWidget):
    """Quiet words; the progress is seen only while something takes long.

    It lies in the status bar, or in a small window beside the menus.
    """

    stop_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__()
        self._room: QSize | None = None
        self._pointed = ElidedLabel()
        self._pointed.setAccessibleName("Under the mouse")
        self._work = _Work()
        self._work.setAccessibleName("Tokens computed")
        self._engine = QLabel()
        self._engine.setAccessibleName("Engine")
        self._progress = _Progress(theme)
        self._progress.stop.clicked.connect(self.stop_wanted)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOW_AFTER_MS)
        self._timer.timeout.connect(self._progress.show)
        row = QHBoxLayout(self)
        row.setSpacing(0)
        row.addWidget(self._pointed, 1)
        for widget in (self._progress, self._work, self._engine):
            row.addWidget(widget)
        for label in (self._pointed, self._work, self._engine):
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.dress(theme)

    @property
    def pointed_words(self) -> str:
        """What the mouse is over, in words."""
        return self._pointed.full_text

    @property
    def work_words(self) -> str:
        """How many tokens were computed."""
        return self._work.words

    @property
    def engine_words(self) -> str:
        """What the engine is, or does."""
        return self._engine.text()

    @property
    def is_progress_shown(self) -> bool:
        """Whether it is seen that something takes long."""
        return self._progress.isVisible()

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(theme.margin_px + 2, 0, theme.margin_px + 2, 0)
        for label in (self._pointed, self._work, self._engine):
            label.setFont(theme.sans(px=theme.small_px + 1))
        self._work.setContentsMargins(theme.margin_px, 0, 3 * theme.margin_px, 0)
        self._progress.dress(theme)

    def set_room(self, room: QSize | None) -> None:
        """Wish for all of a place, on a bar of menus; None: for what the words need."""
        self._room = room
        # The ground of a status bar is plain, so that it need not be painted with the words.
        self._work.setAutoFillBackground(room is None)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """A bar of menus gives its corner this size from the top, and asks for nothing else."""
        return super().sizeHint() if self._room is None else self._room

    def show_pointed(self, words: str) -> None:
        """Say what the mouse is over."""
        self._pointed.set_full_text(words)

    def show_work(self, words: str) -> None:
        """Say how many tokens were computed."""
        self._work.show_words(words)

    def show_engine(self, words: str) -> None:
        """Say what the engine is, or does."""
        self._engine.setText(words)

    def show_busy(self, *, is_busy: bool) -> None:
        """Show, after a moment, that steps are on their way."""
        if not is_busy:
            self._timer.stop()
            self._progress.hide()
        elif not self._timer.isActive() and self._progress.isHidden():
            self._timer.start()


def place(line: StatusLine, window: QMainWindow, *, is_low: bool) -> None:
    """Put the line below the panels, or where there is little room beside the menus."""
    below, menus = window.statusBar(), window.menuBar()
    below.setSizeGripEnabled(False)
    below.setAutoFillBackground(True)
    below.setVisible(not is_low)
    if is_low:
        last = menus.actionGeometry(menus.actions()[-1])
        line.set_room(QSize(window.width() - last.right() - GAP_PX, last.height()))
        menus.setCornerWidget(line)
    elif line.parentWidget() is not below:
        line.set_room(None)
        below.addWidget(line, 1)
    line.show()


class _Work(QLabel):
    """Words that change with every step, at the right of their place, which only grows.

    It draws them itself: a label that is given another text has the whole window arranged anew.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self._words_px = self._widest_px = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def show_words(self, words: str) -> None:
        if words == self.words:
            return
        self.words = words
        self.setAccessibleDescription(words)
        tip = WORK_TIP if words else ""
        if tip != self.toolTip():
            self.setToolTip(tip)
        self._words_px = self.fontMetrics().horizontalAdvance(words)
        if self._words_px > self._widest_px:
            self._widest_px = self._words_px
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        margins, height = self.contentsMargins(), self.fontMetrics().height()
        width = self._widest_px + 1 + margins.left() + margins.right()
        return QSize(width, height + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def changeEvent(self, event: QEvent) -> None:
        """Letters of another size need another width."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._words_px = self.fontMetrics().horizontalAdvance(self.words)
            self._widest_px = self._words_px

    def paintEvent(self, event: QPaintEvent) -> None:
        """Nothing until the place has grown for the words: the last letters say nothing."""
        place = self.contentsRect()
        if self._words_px > place.width():
            return
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        place.setLeft(place.right() - self._words_px)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.words)
        painter.end()


class _Progress(QWidget):
    """How far it is cannot be known: something moves, and it can be stopped."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Computing")
        self.stop = QToolButton()
        self.stop.setAutoRaise(True)
        self.stop.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.stop.setToolTip("Stop computing after the step in progress  (Shift+F5)")
        self.stop.setAccessibleName("Stop")
        for widget in (QLabel("computing…"), self._bar, self.stop):
            row.addWidget(widget)
        self.hide()

    def dress(self, theme: Theme) -> None:
        self._bar.setFixedSize(theme.px(PROGRESS_PX), theme.px(10))
        self.stop.setIcon(icon("close", theme))

    @Slot()
    def show(self) -> None:
        super().show()
