"""The form that decides a run. It checks nothing: the engine's own errors stand beside a field."""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.draft import Draft
from app.icons import icon
from app.script_words import script_words
from app.theme import Theme, complaint_style, tick_box_style
from core.model.names import model_names
from core.spec import DTYPE_NAMES

RESTART_AFTER_MS = 300
LABEL_PX = 62
PROMPT_LINES = 2
MOST_SLOTS = 65_536
POLICY_WORDS = {
    "refuse": ("Refuse", "a full cache takes nothing more"),
    "window": ("Window", "the oldest row leaves; a token sees the last C tokens, itself counted"),
    "reprefill": ("Re-prefill", "a full cache starts again with the last C tokens, at position 0"),
    "sinks": ("Sinks + window", "as window, but the first tokens stay"),
}


class SettingsPanel(QWidget):
    """Model, prompt, policy and the rest. An edit is told a moment after the last one."""

    edited = Signal(object)
    complained = Signal(QWidget)

    def __init__(self, theme: Theme) -> None:
        """Empty; `show_draft` fills it."""
        super().__init__()
        self._theme = theme
        self._draft: Draft | None = None
        self._errors: dict[str, QLabel] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(RESTART_AFTER_MS)
        self._timer.timeout.connect(self._tell)
        self._make_text_fields()
        self._make_cache_fields()
        self._make_number_fields()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(*(theme.margin_px,) * 4)
        self._column.setSpacing(4)
        self._lay_out()
        self._connect()

    def show_draft(self, draft: Draft) -> None:
        """Fill the form; it does not answer."""
        self._timer.stop()
        self._draft = draft
        blockers = [QSignalBlocker(field) for field in self._fields()]
        self._model.setEditText(draft.model)
        if self._prompt.toPlainText() != draft.prompt:
            self._prompt.setPlainText(draft.prompt)
        self._policy.setCurrentIndex(self._policy.findData(draft.policy))
        self._capacity.setValue(draft.capacity)
        self._chunk.setValue(draft.chunk or 0)
        self._sinks.setValue(draft.sinks)
        self._reassign.setChecked(draft.reassign_positions)
        self._show_choice(self._device, draft.device)
        self._show_choice(self._dtype, draft.dtype)
        self._temperature.setValue(draft.temperature)
        self._seed.setValue(draft.seed)
        del blockers
        self._show_parts(draft)

    def show_devices(self, devices: tuple[str, ...]) -> None:
        """Offer the devices that are there."""
        with QSignalBlocker(self._device):
            chosen = self._device.currentText()
            self._device.clear()
            self._device.addItems(devices)
            self._show_choice(self._device, chosen)

    def show_error(self, place: str, message: str) -> None:
        """Show an error beside the field that it is about."""
        self.clear_errors()
        label = self._errors[place]
        label.setText(message)
        label.show()
        self._column.activate()
        self.complained.emit(label)

    def has_place(self, place: str) -> bool:
        """Whether there is a field of this name."""
        return place in self._errors

    def error_labels(self) -> tuple[QLabel, ...]:
        """Where errors are shown, each under its field."""
        return tuple(self._errors.values())

    @Slot()
    def clear_errors(self) -> None:
        """The settings are used: nothing is wrong with them."""
        for label in self._errors.values():
            label.clear()
            label.hide()

    # Fields.

    def _make_text_fields(self) -> None:
        self._model = QComboBox()
        self._model.setEditable(True)
        self._model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._model.addItems(model_names())
        _explain(self._model, "Model", "A known model, or the folder of a checkpoint")
        self._folder = QToolButton()
        self._folder.setIcon(icon("open", self._theme))
        _explain(self._folder, "Choose a model folder", "Choose the folder of a checkpoint")
        self._prompt = QPlainTextEdit()
        self._prompt.setTabChangesFocus(True)
        self._prompt.setFont(self._theme.mono())
        line_px = self._prompt.fontMetrics().lineSpacing()
        self._prompt.setFixedHeight(PROMPT_LINES * line_px + 12)
        _explain(self._prompt, "Prompt", "The text that the first prefill reads")
        self._script = QLabel()
        self._script.setWordWrap(True)
        self._script.setFont(self._theme.sans(px=self._theme.small_px))
        self._plain = QToolButton()
        self._plain.setIcon(icon("close", self._theme))
        self._plain.setAutoRaise(True)
        _explain(self._plain, "Decode plainly", "Drop this list of requests and decode plainly")

    def _make_cache_fields(self) -> None:
        self._policy = QComboBox()
        for name, (text, meaning) in POLICY_WORDS.items():
            self._policy.addItem(text, name)
            row = self._policy.count() - 1
            self._policy.setItemData(row, meaning, Qt.ItemDataRole.ToolTipRole)
        _explain(self._policy, "Policy", "What happens when the cache has no room")
        self._capacity = _spin(1, MOST_SLOTS)
        _explain(self._capacity, "Capacity", "Slots that the cache has")
        self._chunk = _spin(0, MOST_SLOTS)
        self._chunk.setSpecialValueText("whole")
        _explain(self._chunk, "Chunk", "Tokens per prefill step; whole: the prompt in one step")
        self._sinks = _spin(0, MOST_SLOTS)
        _explain(self._sinks, "Sinks", "Slots kept for the first tokens")
        self._reassign = QCheckBox("re-assign")
        self._reassign.setStyleSheet(tick_box_style(self._theme))
        meaning = "Number the kept tokens by their place in the cache (RoPE and ALiBi only)"
        _explain(self._reassign, "Re-assign positions", meaning)

    def _make_number_fields(self) -> None:
        self._device = QComboBox()
        self._device.addItem("cpu")
        _explain(self._device, "Device", "Where the engine computes: what this machine has")
        self._dtype = QComboBox()
        self._dtype.addItems(DTYPE_NAMES)
        _explain(self._dtype, "Number type", "Number type of weights and cache")
        self._temperature = QDoubleSpinBox()
        self._temperature.setRange(0, 10)
        self._temperature.setSingleStep(0.1)
        self._temperature.setSpecialValueText("greedy")
        meaning = "0 takes the best token; above, tokens are drawn by chance"
        _explain(self._temperature, "Temperature", meaning)
        self._seed = _spin(0, 2**31 - 1)
        _explain(self._seed, "Seed", "With the step number, decides the sampling of a step")

    def _fields(self) -> tuple[QWidget, ...]:
        return (
            self._model,
            self._prompt,
            self._policy,
            self._capacity,
            self._chunk,
            self._sinks,
            self._reassign,
            self._device,
            self._dtype,
            self._temperature,
            self._seed,
        )

    # Layout.

    def _lay_out(self) -> None:
        self._add_row("Model", self._model, self._folder, places=("model",))
        self._add_row("Prompt", self._prompt, places=("prompt",))
        self._script_row = self._add_row("Script", self._script, self._plain)
        self._add_row("Policy", self._policy, places=("policy",))
        self._sinks_row = self._add_row("Sinks", self._sinks, self._reassign, places=("sinks",))
        sizes = (self._capacity, _label("Chunk"), self._chunk)
        self._add_row("Capacity", *sizes, places=("capacity", "chunk"))
        self._add_row("Device", self._device, self._dtype, places=("device", "dtype"))
        chances = (self._temperature, _label("Seed"), self._seed)
        self._add_row("Temp.", *chances, places=("temperature", "seed"))
        self._column.addStretch(1)

    def _add_row(self, text: str, *fields: QWidget, places: tuple[str, ...] = ()) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        label = _label(text)
        label.setFixedWidth(LABEL_PX)
        is_tall = self._prompt in fields or self._script in fields
        row.addWidget(label, 0, Qt.AlignmentFlag.AlignTop if is_tall else _MIDDLE)
        for field in fields:
            is_small = isinstance(field, QToolButton | QLabel) and field is not self._script
            row.addWidget(field, 0 if is_small else 1)
            if not is_small:
                field.setSizePolicy(QSizePolicy.Policy.Ignored, field.sizePolicy().verticalPolicy())
        self._column.addWidget(holder)
        for place in places:
            self._errors[place] = self._error_label()
            self._column.addWidget(self._errors[place])
        return holder

    def _error_label(self) -> QLabel:
        label = QLabel()
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setStyleSheet(complaint_style(self._theme, LABEL_PX + 4))
        label.hide()
        return label

    # Edits.

    def _connect(self) -> None:
        self._model.editTextChanged.connect(self._edit)
        self._prompt.textChanged.connect(self._edit)
        for box in (self._policy, self._device, self._dtype):
            box.currentIndexChanged.connect(self._edit)
        for spin in (self._capacity, self._chunk, self._sinks, self._seed):
            spin.valueChanged.connect(self._edit)
        self._temperature.valueChanged.connect(self._edit)
        self._reassign.toggled.connect(self._edit)
        self._folder.clicked.connect(self._choose_folder)
        self._plain.clicked.connect(self._decode_plainly)

    @Slot()
    def _edit(self) -> None:
        draft = self._edited()
        if draft is not None:
            self._show_parts(draft)
        self._timer.start()

    @Slot()
    def _tell(self) -> None:
        draft = self._edited()
        if draft is not None and draft != self._draft:
            self._draft = draft
            self.edited.emit(draft)

    def _edited(self) -> Draft | None:
        """What the form says now."""
        old = self._draft
        if old is None:
            return None
        model, prompt = self._model.currentText().strip(), self._prompt.toPlainText()
        is_same_text = (model, prompt) == (old.model, old.prompt)
        policy = self._policy.currentData()
        has_sinks = policy == "sinks"
        return replace(
            old,
            model=model,
            prompt=prompt,
            prompt_ids=old.prompt_ids if is_same_text else None,
            policy=policy,
            capacity=self._capacity.value(),
            sinks=self._sinks.value() if has_sinks else 0,
            reassign_positions=has_sinks and self._reassign.isChecked(),
            chunk=self._chunk.value() or None,
            temperature=round(self._temperature.value(), 4),
            seed=self._seed.value(),
            device=self._device.currentText(),
            dtype=self._dtype.currentText(),
        )

    def _show_parts(self, draft: Draft) -> None:
        """Show the rows that matter for a draft."""
        self._sinks_row.setVisible(draft.policy == "sinks")
        self._script_row.setVisible(draft.then is not None)
        self._script.setText(script_words(draft.then or ()))

    @Slot()
    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Choose the folder of a checkpoint")
        if folder:
            self._model.setEditText(folder)

    @Slot()
    def _decode_plainly(self) -> None:
        if self._draft is not None:
            draft = replace(self._edited() or self._draft, then=None)
            self.show_draft(draft)
            self.edited.emit(draft)

    def _show_choice(self, box: QComboBox, text: str) -> None:
        """Choose an entry; one that is not there is added, so that its error can be shown."""
        if box.findText(text) < 0:
            box.addItem(text)
        box.setCurrentText(text)


_MIDDLE = Qt.AlignmentFlag.AlignVCenter


def _label(text: str) -> QLabel:
    return QLabel(text)


def _spin(least: int, most: int) -> QSpinBox:
    spin = QSpinBox()
    spin.setRange(least, most)
    return spin


def _explain(field: QWidget, name: str, meaning: str) -> None:
    field.setAccessibleName(name)
    field.setToolTip(meaning)
