"""Buttons and slider that move the cursor, and the line that says where it stands."""

from PySide6.QtCore import QMargins, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSlider,
    QToolButton,
    QWidget,
)

from app.elided_label import ElidedLabel, lines_px
from app.layout import n_step_lines
from app.player import SPEEDS
from app.step_line import Sign, StepLine
from app.theme import Theme

ICON_PX = 16
GAP_PX = 14
_ROUNDING_PX = 2
_CAPTION = "verdict on:"
_CAPTION_TIP = "Three verdicts on this step; each says when the mouse rests on it what it is about"
ENGINE_STARTS = "engine starting…"
ENGINE_TIP = "Recorded steps can be looked at; a command that needs the engine waits for it"
BUTTONS = ("first", "back", "play", "step", "last")


class TransportBar(QWidget):
    """First, back, play, step, last; the slider; to the first wrong step; the speed."""

    step_wanted = Signal(int)
    speed_wanted = Signal(float)

    def __init__(self, actions: dict[str, QAction], theme: Theme) -> None:
        """Takes the actions by id; each button shows one."""
        super().__init__()
        self.setObjectName("transport")
        row = QHBoxLayout(self)
        row.setSpacing(2)
        self._buttons = [_button(actions[action_id]) for action_id in BUTTONS]
        for button in self._buttons:
            row.addWidget(button)
        self._engine = QLabel(ENGINE_STARTS)
        self._engine.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._engine.setToolTip(ENGINE_TIP)
        row.addWidget(self._engine)
        row.addSpacing(theme.margin_px)
        self._slider = self._make_slider()
        row.addWidget(self._slider, 1)
        row.addSpacing(theme.margin_px)
        self._buttons.append(_button(actions["first-wrong"], with_text=True))
        row.addWidget(self._buttons[-1])
        row.addSpacing(theme.margin_px)
        self._speed = self._make_speed()
        row.addWidget(self._speed)
        self.dress(theme)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(theme.margin_px, 1, theme.margin_px, 1)
        for button in self._buttons:
            button.setMinimumSize(theme.target_px + 4, theme.target_px)
            button.setIconSize(QSize(theme.px(ICON_PX), theme.px(ICON_PX)))
        self._engine.setFont(theme.sans(px=theme.small_px + 1))

    def show_steps(self, n_records: int, step: int) -> None:
        """Set the slider to a step; it does not answer."""
        with QSignalBlocker(self._slider):
            self._slider.setMaximum(max(0, n_records - 1))
            self._slider.setValue(step)
        self._slider.setEnabled(n_records > 1)

    def show_engine(self, *, is_starting: bool) -> None:
        """Say beside the buttons that the engine is not there yet, or nothing."""
        self._engine.setVisible(is_starting)

    def show_speed(self, speed: float) -> None:
        """Set the speed; it does not answer."""
        with QSignalBlocker(self._speed):
            self._speed.setCurrentIndex(self._speed.findData(speed))

    def _make_slider(self) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setAccessibleName("Step looked at")
        slider.setToolTip("Drag to look at another step; nothing is computed")
        slider.setMinimumWidth(80)
        slider.setEnabled(False)
        slider.valueChanged.connect(self.step_wanted)
        return slider

    def _make_speed(self) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName("Speed")
        box.setToolTip("Steps per second while playing  ([ and ])")
        for speed in SPEEDS:
            box.addItem(f"{speed:g} steps/s", speed)
        box.currentIndexChanged.connect(self._tell_speed)
        return box

    @Slot(int)
    def _tell_speed(self, row: int) -> None:
        self.speed_wanted.emit(self._speed.itemData(row))


