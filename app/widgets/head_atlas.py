"""All heads of all layers in one picture."""

from dataclasses import dataclass
from functools import lru_cache

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
_LETTER_SHARE = 0.61
"""Width of a letter, of its height."""


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
        sides = _Side(self.n_layers, height, scale), _Side(self.n_heads, width, scale)
        few = code_image.pooled(codes, *(side.n_inner for side in sides))
        rows_first = np.moveaxis(few, 2, 0)
        table = np.empty(few.size + 2, dtype=np.uint32)
        table[:-2] = colours[rows_first.reshape(-1)]
        table[-2:] = theme.frame.rgb(), theme.paper.rgb()
        pixels = table[_sources(*sides, *few.shape[2:])]
        tall, wide = pixels.shape
        picture = QImage(pixels.data, wide, tall, 4 * wide, QImage.Format.Format_RGB32)
        corner = self.tile(0, 0).topLeft() - QPointF(_LINE_PX, _LINE_PX)
        painter.drawImage(QRectF(corner, QSizeF(wide / scale, tall / scale)), picture)

    def draw_names(self, painter: QPainter, theme: Theme) -> None:
        """L0, L1 .. and H0, H1 .., where tiles are large enough."""
        width, height = self.tile_px
        longest = 1 + len(str(self.n_layers - 1))
        room_px = (_NAMES_PX - 2) / (_LETTER_SHARE * longest)
        painter.setFont(theme.mono(px=min(theme.small_px - 1, int(room_px), HEADER_PX - 4)))
        for layer in range(self.n_layers if height >= theme.px(_NAME_HEIGHT_PX) else 0):
            tile = self.tile(layer, 0)
            box = QRectF(self.place.left() - 2, tile.top(), _NAMES_PX - 2, tile.height())
            marks.label(painter, box, f"L{layer}", theme.dim, Qt.AlignmentFlag.AlignRight)
        for head in range(self.n_heads if width >= theme.px(_NAME_WIDTH_PX) else 0):
            tile = self.tile(0, head)
            box = QRectF(tile.left(), self.place.top(), width, HEADER_PX - 2)
            marks.label(painter, box, f"H{head}", theme.dim)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the atlas in device pixels: a thin frame, a tile, a frame, a gap, and so on.

    Each tile begins at the device pixel next to its logical place, at any scale.

    Attributes:
        n_tiles: how many tiles.
        tile_px: logical pixels of a tile with its gap.
        scale: device pixels per logical pixel.
    """

    n_tiles: int
    tile_px: float
    scale: float

    @property
    def n_inner(self) -> int:
        """Pixels of a tile without its frame."""
        return max(1, int((self.tile_px - _GAP_PX) * self.scale))

    @property
    def line(self) -> int:
        """Pixels of a frame."""
        return max(1, round(_LINE_PX * self.scale))

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[pixels] which tile, and the place in it; below 0 in its first frame."""
        each = self.tile_px * self.scale
        starts = np.rint(np.arange(self.n_tiles) * each).astype(np.int64)
        pixels = np.arange(round(self.n_tiles * each))
        tile = np.searchsorted(starts, pixels, side="right") - 1
        return tile, pixels - starts[tile] - self.line


@lru_cache(8)
def _sources(rows: _Side, columns: _Side, n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """[pixels, pixels] the place of each pixel's colour in codes [R, L, H, C], all in one row.

    After the codes stand the colour of the frames and that of the gaps.
    """
    (layer, y), (head, x) = rows.places(), columns.places()
    row = np.clip(y * n_rows // rows.n_inner, 0, n_rows - 1)[:, None]
    column = np.clip(x * n_columns // columns.n_inner, 0, n_columns - 1)[None]
    sources = (row * rows.n_tiles + layer[:, None]) * columns.n_tiles + head[None]
    sources = sources * n_columns + column
    n_codes = n_rows * rows.n_tiles * columns.n_tiles * n_columns
    is_inner = ((y >= 0) & (y < rows.n_inner))[:, None] & ((x >= 0) & (x < columns.n_inner))
    sources[~is_inner] = n_codes
    sources[y >= rows.n_inner + rows.line] = n_codes + 1
    sources[:, x >= columns.n_inner + columns.line] = n_codes + 1
    return sources
