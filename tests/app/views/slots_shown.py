"""Cache, Mask and Attention of a step as one window has them, and what they show."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication

from app.widgets.slot_canvas import SlotCanvas
from app.widgets.slot_panel import SlotPanel
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.run_view import RunView
from tests.core.readouts.runs import PLAIN

ROOMY = replace(PLAIN, capacity=256)
LATE = replace(PLAIN, capacity=60, prompt_ids=tuple(range(100, 150)))
"""Fifty tokens in sixty slots: the newest is out of sight unless one scrolls to it."""
SIZE = (660, 260)


class Three(NamedTuple):
    """The views of one window."""

    cache: SlotPanel
    mask: SlotPanel
    attention: SlotPanel


MakeThree = Callable[..., Three]


def show(views: Three, view: RunView) -> None:
    views.cache.show_readout(cache_readout(view))
    views.mask.show_readout(mask_readout(view))
    views.attention.show_readout(attention_readout(view))


def canvas_of(widget: SlotPanel) -> SlotCanvas:
    (canvas,) = widget.findChildren(SlotCanvas)
    return canvas


def picture(widget: SlotPanel) -> QImage:
    return canvas_of(widget).grab().toImage()


def middle(widget: SlotPanel, slot: int, y: float) -> QPoint:
    """The middle of a slot's column, by the view's own ruler."""
    canvas = canvas_of(widget)
    ruler = canvas.ruler()
    return QPoint(int(ruler.cell(canvas.column_of(slot), 0, 1).center().x()), int(y))


def slots_in_sight(widget: SlotPanel) -> list[int]:
    canvas = canvas_of(widget)
    shown = canvas.ruler().shown
    return canvas.slots[shown.start : shown.stop].tolist()


def pixels(image: QImage) -> np.ndarray:
    """[height, width] 0xffRRGGBB."""
    kept = image.convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(kept.constBits(), np.uint32)
    return flat.reshape(kept.height(), kept.bytesPerLine() // 4)[:, : kept.width()].copy()


def turn(widget: SlotPanel, notches: int) -> None:
    canvas = canvas_of(widget)
    at = QPointF(canvas.rect().center())
    event = QWheelEvent(
        at,
        canvas.mapToGlobal(at),
        QPoint(),
        QPoint(0, -120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def has_alarm(part: np.ndarray) -> bool:
    """Whether there is alarm, also as the edge of a letter mixes it with paper."""
    red, blue = (part >> 16 & 255).astype(int), (part & 255).astype(int)
    return bool((red - blue > 80).any())
