"""The controls of the form that decides a run, with their words."""

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from app.icons import icon
from app.number_field import NumberField, NumberKind
from app.theme import Theme, restyle, tick_box_style
from core.model.names import model_names
from core.spec import DTYPE_NAMES

PROMPT_LINES = 2
PROMPT_FRAME_PX = 12
POLICY_WORDS = {
    "refuse": ("Refuse", "a full cache takes nothing more"),
    "window": ("Window", "the oldest row leaves; a token sees the last C tokens, itself counted"),
    "reprefill": ("Re-prefill", "a full cache starts again with the last C tokens, at position 0"),
    "sinks": ("Sinks + window", "as window, but the first tokens stay"),
}


class PromptEdit(QPlainTextEdit):
    """A text in which Enter adds nothing: a line end that nobody sees would be a token more."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Shift+Enter adds a line; the run follows every edit by itself."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not is_enter or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)


class SettingsFields:
    """One control for each thing that can be set, and the two buttons beside them."""

    def __init__(self, theme: Theme) -> None:
        """Make them all; who holds them lays them out."""
        self._make_text_fields()
        self._make_cache_fields()
        self._make_number_fields()
        self.dress(theme)

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        self.folder.setIcon(icon("open", theme))
        self.plain.setIcon(icon("close", theme))
        self.script.setFont(theme.sans(px=theme.small_px))
        restyle(self.reassign, tick_box_style(theme))
        self.prompt.setFont(theme.mono())
        line_px = math.ceil(QFontMetricsF(self.prompt.font()).lineSpacing())  # as a text has it
        self.prompt.setFixedHeight(PROMPT_LINES * line_px + PROMPT_FRAME_PX)

    @property
    def all(self) -> tuple[QWidget, ...]:
        """Those that hold a setting."""
        return (
            self.model,
            self.prompt,
            self.policy,
            self.capacity,
            self.chunk,
            self.sinks,
            self.reassign,
            self.device,
            self.dtype,
            self.temperature,
            self.seed,
        )

    @property
    def numbers(self) -> dict[str, NumberField]:
        """Those in which a number is typed, by the name of the setting."""
        return {
            "sinks": self.sinks,
            "capacity": self.capacity,
            "chunk": self.chunk,
            "temperature": self.temperature,
            "seed": self.seed,
        }

    def _make_text_fields(self) -> None:
        self.model = QComboBox()
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.model.addItems(model_names())
        _explain(self.model, "Model", "A known model, or the folder of a checkpoint")
        self.folder = QToolButton()
        _explain(self.folder, "Choose a model folder", "Choose the folder of a checkpoint")
        self.prompt = PromptEdit()
        self.prompt.setTabChangesFocus(True)
        _explain(
            self.prompt, "Prompt", "The text that the first prefill reads; Shift+Enter adds a line"
        )
        self.script = QLabel()
        self.script.setWordWrap(True)
        self.plain = QToolButton()
        self.plain.setAutoRaise(True)
        _explain(self.plain, "Decode plainly", "Drop this list of requests and decode plainly")

    def _make_cache_fields(self) -> None:
        self.policy = QComboBox()
        for name, (text, meaning) in POLICY_WORDS.items():
            self.policy.addItem(text, name)
            row = self.policy.count() - 1
            self.policy.setItemData(row, meaning, Qt.ItemDataRole.ToolTipRole)
        _explain(self.policy, "Policy", "What happens when the cache has no room")
        self.capacity = NumberField(NumberKind("capacity", least=1))
        _explain(self.capacity, "Capacity", "Slots that the cache has")
        self.chunk = NumberField(NumberKind("chunk", least=1, word="whole"))
        _explain(self.chunk, "Chunk", "Tokens per prefill step; whole: the prompt in one step")
        self.sinks = NumberField(NumberKind("sinks"))
        _explain(self.sinks, "Sinks", "Slots kept for the first tokens")
        self.reassign = QCheckBox("re-assign")
        meaning = "Number the kept tokens by their place in the cache (RoPE and ALiBi only)"
        _explain(self.reassign, "Re-assign positions", meaning)

    def _make_number_fields(self) -> None:
        self.device = QComboBox()
        self.device.addItem("cpu")
        _explain(self.device, "Device", "Where the engine computes: what this machine has")
        self.dtype = QComboBox()
        self.dtype.addItems(DTYPE_NAMES)
        _explain(self.dtype, "Number type", "Number type of weights and cache")
        kind = NumberKind("temperature", step=0.1, word="greedy", word_is=0.0)
        self.temperature = NumberField(kind)
        meaning = "0 takes the best token; above, tokens are drawn by chance"
        _explain(self.temperature, "Temperature", meaning)
        self.seed = NumberField(NumberKind("seed"))
        _explain(self.seed, "Seed", "With the step number, decides the sampling of a step")


def _explain(field: QWidget, name: str, meaning: str) -> None:
    field.setAccessibleName(name)
    field.setToolTip(meaning)
