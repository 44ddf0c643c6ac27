"""The form that decides a run.

It knows no limits: the engine's own errors stand beside a field. Only a text that is no number at
all cannot be handed on, and is told here.
"""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.draft import Draft
from app.script_words import script_words
from app.settings_fields import SettingsFields
from app.settings_pair import Pair
from app.theme import Theme, complaint_style, restyle
from app.word_label import WordLabel

RESTART_AFTER_MS = 300
LABEL_PX = 62


class SettingsPanel(QWidget):
    """Model, prompt, policy and the rest. An edit is told a moment after the last one."""

    edited = Signal(object)
    complained = Signal(QWidget)
    rows_changed = Signal()

    def __init__(self, theme: Theme) -> None:
        """Empty; `show_draft` fills it."""
        super().__init__()
        self._draft: Draft | None = None
        self._errors: dict[str, QLabel] = {}
        self._refused: tuple[str, str] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(RESTART_AFTER_MS)
        self._timer.timeout.connect(self._tell)
        self._fields = SettingsFields(theme)
        self._labels: list[QLabel] = []
        self._pairs: list[Pair] = []
        self._column = QVBoxLayout(self)
        self._column.setSpacing(4)
        self._lay_out()
        self._connect()
        self.dress(theme)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self._fields.dress(theme)
        self._column.setContentsMargins(*(theme.margin_px,) * 4)
        label_px = theme.px(LABEL_PX)
        for label in self._labels:
            label.setFixedWidth(label_px)
        for pair in self._pairs:
            pair.dress(theme)
        for label in self._errors.values():
            restyle(label, complaint_style(theme, label_px + 4))

    def show_draft(self, draft: Draft) -> None:
        """Fill the form; it does not answer."""
        self._timer.stop()
        self._draft = draft
        blockers = [QSignalBlocker(field) for field in self._fields.all]
        self._fields.model.setEditText(draft.model)
        if self._fields.prompt.toPlainText() != draft.prompt:
            self._fields.prompt.setPlainText(draft.prompt)
        self._fields.policy.setCurrentIndex(self._fields.policy.findData(draft.policy))
        for name, field in self._fields.numbers.items():
            field.set_number(getattr(draft, name))
        self._fields.reassign.setChecked(draft.reassign_positions)
        self._show_choice(self._fields.device, draft.device)
        self._show_choice(self._fields.dtype, draft.dtype)
        del blockers
        self._show_parts(draft)

    def show_devices(self, devices: tuple[str, ...]) -> None:
        """Offer the devices that are there."""
        with QSignalBlocker(self._fields.device):
            chosen = self._fields.device.currentText()
            self._fields.device.clear()
            self._fields.device.addItems(devices)
            self._show_choice(self._fields.device, chosen)

    def show_error(self, place: str, message: str) -> None:
        """Show the engine's error beside the field that it is about."""
        self._refused = (place, message)
        self._show_complaint(place, message)

    def needed_px(self, width_px: int) -> int:
        """The height in which every row that is shown has room, at this width."""
        margins = self._column.contentsMargins()
        for pair in self._pairs:
            pair.arrange(width_px - margins.left() - margins.right())
        return max(self._column.totalHeightForWidth(width_px), self._column.minimumSize().height())

    def has_place(self, place: str) -> bool:
        """Whether there is a field of this name."""
        return place in self._errors

    def error_labels(self) -> tuple[QLabel, ...]:
        """Where errors are shown, each under its field."""
        return tuple(self._errors.values())

    @Slot()
    def clear_errors(self) -> None:
        """The settings are used, so only a text that is no number can be wrong."""
        self._refused = None
        self._complain()

    def _complain(self) -> None:
        """Say what is wrong with what stands in the form now, or nothing where that can be run."""
        complaint = self._problem() or self._refused
        if complaint is not None:
            self._show_complaint(*complaint)
        elif self._drop_errors():
            self.rows_changed.emit()

    def _problem(self) -> tuple[str, str] | None:
        """The first field whose text is no number, and what to say of it."""
        for name, field in self._fields.numbers.items():
            is_asked = name != "sinks" or not self._sinks_row.isHidden()
            problem = field.problem if is_asked else None
            if problem is not None:
                return name, problem
        return None

    def _show_complaint(self, place: str, message: str) -> None:
        label = self._errors[place]
        if label.text() == message and not label.isHidden():
            return
        self._drop_errors()
        label.setText(message)
        label.show()
        self._column.activate()
        self.rows_changed.emit()
        self.complained.emit(label)

    def _drop_errors(self) -> bool:
        """Whether there were any."""
        shown = [label for label in self._errors.values() if not label.isHidden()]
        for label in shown:
            label.clear()
            label.hide()
        self._column.activate()
        return bool(shown)

    # Layout.

    def _lay_out(self) -> None:
        self._add_row("Model", self._fields.model, self._fields.folder, places=("model",))
        self._add_row("Prompt", self._fields.prompt, places=("prompt",))
        self._script_row = self._add_row("Script", self._fields.script, self._fields.plain)
        self._add_row("Policy", self._fields.policy, places=("policy",))
        self._sinks_row = self._add_row(
            "Sinks", self._fields.sinks, self._fields.reassign, places=("sinks",)
        )
        fields = self._fields
        self._add_pair("Capacity", fields.capacity, "Chunk", fields.chunk, ("capacity", "chunk"))
        self._add_pair("Device", fields.device, "", fields.dtype, ("device", "dtype"))
        self._add_pair("Temp.", fields.temperature, "Seed", fields.seed, ("temperature", "seed"))
        self._column.addStretch(1)

    def _add_row(self, text: str, *fields: QWidget, places: tuple[str, ...] = ()) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        label = WordLabel(text)
        self._labels.append(label)
        is_tall = self._fields.prompt in fields or self._fields.script in fields
        row.addWidget(label, 0, Qt.AlignmentFlag.AlignTop if is_tall else _MIDDLE)
        for field in fields:
            is_small = isinstance(field, QToolButton | QLabel) and field is not self._fields.script
            row.addWidget(field, 0 if is_small else 1)
            if not is_small:
                field.setSizePolicy(QSizePolicy.Policy.Ignored, field.sizePolicy().verticalPolicy())
        self._add(holder, places)
        return holder

    def _add_pair(
        self, text: str, first: QWidget, other: str, second: QWidget, places: tuple[str, ...]
    ) -> None:
        self._labels.append(WordLabel(text))
        pair = Pair(self._labels[-1], first, WordLabel(other) if other else None, second)
        self._pairs.append(pair)
        self._add(pair, places)

    def _add(self, row: QWidget, places: tuple[str, ...]) -> None:
        """A row, and below it what is wrong with what stands there."""
        self._column.addWidget(row)
        for place in places:
            self._errors[place] = self._error_label()
            self._column.addWidget(self._errors[place])

    def _error_label(self) -> QLabel:
        label = QLabel()
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.hide()
        return label

    # Edits.

    def _connect(self) -> None:
        self._fields.model.editTextChanged.connect(self._edit)
        self._fields.prompt.textChanged.connect(self._edit)
        for box in (self._fields.policy, self._fields.device, self._fields.dtype):
            box.currentIndexChanged.connect(self._edit)
        for field in self._fields.numbers.values():
            field.changed.connect(self._edit)
        self._fields.reassign.toggled.connect(self._edit)
        self._fields.folder.clicked.connect(self._choose_folder)
        self._fields.plain.clicked.connect(self._decode_plainly)

    @Slot()
    def _edit(self) -> None:
        draft = self._edited()
        if draft is not None:
            self._show_parts(draft)
        self._timer.start()

    @Slot()
    def _tell(self) -> None:
        draft = self._edited()
        if draft is None or draft == self._draft or self._problem() is not None:
            self._complain()
        else:
            self._draft = draft
            self.edited.emit(draft)

    def _edited(self) -> Draft | None:
        """What the form says now; the old number where the text is none."""
        old = self._draft
        if old is None:
            return None
        model, prompt = self._fields.model.currentText().strip(), self._fields.prompt.toPlainText()
        policy = self._fields.policy.currentData()
        has_sinks = policy == "sinks"
        numbers = {
            name: field.number if field.problem is None else getattr(old, name)
            for name, field in self._fields.numbers.items()
        }
        return replace(
            old.with_text(model, prompt),
            policy=policy,
            **(numbers if has_sinks else {**numbers, "sinks": 0}),
            reassign_positions=has_sinks and self._fields.reassign.isChecked(),
            device=self._fields.device.currentText(),
            dtype=self._fields.dtype.currentText(),
        )

    def _show_parts(self, draft: Draft) -> None:
        """Show the rows that matter for a draft."""
        self._sinks_row.setVisible(draft.policy == "sinks")
        self._script_row.setVisible(draft.then is not None)
        self._fields.script.setText(script_words(draft.then or ()))
        self._script_row.updateGeometry()  # else its height is known only after further events
        self.rows_changed.emit()

    @Slot()
    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Choose the folder of a checkpoint")
        if folder:
            self._fields.model.setEditText(folder)

    @Slot()
    def _decode_plainly(self) -> None:
        if self._draft is not None:
            self._timer.stop()
            self._draft = replace(self._edited() or self._draft, then=None)
            self._show_parts(self._draft)
            self.edited.emit(self._draft)

    def _show_choice(self, box: QComboBox, text: str) -> None:
        """Choose an entry; one that is not there is added, so that its error can be shown."""
        if box.findText(text) < 0:
            box.addItem(text)
        box.setCurrentText(text)


_MIDDLE = Qt.AlignmentFlag.AlignVCenter
