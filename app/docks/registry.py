"""The panels that show a readout of the run. A new one is one entry here, and what it loads.

Views and readouts are imported when the engine is there: they need torch and pyqtgraph, and the
window shows before either is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from app.theme import Theme

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

Area = Literal["centre", "bottom"]


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel holds.

    Attributes:
        readout: what is shown, from a view of the run.
        build: makes the widget that shows it: `show_readout(readout)`, and a signal `selected`
            that carries a Selection.
    """

    readout: Callable[[RunView], Any]
    build: Callable[[Theme], Any]


@dataclass(frozen=True, slots=True)
class DockSpec:
    """One panel.

    Attributes:
        id: its name in saved layouts.
        title: sentence case.
        area: where it stands at first.
        height_px: its height at first; None: what the others leave.
        least_px: below this height its contents would be cut.
        about: what will be seen in it, shown until there is something to see.
        load: imports what it holds.
    """

    id: str
    title: str
    area: Area
    height_px: int | None
    least_px: int
    about: str
    load: Callable[[], Panel]


def _tokens() -> Panel:
    from app.views.tokens import TokensView
    from core.readouts.tokens import tokens_readout

    return Panel(tokens_readout, TokensView)


def _cache() -> Panel:
    from app.views.cache import CacheView
    from core.readouts.cache import cache_readout

    return Panel(cache_readout, CacheView)


def _mask() -> Panel:
    from app.views.mask import MaskView
    from core.readouts.mask import mask_readout

    return Panel(mask_readout, MaskView)


def _attention() -> Panel:
    from app.views.attention import AttentionView
    from core.readouts.attention import attention_readout

    return Panel(attention_readout, AttentionView)


def _timeline() -> Panel:
    from app.views.timeline import TimelineView
    from core.readouts.timeline import timeline_readout

    return Panel(timeline_readout, TimelineView)


DOCKS: tuple[DockSpec, ...] = (
    DockSpec(
        id="tokens",
        title="Tokens",
        area="centre",
        height_px=118,
        least_px=90,
        about="The text so far, the right next tokens, and the run without faults",
        load=_tokens,
    ),
    DockSpec(
        id="cache",
        title="Cache",
        area="centre",
        height_px=146,
        least_px=97,
        about="What each slot really holds",
        load=_cache,
    ),
    DockSpec(
        id="mask",
        title="Mask",
        area="centre",
        height_px=108,
        least_px=58,
        about="Which tokens a query sees, and which it should see",
        load=_mask,
    ),
    DockSpec(
        id="attention",
        title="Attention",
        area="centre",
        height_px=None,
        least_px=106,
        about="Where each head looks",
        load=_attention,
    ),
    DockSpec(
        id="timeline",
        title="Timeline",
        area="bottom",
        height_px=116,
        least_px=62,
        about="How far each step is from right",
        load=_timeline,
    ),
)
