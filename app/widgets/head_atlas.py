"""All heads of all layers in one picture."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QImage, QPainter

from app.theme import Theme
from app.widgets import code_image, marks

HEADER_PX = 17
_NAMES_PX = 24
_GAP_PX, _LINE_PX = 3, 1
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
        width, height = min(width, height * _LONGEST_SIDE), min(height, width * _LONGEST_SIDE)
        return max(_GAP_PX + 1.0, float(int(width))), max(_GAP_PX + 1.0, float(int(height)))

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
        """Draw codes [L, H, R, C] as one image of `scale` pixels per logical pixel."""
        if not codes.size:
            return
        width, height = self.tile_px
        rows = _Pixels.of(self.n_layers, height, scale)
        columns = _Pixels.of(self.n_heads, width, scale)
        few = code_image.pooled(codes, rows.n_inner, columns.n_inner)
        y, x = rows.place_in(few.shape[2])[:, None], columns.place_in(few.shape[3])[None]
        pixels = colours[few[rows.tile[:, None], columns.tile[None], y, x]]
        is_frame = ~(rows.is_inner[:, None] & columns.is_inner[None])
        pixels[is_frame] = theme.frame.rgb()
        pixels[rows.is_gap] = theme.paper.rgb()
        pixels[:, columns.is_gap] = theme.paper.rgb()
        tall, wide = pixels.shape
        picture = QImage(pixels.data, wide, tall, 4 * wide, QImage.Format.Format_RGB32)
        corner = self.tile(0, 0).topLeft() - QPointF(_LINE_PX, _LINE_PX)
        painter.drawImage(QRectF(corner, QSizeF(wide / scale, tall / scale)), picture)

    def draw_names(self, painter: QPainter, theme: Theme) -> None:
        """L0, L1 .. and H0, H1 .., where tiles are large enough."""
        width, height = self.tile_px
        painter.setFont(theme.mono(px=theme.small_px - 1))
        for layer in range(self.n_layers if height >= theme.px(_NAME_HEIGHT_PX) else 0):
            tile = self.tile(layer, 0)
            box = QRectF(self.place.left() - 2, tile.top(), _NAMES_PX - 2, tile.height())
            marks.label(painter, box, f"L{layer}", theme.dim, Qt.AlignmentFlag.AlignRight)
        for head in range(self.n_heads if width >= theme.px(_NAME_WIDTH_PX) else 0):
            tile = self.tile(0, head)
            box = QRectF(tile.left(), self.place.top(), width, HEADER_PX - 2)
            marks.label(painter, box, f"H{head}", theme.dim)


@dataclass(frozen=True, slots=True, eq=False)
class _Pixels:
    """Device pixels along one side of the atlas: a thin frame, a tile, a frame, a gap, and so on.

    Attributes:
        tile: [pixels] which tile.
        offset: [pixels] place in the tile; below 0 in its first frame.
        n_inner: pixels of a tile without its frame.
        line: pixels of a frame.
    """

    tile: NDArray[np.int64]
    offset: NDArray[np.int64]
    n_inner: int
    line: int

    @classmethod
    def of(cls, n_tiles: int, tile_px: float, scale: float) -> "_Pixels":
        """Each tile begins at the device pixel next to its logical place, at any scale."""
        each, line = tile_px * scale, max(1, round(_LINE_PX * scale))
        starts = np.rint(np.arange(n_tiles) * each).astype(np.int64)
        pixels = np.arange(round(n_tiles * each))
        tile = np.searchsorted(starts, pixels, side="right") - 1
        n_inner = max(1, int((tile_px - _GAP_PX) * scale))
        return cls(tile, pixels - starts[tile] - line, n_inner, line)

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        """Whether a pixel is of a tile, not of its frame."""
        return (self.offset >= 0) & (self.offset < self.n_inner)

    @property
    def is_gap(self) -> NDArray[np.bool_]:
        """Whether a pixel is between two frames."""
        return self.offset >= self.n_inner + self.line

    def place_in(self, n_source: int) -> NDArray[np.int64]:
        """[pixels] which of so many rows or columns of a tile a pixel shows."""
        return np.clip(self.offset * n_source // self.n_inner, 0, n_source - 1)
