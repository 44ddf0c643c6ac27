"""The text of somebody's class as numbered lines, and a pane that shows it."""

import re

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import Theme
from app.widgets.code_lines import ShownLine, broken
from app.widgets.code_text import CodeText
from app.widgets.python_style import Span, styled_lines
from core.contract.names_in_file import SourceOf


def numbered(source: SourceOf, marked: int | None) -> list[ShownLine]:
    """The lines with their numbers in the file; `marked` is the number of a wrong one."""
    width = len(str(source.first_line + source.text.count("\n")))
    lines: list[ShownLine] = []
    for number, spans in enumerate(styled_lines(source.text), source.first_line):
        head = Span(f"{number:>{width}}  ", "faint")
        lines.append(ShownLine((head, *spans), mark="wrong" if number == marked else "none"))
    return lines


def line_in(words: str, file: str) -> int | None:
    """The line of a file that is named in what the checker tells; None: there is none."""
    found = re.search(rf"\b{re.escape(file)}, line (\d+)", words)
    return None if found is None else int(found[1])


class OwnSource(QWidget):
    """Shows a class; the line that raised in the step looked at is marked, and in sight.

    Attributes:
        marked: number of that line in the file; None: none did.
    """

    def __init__(self, theme: Theme) -> None:
        """Empty."""
        super().__init__()
        self._source: SourceOf | None = None
        self.marked: int | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.text = CodeText(theme, "Your code")
        column.addWidget(self.text)
        self.setFocusProxy(self.text)
        self.text.resized.connect(self._show)

    def show_source(self, source: SourceOf | None, marked: int | None) -> None:
        """Show this; None: it is not in the file any more."""
        self._source, self.marked = source, marked
        self._show()

    def dress(self, theme: Theme) -> None:
        """Show in another theme."""
        old, self.text = self.text, CodeText(theme, "Your code")
        layout = self.layout()
        if layout is not None:
            layout.replaceWidget(old, self.text)
        old.deleteLater()
        self.setFocusProxy(self.text)
        self.text.resized.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        if self._source is None:
            self.text.show_lines([])
            return
        lines = numbered(self._source, self.marked)
        n_columns = max(20, self.text.n_columns(has_bar=not self.text.fits(lines)))
        self.text.show_lines([part for line in lines for part in broken(line, n_columns)])
