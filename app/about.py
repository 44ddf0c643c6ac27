"""What the program is and which versions it stands on."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from app.options import versions

WORDS = (
    "kvscope steps through the decoding loop of a GPT and shows what its KV cache really holds.\n"
    "Every number comes from the record of that step; every verdict from a second computation."
)


def about_box(parent: QWidget) -> QMessageBox:
    """A window of its own that blocks nothing; its text can be copied."""
    box = QMessageBox(parent)
    box.setObjectName("about")
    box.setWindowTitle("About kvscope")
    box.setText(WORDS)
    box.setInformativeText(versions())
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.setStandardButtons(QMessageBox.StandardButton.Close)
    box.setModal(False)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box
