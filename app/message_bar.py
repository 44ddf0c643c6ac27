"""One line for the person, over the panels. Never a dialog: the window stays usable."""

from PySide6.QtCore import QRect, Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStyle,
    QToolButton,
    QWidget,
)

from app.icons import icon
from app.layout import BORDER_PX
from app.notice import Notice
from app.options import versions
from app.theme import Theme, restyle

WIDTH_PX = 620
_PAD_PX, _LINE_PAD_PX = 4, 3
"""Above and below what it says: where it has a corner for itself, and in a row of others."""


class MessageBar(QFrame):
    """Shows the newest notice; the same fault again is counted, not stacked.

    It lies over the panels, so that nothing moves when it comes and goes: in the row of the strip
    above the timeline, or in that of the tabs below it, or where both are too short, in the corner
    at the bottom right.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        """Hidden until there is something to say."""
        super().__init__(parent)
        self.setObjectName("message-bar")
        self._notice: Notice | None = None
        self._n_times = 0
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setAccessibleName("Message")
        self._offer = QPushButton()
        self._offer.clicked.connect(self.take_offer)
        self._second_offer = QPushButton()
        self._second_offer.clicked.connect(self.take_second_offer)
        self._copy = QPushButton("Copy report")
        self._copy.setToolTip("Copy this message with its details and all versions")
        self._copy.clicked.connect(self._copy_report)
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setToolTip("Close this message")
        self._close.setAccessibleName("Close message")
        self._close.clicked.connect(self.clear_notice)
        self._lay_out()
        self.dress(theme)
        self.hide()

    @property
    def text(self) -> str:
        """The line that is shown; empty where there is none."""
        return self._text.text()

    @Slot(object)
    def show_notice(self, notice: Notice) -> None:
        """Show a notice."""
        is_same = self._notice is not None and self._notice.text == notice.text
        self._n_times = self._n_times + 1 if is_same and notice.details else 1
        self._notice = notice
        times = f"  ({self._n_times} times)" if self._n_times > 1 else ""
        self._text.setText(notice.text + times)
        self._offer.setVisible(notice.offer is not None)
        self._offer.setText(notice.offer.label if notice.offer else "")
        self._second_offer.setVisible(notice.second_offer is not None)
        self._second_offer.setText(notice.second_offer.label if notice.second_offer else "")
        self._copy.setVisible(notice.details is not None)
        self.show()
        self.raise_()

    def place(self, right_px: int, bottom_px: int, top_px: int = 0) -> None:
        """Take the place that ends at these coordinates.

        To stay below `top_px`: a wider one, and then one of smaller letters.
        """
        theme, widest_px = self._theme, right_px - 2 * self._theme.margin_px
        for width_px, letters_px in (
            (min(theme.px(WIDTH_PX), widest_px), theme.sans_px),
            (widest_px, theme.sans_px),
            (widest_px, theme.small_px),
        ):
            self._use_letters(letters_px)
            height_px = max(self.heightForWidth(width_px), self.minimumSizeHint().height())
            height_px += 2 * _PAD_PX
            self.setGeometry(right_px - width_px, bottom_px - height_px, width_px, height_px)
            if self.y() >= top_px:
                return

    def place_in_row(self, strip: QRect, words_px: int, *, may_cover: bool) -> bool:
        """Take the row of a strip at the right of its words; False: it is too small.

        Where its words may be covered, all of it does too; where not even that does, smaller
        letters may. The lines above and below are part of the row.
        """
        margin_px = self._theme.margin_px
        row = strip.adjusted(margin_px, -BORDER_PX, -margin_px, BORDER_PX)
        for px in (self._theme.sans_px, self._theme.small_px):
            self._use_letters(px)
            width_px, height_px = self._line_size()
            room_px = row.width() - (0 if may_cover else words_px)
            if width_px <= room_px and height_px <= row.height():
                if width_px <= row.width() - words_px:
                    row.setLeft(row.right() + 1 - width_px)
                elif height_px < strip.height():
                    height_px = strip.height()
                row.setTop(row.center().y() + 1 - height_px // 2)
                row.setHeight(height_px)
                self.setGeometry(row)
                return True
        self._use_letters(self._theme.sans_px)
        return False

    def _use_letters(self, px: int) -> None:
        for part in (self._text, *self._buttons):
            part.setFont(self._theme.sans(px=px))

    def _line_size(self) -> tuple[int, int]:
        """Width and height in which everything stands in one line."""
        parts = [part for part in (*self._buttons, self._close) if not part.isHidden()]
        sizes = [part.sizeHint() for part in parts]
        metrics, layout = self._text.fontMetrics(), self.layout()
        margins = self.contentsMargins() if layout is None else layout.contentsMargins()
        gap_px = self.style().pixelMetric(QStyle.PixelMetric.PM_LayoutHorizontalSpacing)
        wide = metrics.horizontalAdvance(self._text.text()) + 2 * gap_px
        wide += sum(size.width() + gap_px for size in sizes)
        high = max([metrics.height(), *(size.height() for size in sizes)])
        return wide + margins.left() + margins.right(), high + 2 * _LINE_PAD_PX

    @Slot()
    def clear_notice(self) -> None:
        """Show nothing; the keys go back to the window if they were here."""
        focused = QApplication.focusWidget()
        was_here = focused is not None and self.isAncestorOf(focused)
        self._notice = None
        self._text.clear()
        self.hide()
        if was_here:
            self.window().setFocus()  # else Qt gives the focus to whichever control comes next

    @Slot()
    def clear_passing(self) -> None:
        """There is a step more, or another run: drop what was said of those before."""
        if self._notice is not None and self._notice.is_passing:
            self.clear_notice()

    @Slot()
    def take_offer(self) -> None:
        """Do what the notice offers."""
        notice = self._notice
        self.clear_notice()
        if notice is not None and notice.offer is not None:
            notice.offer.take()

    @Slot()
    def take_second_offer(self) -> None:
        """Do the other thing that the notice offers."""
        notice = self._notice
        self.clear_notice()
        if notice is not None and notice.second_offer is not None:
            notice.second_offer.take()

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        self._close.setIcon(icon("close", theme))
        self._use_letters(theme.sans_px)  # below a style sheet the application's do not come
        restyle(
            self,
            f"#message-bar {{ background: {theme.paper.name()};"
            f" border: 1px solid {theme.dead.name()};"
            f" border-left: 4px solid {theme.new.name()}; }}",
        )
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(theme.margin_px + 2, 0, theme.margin_px, 0)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.addWidget(self._text, 1)
        for button in (*self._buttons, self._close):
            row.addWidget(button)

    @property
    def _buttons(self) -> tuple[QPushButton, ...]:
        return self._offer, self._second_offer, self._copy

    @Slot()
    def _copy_report(self) -> None:
        if self._notice is not None:
            report = f"{self._notice.text}\n\n{self._notice.details}\n{versions()}\n"
            QGuiApplication.clipboard().setText(report)
