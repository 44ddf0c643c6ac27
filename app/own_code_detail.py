"""What is behind a line of the list: the sequence, expected and found, the repair, the code."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.own_code_list import sign_colour, state_words
from app.own_code_source import numbered
from app.own_code_steps import StepsCanvas
from app.theme import Theme
from app.widgets.code_lines import ShownLine, broken
from app.widgets.code_text import CodeText
from core.contract.names_in_file import SourceOf
from core.contract.own_report import Row

HEAD_EXTRA_PX = 3
FRAME_PX, SECTION_PX = 4, 8
NOT_YET = "Not asked yet"
PANELS = "See these calls in all panels"
DECODES = (
    "decodes, and your class keeps its keys and values: the same calls with a model's rows, with "
    "cache, mask, attention and verdicts, from the first wrong step on"
)
STEPS = "See these calls step by step"
READS = (
    "Your model reads the text in these calls: tokens, logits beside those without a cache, and "
    "verdicts, from the first wrong call on; what happens inside it is in the evidence"
)
NO_RUN = "Not for these: no decode loop makes all of these calls, so no model has rows for them"
PLACES: tuple[tuple[str, str], ...] = (
    ("expected", "Expected"),
    ("found", "Found"),
    ("repair", "Repair"),
)


class OwnCodeDetail(QScrollArea):
    """Shows one row of a report."""

    run_wanted = Signal(str)
    panels_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__()
        self._theme = theme
        self._row: Row | None = None
        self._sources: tuple[SourceOf, ...] = ()
        self._marked: int | None = None
        self.head, self.under = _label("What is wrong"), _label("The rule")
        self.steps = StepsCanvas(theme)
        self.steps_title = _label("")
        self.fields = {name: _label(title) for name, title in PLACES}
        self._titles = {name: _label("") for name, _ in PLACES}
        self.evidence = _label("Evidence")
        self.code_title, self.code = _label(""), CodeText(theme, "The code of the call")
        self.panels_button, self.of_run = QPushButton(PANELS), _label("The run of these calls")
        self.panels_button.clicked.connect(self._want_panels)
        self.run_button = QPushButton()
        self.run_button.clicked.connect(self._want_run)
        self._build()
        self.dress(theme)
        self.show_row(None, ())

    def show_row(
        self, row: Row | None, sources: tuple[SourceOf, ...], marked: int | None = None
    ) -> None:
        """Show a row, and the code behind it, in which one line may be wrong; None: nothing."""
        is_other = row is None or self._row is None or row.key != self._row.key
        self._row, self._sources, self._marked = row, sources, marked
        if row is None:
            self.head.setText("Choose a line to see what is behind it.")
        else:
            self.head.setText(NOT_YET if row.state == "waiting" else row.mechanism or row.title)
        self.under.setText("" if row is None else _under(row))
        self.evidence.setText("" if row is None else _evidence(row))
        for name, label in self.fields.items():
            text = "" if row is None else str(getattr(row, name))
            label.setText(text)
            self._titles[name].setVisible(bool(text))
        steps = () if row is None else row.steps
        self.steps.show_steps(steps)
        self.steps_title.setText("The shortest sequence; rows as they come back, inferred")
        for label in (self.under, self.evidence, *self.fields.values()):
            label.setVisible(bool(label.text()))
        for part in (self.steps, self.steps_title):
            part.setVisible(bool(steps))
        self._offer_panels(row)
        preset = "" if row is None else row.preset
        self.run_button.setVisible(bool(preset))
        self.run_button.setText(f"See {preset} in a run")
        self.run_button.setToolTip(
            "Open a run of kvscope's own engine with the same mistake in the main window, with its "
            "cache, mask, attention and verdicts; nothing of your code is in it"
        )
        self._show_code()
        self._colour()
        if is_other:
            self.say_of_run("")
            self.verticalScrollBar().setValue(0)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._theme = theme
        self.steps.dress(theme)
        self.head.setFont(theme.sans(px=theme.sans_px + HEAD_EXTRA_PX, is_bold=True))
        for label in (self.steps_title, self.code_title, *self._titles.values()):
            label.setFont(theme.sans(px=theme.small_px, is_bold=True))
        for name in ("expected", "found"):
            self.fields[name].setFont(theme.mono())
        old, self.code = self.code, CodeText(theme, "The code of the call")
        self._column.replaceWidget(old, self.code)
        old.deleteLater()
        margin = 2 * theme.margin_px
        self._column.setContentsMargins(margin, margin, margin, margin)
        self._show_code()
        self._colour()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Code is broken where the room ends."""
        super().resizeEvent(event)
        self._show_code()

    def _build(self) -> None:
        content = QWidget()
        content.setBackgroundRole(QPalette.ColorRole.Base)
        content.setAutoFillBackground(True)
        self._column = QVBoxLayout(content)
        self._column.setSpacing(4)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        for place, (name, title) in enumerate(PLACES):
            self._titles[name].setText(title)
            grid.addWidget(self._titles[name], place, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(self.fields[name], place, 1)
        for part in (self.head, self.under, self.evidence, self.steps_title, self.steps):
            self._column.addWidget(part)
        self._column.addLayout(grid)
        self._column.addSpacing(SECTION_PX)
        self._column.addWidget(self.panels_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addWidget(self.of_run)
        self._column.addWidget(self.run_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addWidget(self.code_title)
        self._column.addWidget(self.code)
        self._column.addStretch(1)
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("What is behind the chosen line")

    def say_of_run(self, words: str) -> None:
        """How far the run of a sequence is, or why there is none; empty: nothing."""
        self.of_run.setText(words)
        self.of_run.setVisible(bool(words))

    def _offer_panels(self, row: Row | None) -> None:
        """A sequence can be seen in all panels where a decode loop could make its calls."""
        run, reading = (None, None) if row is None else (row.run, row.reading)
        is_there = run is not None or reading is not None
        self.panels_button.setVisible(is_there or (row is not None and bool(row.steps)))
        self.panels_button.setEnabled(is_there)
        self.panels_button.setText(PANELS if reading is None else STEPS)
        tip = NO_RUN if run is None else f"{run.model} {DECODES}"
        self.panels_button.setToolTip(tip if reading is None else READS)

    @Slot()
    def _want_panels(self) -> None:
        if self._row is not None and (self._row.run or self._row.reading) is not None:
            self.panels_wanted.emit(self._row)

    @Slot()
    def _want_run(self) -> None:
        if self._row is not None and self._row.preset:
            self.run_wanted.emit(self._row.preset)

    def _show_code(self) -> None:
        has_code = bool(self._sources)
        self.code.setVisible(has_code)
        self.code_title.setVisible(has_code)
        if not has_code:
            return
        n_columns = max(20, int((self.viewport().width() - 60) / self.code.letter_px))
        lines: list[ShownLine] = []
        for place, source in enumerate(self._sources):
            if place:
                lines.append(ShownLine(()))
            lines += numbered(source, self._marked)
        shown = [part for line in lines for part in broken(line, n_columns)]
        height = self.code.fontMetrics().lineSpacing() * (len(shown) + 1) + FRAME_PX
        self.code.setFixedHeight(height)
        self.code.show_lines(shown)
        self.code_title.setText("Your code behind this sequence")

    def _colour(self) -> None:
        theme = self._theme
        dim = (self.under, self.of_run, self.steps_title, self.code_title, *self._titles.values())
        for label in dim:
            _paint(label, theme.dim)
        is_wrong = self._row is not None and self._row.state in ("fail", "wrong")
        if self._row is not None:
            _paint(self.fields["found"], sign_colour(self._row.state, theme) if is_wrong
                   else theme.text)  # fmt: skip


def _evidence(row: Row) -> str:
    """Sentences stand apart; numbers of one kind below each other."""
    return ("\n\n" if row.mechanism else "\n").join(row.evidence)


def _under(row: Row) -> str:
    """Which rule it is, what came of it, and why."""
    said = f"rule {row.number}: {row.title}" if row.number is not None else ""
    came = state_words(row) if row.number is not None else ""
    return " · ".join(part for part in (said, came, row.remark) if part)


def _label(name: str) -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setAccessibleName(name)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _paint(label: QLabel, colour: QColor) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, colour)
    label.setPalette(palette)
