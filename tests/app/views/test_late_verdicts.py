"""While a run grows and verdicts arrive late, no view paints what was true before."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.theme import DARK, LIGHT, Theme
from app.views.cache import CacheView
from app.views.code import CodeView
from app.views.diagnosis import DiagnosisStrip
from app.views.inspector import InspectorView
from app.views.runs import RunsView
from app.views.spread import SpreadView
from app.views.timeline import TimelineView
from app.views.tokens import TokensView
from core.readouts.cache import cache_readout
from core.readouts.code import code_readout
from core.readouts.first_difference import first_difference_readout
from core.readouts.inspector import inspector_readout
from core.readouts.run_history import RunHistory
from core.readouts.run_view import RunView
from core.readouts.runs import runs_readout
from core.readouts.spread import spread_readout
from core.readouts.timeline import timeline_readout
from core.readouts.tokens import tokens_readout
from core.selection import Selection
from tests.core.readouts.runs import FORCED, PLAIN, ROLLED_BACK, SINKS, view_of, with_fault

VIEWS: dict[str, tuple[Callable[[Theme], Any], Callable[[RunView], Any]]] = {
    "cache": (CacheView, cache_readout),
    "tokens": (TokensView, tokens_readout),
    "timeline": (TimelineView, timeline_readout),
    "spread": (SpreadView, spread_readout),
    "first difference": (DiagnosisStrip, first_difference_readout),
    "inspector": (InspectorView, inspector_readout),
    "code": (CodeView, code_readout),
    "runs": (RunsView, runs_readout),
}
SPECS = {
    "right": PLAIN,
    "sinks": SINKS,
    "forced": FORCED,
    "rolled back": ROLLED_BACK,
    "mask": with_fault(PLAIN, "mask-top-left"),
    "length": with_fault(ROLLED_BACK, "cap-counter-first"),
    "unwritten": with_fault(PLAIN, "mask-unwritten"),
}
SIZES = ((660, 260), (420, 140), (900, 200))
MORE_PX = 400
"""Room for all of the code: where it is scrolled to is a choice of whoever reads it."""


def growing(whole: RunView, chance: random.Random) -> Iterator[RunView]:
    """The run as it is received: more records, later their verdicts, and jumps in between."""
    history, n_records, judged = RunHistory(), 0, set[int]()
    verdicts: MappingProxyType[int, Any] = MappingProxyType({})
    records: tuple[Any, ...] = ()
    for _ in range(4 * len(whole.records)):
        if n_records < len(whole.records) and (n_records == 0 or chance.random() < 0.4):
            history.extend(whole.records[n_records : n_records + 1])
            n_records += 1
            records = tuple(whole.records[:n_records])
        waiting = sorted(set(range(n_records)) - judged)
        if waiting and chance.random() < 0.4:
            judged.add(chance.choice(waiting))
            verdicts = MappingProxyType({step: whole.verdicts[step] for step in judged})
        step, layer = chance.randrange(n_records), chance.choice((0, 0, 1))
        slot = chance.choice((None, None, 2))
        at = Selection(step=step, layer=layer, slot=slot)
        yield replace(whole, records=records, verdicts=verdicts, selection=at, history=history)


def made_fresh(view: RunView) -> RunView:
    """The same with nothing remembered."""
    return replace(view, history=RunHistory(view.records))


def picture(widget: QWidget) -> QImage:
    """As it is painted once its parts have taken their places."""
    for _ in range(3):  # a part that takes another place asks those around it
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    return widget.grab().toImage()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("part", VIEWS)
def test_a_view_of_a_growing_run_paints_as_a_new_one(
    qtbot: QtBot, part: str, name: str, theme: Theme
) -> None:
    build, readout_of = VIEWS[part]
    chance = random.Random(f"{part} {name}")
    kept = build(theme)
    qtbot.addWidget(kept)
    kept.show()
    for number, view in enumerate(growing(view_of(SPECS[name], 0), chance)):
        if number % 6 == 0:
            width, height = chance.choice(SIZES)
            kept.resize(width, height + (MORE_PX if part == "code" else 0))
        kept.show_readout(readout_of(view))
        shown = picture(kept)
        if number % 5:
            continue
        fresh = build(theme)
        qtbot.addWidget(fresh)
        fresh.resize(kept.size())
        fresh.show()
        fresh.show_readout(readout_of(made_fresh(view)))
        assert shown == picture(fresh), f"look {number}"


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("part", ["timeline", "spread", "first difference", "runs"])
def test_a_readout_of_a_growing_run_is_that_of_a_run_just_received(part: str, name: str) -> None:
    readout_of = VIEWS[part][1]
    for view in growing(view_of(SPECS[name], 0), random.Random(name)):
        assert readout_of(view) == readout_of(made_fresh(view))


@pytest.mark.parametrize("name", SPECS)
def test_what_is_said_of_slots_is_that_of_a_run_just_received(name: str) -> None:
    for view in growing(view_of(SPECS[name], 0), random.Random(name)):
        kept, fresh = cache_readout(view), cache_readout(made_fresh(view))
        assert kept.sentence == fresh.sentence
        assert list(kept.labels) == list(fresh.labels)
        assert (kept.missing, kept.left) == (fresh.missing, fresh.left)
        assert kept.axis.by_token.tolist() == fresh.axis.by_token.tolist()
        assert (kept.axis.newest, kept.axis.chosen) == (fresh.axis.newest, fresh.axis.chosen)
