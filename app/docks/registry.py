"""The panels that show a readout of the run. A new one is one entry here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.theme import Theme
from app.views.attention import AttentionView
from app.views.cache import CacheView
from app.views.code import CodeView
from app.views.diagnosis import HEIGHT_PX as STRIP_PX
from app.views.diagnosis import DiagnosisStrip
from app.views.inspector import InspectorView
from app.views.lesson import LessonView
from app.views.mask import MaskView
from app.views.next_token import NextTokenView
from app.views.runs import RunsView
from app.views.spread import SpreadView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from core.faults.shelf import shelf
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.code import code_readout
from core.readouts.first_difference import first_difference_readout
from core.readouts.inspector import inspector_readout
from core.readouts.lesson import lesson_readout
from core.readouts.mask import mask_readout
from core.readouts.next_token import next_token_readout
from core.readouts.run_view import RunView
from core.readouts.runs import runs_readout
from core.readouts.spread import spread_readout
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
        has_title: whether it stands under a title; a strip of one line says what it is.
    """

    id: str
    title: str
    area: Area
    height_px: int | None
    least_px: int
    readout: Callable[[RunView], Any]
    build: Callable[[Theme], Any]
    tab_of: str | None = None
    has_title: bool = True


DOCKS: tuple[DockSpec, ...] = (
    DockSpec(
        id="tokens",
        title="Tokens",
        area="centre",
        height_px=112,
        least_px=90,
        readout=tokens_readout,
        build=TokensView,
    ),
    DockSpec(
        id="cache",
        title="Cache",
        area="centre",
        height_px=140,
        least_px=97,
        readout=cache_readout,
        build=CacheView,
    ),
    DockSpec(
        id="mask",
        title="Mask",
        area="centre",
        height_px=94,
        least_px=72,
        readout=mask_readout,
        build=MaskView,
    ),
    DockSpec(
        id="attention",
        title="Attention",
        area="centre",
        height_px=None,
        least_px=114,
        readout=attention_readout,
        build=AttentionView,
    ),
    DockSpec(
        id="next-token",
        title="Next token",
        area="right",
        height_px=168,
        least_px=96,
        readout=next_token_readout,
        build=NextTokenView,
    ),
    DockSpec(
        id="inspector",
        title="Inspector",
        area="right",
        height_px=226,
        least_px=150,
        readout=inspector_readout,
        build=InspectorView,
    ),
    DockSpec(
        id="code",
        title="Code",
        area="right",
        height_px=None,
        least_px=110,
        readout=code_readout,
        build=CodeView,
    ),
    DockSpec(
        id="lesson",
        title="Lesson",
        area="right",
        height_px=None,
        least_px=90,
        readout=lambda view: lesson_readout(view, shelf()),
        build=LessonView,
        tab_of="code",
    ),
    DockSpec(
        id="diagnosis",
        title="First difference",
        area="bottom",
        height_px=STRIP_PX,
        least_px=STRIP_PX,
        readout=first_difference_readout,
        build=DiagnosisStrip,
        has_title=False,
    ),
    DockSpec(
        id="timeline",
        title="Timeline",
        area="bottom",
        height_px=118,
        least_px=62,
        readout=timeline_readout,
        build=TimelineView,
    ),
    DockSpec(
        id="spread",
        title="Spread",
        area="bottom",
        height_px=164,
        least_px=72,
        readout=spread_readout,
        build=SpreadView,
    ),
    DockSpec(
        id="runs",
        title="Runs",
        area="bottom",
        height_px=116,
        least_px=62,
        readout=runs_readout,
        build=RunsView,
        tab_of="timeline",
    ),
)
