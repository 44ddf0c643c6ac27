"""What cannot be guessed of somebody's code: constructor arguments, promises, an adapter."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.cli_check_options import DECLARATIONS
from app.own_code_wishes import Wishes
from app.theme import Theme, complaint_style, restyle, tick_box_style
from core.contract.names_in_file import Kind
from core.errors import CoreError

PYTHON = "Python (*.py)"
MOST_TOKENS = 10_000_000
OF_MODEL = ("Vocabulary", "Prompt", "Reference")
LABELS = ("Arguments", "Promises", *OF_MODEL)


class OwnCodeForm(QWidget):
    """`edited` is told when something was said, and is to be checked again."""

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        """Nothing is said."""
        super().__init__()
        self._path: Path | None = None
        self._folder: Path | None = None
        self._kind: Kind = "class"
        self.arguments = QLineEdit()
        self.boxes = {name: QCheckBox(name.replace("_", " ")) for name in DECLARATIONS}
        self.adapter, self.no_adapter = QPushButton("Choose…"), QPushButton("None")
        self.vocab, self.prompt = QSpinBox(), QLineEdit()
        self.reference, self.no_reference = QPushButton("Choose…"), QPushButton("None")
        self.complaint = QLabel()
        self._labels = {name: QLabel(name) for name in LABELS}
        self._build()
        self._connect()
        self.dress(theme)
        self.show_kind("class")

    @property
    def wishes(self) -> Wishes:
        """What is said now."""
        declared = tuple(name for name, box in self.boxes.items() if box.isChecked())
        vocab = self.vocab.value() or None
        if self._kind == "model":
            prompt = self.prompt.text().strip()
            return Wishes("", (), self._path, vocab, prompt, self._folder)
        return Wishes(self.arguments.text().strip(), declared, self._path)

    def show_kind(self, kind: Kind) -> None:
        """Ask what belongs to a class, or to a model."""
        self._kind = kind
        is_class = kind == "class"
        for part in (self._labels["Arguments"], self.arguments, self._labels["Promises"]):
            part.setVisible(is_class)
        for box in self.boxes.values():
            box.setVisible(is_class)
        of_model = (self.vocab, self.prompt, self.reference)
        for part in (*of_model, *(self._labels[name] for name in OF_MODEL)):
            part.setVisible(not is_class)
        self.no_reference.setVisible(not is_class and self._folder is not None)

    def forget(self) -> None:
        """Another file: nothing is said of it yet."""
        blockers = [QSignalBlocker(part) for part in (self.vocab, *self.boxes.values())]
        self.arguments.clear()
        self.prompt.clear()
        self.vocab.setValue(0)
        for box in self.boxes.values():
            box.setChecked(False)
        del blockers
        self._path = self._folder = None
        self._show_adapter()
        self._show_reference()
        self.complain("")

    def complain(self, words: str) -> None:
        """Say what is missing; empty: nothing. The option of the command line is the field here."""
        self.complaint.setText(words.replace("--args ", ""))
        self.complaint.setVisible(bool(words))

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        restyle(self.complaint, complaint_style(theme))
        for field in (self.arguments, self.prompt):
            field.setFont(theme.mono())
        for box in self.boxes.values():
            restyle(box, tick_box_style(theme))

    def _build(self) -> None:
        self.arguments.setPlaceholderText("max_len=8, d_k=4, d_v=4")
        self.arguments.setAccessibleName("Arguments of the constructor")
        self.arguments.setToolTip("What the constructor gets, where its names do not say it")
        self.vocab.setRange(0, MOST_TOKENS)
        self.vocab.setSpecialValueText("as the model says")
        self.vocab.setAccessibleName("Token ids that the model knows")
        self.vocab.setKeyboardTracking(False)
        self.prompt.setPlaceholderText("some at random, else such as 3, 1, 4")
        self.prompt.setAccessibleName("Token ids of the prompt")
        self.prompt.setToolTip("The token ids that the model reads first")
        self.reference.setAccessibleName("Reference")
        self.reference.setToolTip(
            "The folder of the checkpoint that the model is to equal without a cache: it shows a "
            "fault that both of its ways share"
        )
        self.no_reference.setAccessibleName("No reference")
        self.adapter.setAccessibleName("Adapter")
        self.adapter.setToolTip("A file that knows how to drive this code; it is run too")
        self.no_adapter.setAccessibleName("No adapter")
        self.complaint.setWordWrap(True)
        self.complaint.setTextFormat(Qt.TextFormat.PlainText)
        self.complaint.setAccessibleName("What is missing")
        self._lay_out()

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._labels["Arguments"], 0, 0)
        grid.addWidget(self.arguments, 0, 1)
        grid.addWidget(self._labels["Vocabulary"], 0, 0)
        grid.addWidget(self.vocab, 0, 1, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self.complaint, 1, 1)
        for name, box in self.boxes.items():
            box.setToolTip(DECLARATIONS[name])
        grid.addWidget(self._labels["Promises"], 2, 0)
        grid.addLayout(_side_by_side(self.boxes.values()), 2, 1)
        grid.addWidget(QLabel("Adapter"), 3, 0)
        grid.addLayout(_side_by_side((self.adapter, self.no_adapter)), 3, 1)
        grid.addWidget(self._labels["Prompt"], 4, 0)
        grid.addWidget(self.prompt, 4, 1)
        grid.addWidget(self._labels["Reference"], 5, 0)
        grid.addLayout(_side_by_side((self.reference, self.no_reference)), 5, 1)

    def _connect(self) -> None:
        self.arguments.editingFinished.connect(self._on_arguments)
        self.prompt.editingFinished.connect(self._on_prompt)
        self.reference.clicked.connect(self._choose_reference)
        self.no_reference.clicked.connect(self._drop_reference)
        self.arguments.setModified(False)
        self.vocab.valueChanged.connect(self.edited)
        for box in self.boxes.values():
            box.toggled.connect(self._on_promise)
        self.adapter.clicked.connect(self._choose_adapter)
        self.no_adapter.clicked.connect(self.drop_adapter)

    @Slot()
    def _on_arguments(self) -> None:
        """Only when something was typed: leaving the field is no edit."""
        if not self.arguments.isModified():
            return
        self.arguments.setModified(False)
        try:
            self.wishes.values()
        except CoreError as error:
            self.complain(str(error))
            return
        self.edited.emit()

    @Slot()
    def _on_prompt(self) -> None:
        """Likewise."""
        if not self.prompt.isModified():
            return
        self.prompt.setModified(False)
        try:
            self.wishes.prompt_ids()
        except CoreError as error:
            self.complain(str(error))
            return
        self.edited.emit()

    @Slot()
    def _choose_reference(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Reference")
        if folder:
            self._folder = Path(folder)
            self._show_reference()
            self.edited.emit()

    @Slot()
    def _drop_reference(self) -> None:
        self._folder = None
        self._show_reference()
        self.edited.emit()

    def _show_reference(self) -> None:
        folder = self._folder
        self.reference.setText("Choose…" if folder is None else folder.name)
        self.no_reference.setVisible(folder is not None and self._kind == "model")

    @Slot(bool)
    def _on_promise(self, is_on: bool) -> None:  # noqa: FBT001  (a signal of Qt)
        """Two of them exclude each other."""
        pair = {"copies": "live_views", "live_views": "copies"}
        ticked = next(name for name, box in self.boxes.items() if box is self.sender())
        if is_on and ticked in pair and self.boxes[pair[ticked]].isChecked():
            other = self.boxes[pair[ticked]]
            blocker = QSignalBlocker(other)
            other.setChecked(False)
            blocker.unblock()
        self.edited.emit()

    @Slot()
    def _choose_adapter(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Adapter", "", PYTHON)
        if path:
            self._path = Path(path)
            self._show_adapter()
            self.edited.emit()

    @Slot()
    def drop_adapter(self) -> None:
        """Drive the code without one."""
        self._path = None
        self._show_adapter()
        self.edited.emit()

    def _show_adapter(self) -> None:
        path = self._path
        self.adapter.setText("Choose…" if path is None else path.name)
        self.no_adapter.setVisible(path is not None)


def _side_by_side(widgets: Iterable[QWidget]) -> QHBoxLayout:
    line = QHBoxLayout()
    for widget in widgets:
        line.addWidget(widget)
    line.addStretch(1)
    return line