class StepBar(QWidget):
    """What the step is, at the left; its verdicts, at the right."""

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__()
        self.setObjectName("step-bar")
        self._line: StepLine | None = None
        row = QHBoxLayout(self)
        row.setSpacing(GAP_PX)
        self._text = ElidedLabel()
        self._text.setAccessibleName("Step")
        row.addWidget(self._text, 1)
        self._where = QLabel()
        row.addWidget(self._where)
        self._caption = QLabel()
        self._caption.setToolTip(_CAPTION_TIP)
        row.addWidget(self._caption)
        self._signs = tuple(QLabel() for _ in range(3))
        for label in self._signs:
            row.addWidget(label)
        self.dress(theme)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(theme.margin_px + 4, 2, theme.margin_px + 4, 4)
        self._use_letters(theme.sans_px)
        self._take_lines()
        if self._line is not None:
            self.show_line(self._line)

    @property
    def _labels(self) -> tuple[QLabel, ...]:
        """All at the right of the sentence."""
        return self._where, self._caption, *self._signs

    @property
    def text(self) -> str:
        """The sentence that is shown, whole."""
        return self._text.full_text

    def say(self, text: str) -> None:
        """Show a sentence in place of a step."""
        self._line = None
        self._text.set_full_text(text)
        for label in self._labels:
            label.clear()

    def show_line(self, line: StepLine) -> None:
        """Show a step."""
        self._line = line
        self._text.set_full_text(line.text)
        where = _coloured(line.where, self._theme.alarm.name()) if line.where else ""
        if where != self._where.text():  # a label with another text has the window arranged anew
            self._where.hide()
            self._where.setText(where)
        self._where.setToolTip(line.where_tooltip)
        caption = _coloured(_CAPTION, self._theme.dim.name())
        if caption != self._caption.text():
            self._caption.setText(caption)
        for label, sign in zip(self._signs, line.signs, strict=True):
            text = self._marked(sign)
            if text != label.text():
                label.setText(text)
            label.setToolTip(f"{sign.name}: {sign.tooltip}")
            label.setAccessibleName(f"{sign.name} {sign.standing or 'pending or not judged'}")
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrower window has less room for the place of the difference."""
        super().resizeEvent(event)
        self._take_lines()
        self._fit()

    def _take_lines(self) -> None:
        """As high as a line of the usual letters, or as all lines of small ones."""
        theme, n_lines = self._theme, n_step_lines(self.width(), self._theme)
        usual, small = (theme.sans(px=px, is_bold=True) for px in (theme.sans_px, theme.small_px))
        self._text.most_lines = n_lines
        self._text.setMinimumHeight(max(lines_px(usual, 1), lines_px(small, n_lines)))

    def _fit(self) -> None:
        """The sentence is not cut by the place of the difference, nor by the caption.

        Where the verdicts would cut it, letters are smaller, and there may be a second line.
        """
        theme, needed_px = self._theme, self._needed_px
        if needed_px > self.width() or self._text.font().pixelSize() != theme.sans_px:
            self._use_letters(theme.sans_px)
            if self._needed_px > self.width():
                self._use_letters(theme.small_px)
            needed_px = self._needed_px
        free = self.width() - needed_px
        for label in (self._where, self._caption):
            needed = label.sizeHint().width() + GAP_PX
            has_room = needed <= free and bool(label.text())
            label.setVisible(has_room)
            free -= needed if has_room else 0

    @property
    def _needed_px(self) -> int:
        """Width of the sentence and its verdicts."""
        layout = self.layout()
        margins = layout.contentsMargins() if layout is not None else QMargins()
        words_px = self._text.fontMetrics().horizontalAdvance(self._text.full_text)
        signs_px = sum(label.sizeHint().width() + GAP_PX for label in self._signs)
        return words_px + signs_px + margins.left() + margins.right() + _ROUNDING_PX

    def _use_letters(self, px: int) -> None:
        if self._text.font().pixelSize() != px or not self._text.font().bold():
            self._text.setFont(self._theme.sans(px=px, is_bold=True))
            for label in self._labels:
                label.setFont(self._theme.sans(px=px))

    def _marked(self, sign: Sign) -> str:
        theme = self._theme
        colours = {"rounding": theme.new, "wrong": theme.alarm}
        colour = colours.get(sign.standing or "", theme.dim).name()
        name = _coloured(sign.name, colour if sign.standing == "wrong" else theme.dim.name())
        return f"{name} <b>{_coloured(sign.mark, colour)}</b>"


def _button(action: QAction, *, with_text: bool = False) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setAutoRaise(True)
    if with_text:
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    return button


def _coloured(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">{text}</span>'
