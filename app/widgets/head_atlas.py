"""All heads of all layers in one picture."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from app.theme import Theme
from app.widgets import code_image, marks

HEADER_PX = 17
_NAMES_PX = 24
_GAP_PX = 3
_LONGEST_SIDE = 1.6
_NAME_HEIGHT_PX, _NAME_WIDTH_PX = 10, 22


@dataclass(frozen=True, slots=True)
class HeadAtlas:
    """Where the tiles stand: a row per layer, a column per head.

    Attributes:
        place: room for the tiles and their names.
        n_layers: rows.
        n_heads: columns.
    """

    place: QRectF
    n_layers: int
    n_heads: int

    @property
    def tile_px(self) -> tuple[float, float]:
        """Width and height of a tile with its gap; neither much longer than the other."""
        width = (self.place.width() - _NAMES_PX) / self.n_heads
        height = (self.place.height() - HEADER_PX) / self.n_layers
        return min(width, height * _LONGEST_SIDE), min(height, width * _LONGEST_SIDE)

    def tile(self, layer: int, head: int) -> QRectF:
        """The tile of a head."""
        width, height = self.tile_px
        left = self.place.left() + _NAMES_PX + head * width
        top = self.place.top() + HEADER_PX + layer * height
        return QRectF(left, top, width - _GAP_PX, height - _GAP_PX)

    def head_at(self, at: QPointF) -> tuple[int, int] | None:
        """Layer and head at a place; None: there is no tile."""
        width, height = self.tile_px
        head = (at.x() - self.place.left() - _NAMES_PX) // width
        layer = (at.y() - self.place.top() - HEADER_PX) // height
        if 0 <= layer < self.n_layers and 0 <= head < self.n_heads:
            return int(layer), int(head)
        return None

    def draw(
        self,
        painter: QPainter,
        codes: code_image.Codes,
        colours: NDArray[np.uint32],
        theme: Theme,
        scale: float,
    ) -> None:
        """Draw codes [L, H, R, C], made no larger than `scale` pixels per logical pixel."""
        width, height = self.tile_px
        codes = code_image.pooled(
            codes, int((height - _GAP_PX) * scale), int((width - _GAP_PX) * scale)
        )
        n_rows, n_columns = codes.shape[2:]
        flat = codes.transpose(0, 2, 1, 3).reshape(self.n_layers * n_rows, -1)
        picture = code_image.image(flat, colours)
        for layer in range(self.n_layers):
            for head in range(self.n_heads):
                source = QRectF(head * n_columns, layer * n_rows, n_columns, n_rows)
                tile = self.tile(layer, head)
                painter.drawImage(tile, picture, source)
                marks.outline(painter, tile.adjusted(-1, -1, 1, 1), theme.frame)
        self._draw_names(painter, theme)

    def _draw_names(self, painter: QPainter, theme: Theme) -> None:
        width, height = self.tile_px
        painter.setFont(theme.mono(px=theme.small_px - 1))
        for layer in range(self.n_layers if height >= _NAME_HEIGHT_PX else 0):
            tile = self.tile(layer, 0)
            box = QRectF(self.place.left() - 2, tile.top(), _NAMES_PX - 2, tile.height())
            marks.label(painter, box, f"L{layer}", theme.dim, Qt.AlignmentFlag.AlignRight)
        for head in range(self.n_heads if width >= _NAME_WIDTH_PX else 0):
            tile = self.tile(0, head)
            box = QRectF(tile.left(), self.place.top(), width, HEADER_PX - 2)
            marks.label(painter, box, f"H{head}", theme.dim)
