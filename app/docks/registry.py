"""The panels that show a readout of the run. A new one is one entry here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.theme import Theme
from app.views.attention import AttentionView
from app.views.cache import CacheView
from app.views.mask import MaskView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.run_view import RunView
from core.readouts.timeline import timeline_readout
from core.readouts.tokens import tokens_readout

Area = Literal["centre", "right", "bottom"]


@dataclass(frozen=True, slots=True)
class DockSpec:
    """One panel.

    Attributes:
        id: its name in saved layouts.
        title: sentence case.
        area: where it stands at first.
        tab_of: the dock that it stands behind, as a tab; None: it has a place of its own.
        height_px: its height at first; None: what the others leave.
        least_px: below this height its contents would be cut.
        readout: what is shown, from a view of the run.
        build: makes the widget that shows it: `show_readout(readout)`, `show_pointed(selection)`
            for what the mouse is over in any view, `clear()`, and the signals `selected` (a
            Selection) and `pointed` (a Selection, or None).
    """

    id: str
    title: str
    area: Area
    height_px: int | None
    least_px: int
    readout: Callable[[RunView], Any]
    build: Callable[[Theme], Any]
    tab_of: str | None = None


DOCKS: tuple[DockSpec, ...] = (
    DockSpec(
        id="tokens",
        title="Tokens",
        area="centre",
        height_px=118,
        least_px=90,
        readout=tokens_readout,
        build=TokensView,
    ),
    DockSpec(
        id="cache",
        title="Cache",
        area="centre",
        height_px=146,
        least_px=97,
        readout=cache_readout,
        build=CacheView,
    ),
    DockSpec(
        id="mask",
        title="Mask",
        area="centre",
        height_px=108,
        least_px=58,
        readout=mask_readout,
        build=MaskView,
    ),
    DockSpec(
        id="attention",
        title="Attention",
        area="centre",
        height_px=None,
        least_px=106,
        readout=attention_readout,
        build=AttentionView,
    ),
    DockSpec(
        id="timeline",
        title="Timeline",
        area="bottom",
        height_px=116,
        least_px=62,
        readout=timeline_readout,
        build=TimelineView,
    ),
)
