"""A text in Markdown, in the fonts of the theme, as high as it needs to be."""

import math
from collections.abc import Iterator

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import (
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser

from app.theme import Theme

_QUOTE_INSET_PX, _LIST_INSET_PX = 14, 16
_MARKDOWN = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)


class MarkdownText(QTextBrowser):
    """Follows no link: its owner does, on `anchorClicked`. Links can be reached with Tab."""

    def __init__(self, theme: Theme, markdown: str) -> None:
        """Takes the text."""
        super().__init__()
        self.setAccessibleName("Text")
        self.setOpenLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        document = self.document()
        document.setDefaultFont(theme.sans())
        document.setDocumentMargin(theme.margin_px)
        document.setIndentWidth(theme.px(_LIST_INSET_PX))
        document.setMarkdown(markdown, _MARKDOWN)
        for block in _blocks(document):
            _set_type(block, theme)
        document.documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The page around it scrolls."""
        event.ignore()

    @Slot()
    def _fit(self) -> None:
        self.setFixedHeight(math.ceil(self.document().size().height()))


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _set_type(block: QTextBlock, theme: Theme) -> None:
    """Lines of code on a ground of their own and close together; quoted words bold."""
    cursor = QTextCursor(block)
    if _is_code(block):
        cursor.setBlockFormat(_code_format(block, theme))
        _set_letters(cursor, block, _mono(theme))
        return
    cursor.setBlockFormat(_words_format(block, theme))
    if _is_quote(block):
        _set_letters(cursor, block, _bold(theme))
    for start, length in _fixed_pitch(block):
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(_mono(theme))


def _is_code(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)


def _is_quote(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(QTextFormat.Property.BlockQuoteLevel)


def _is_one_code(block: QTextBlock, other: QTextBlock) -> bool:
    """Whether both are lines of code of one kind: nothing else tells two blocks of code apart."""
    kind = QTextFormat.Property.BlockCodeLanguage
    if not (other.isValid() and _is_code(other)):
        return False
    return block.blockFormat().property(kind) == other.blockFormat().property(kind)


def _words_format(block: QTextBlock, theme: Theme) -> QTextBlockFormat:
    made = block.blockFormat()
    is_last = not block.next().isValid()
    made.setTopMargin(0)
    made.setBottomMargin(0 if is_last else theme.margin_px)
    if _is_quote(block):
        made.setLeftMargin(theme.px(_QUOTE_INSET_PX))
        made.setRightMargin(theme.px(_QUOTE_INSET_PX))
    return made


def _code_format(block: QTextBlock, theme: Theme) -> QTextBlockFormat:
    """Qt keeps the lines of a block of code in one piece, wider than the text; here they wrap."""
    made = block.blockFormat()
    made.setNonBreakableLines(False)
    made.setBackground(theme.raised)
    made.setLeftMargin(theme.margin_px)
    made.setRightMargin(theme.margin_px)
    made.setTopMargin(0)
    made.setBottomMargin(0 if _is_one_code(block, block.next()) else theme.margin_px)
    return made


def _set_letters(cursor: QTextCursor, block: QTextBlock, letters: QTextCharFormat) -> None:
    cursor.setPosition(block.position())
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(letters)
    cursor.mergeBlockCharFormat(letters)


def _fixed_pitch(block: QTextBlock) -> list[tuple[int, int]]:
    """Start and length of each piece of code among the words."""
    found: list[tuple[int, int]] = []
    pieces = block.begin()
    while not pieces.atEnd():
        piece = pieces.fragment()
        if piece.charFormat().fontFixedPitch():
            found.append((piece.position(), piece.length()))
        pieces += 1
    return found


def _mono(theme: Theme) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setFont(theme.mono(), QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesAll)
    return made


def _bold(theme: Theme) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setFont(theme.sans(is_bold=True))
    return made
