"""Each field that a verdict can name is found in a dock, and in a row of Spread."""

from app.docks.registry import DOCKS
from core.readouts.places import PLACES
from core.readouts.spread import stage_names
from core.verdict import FIELDS


def test_every_field_of_a_verdict_has_a_dock_and_a_row_of_spread_that_there_are() -> None:
    assert set(PLACES) == set(FIELDS)
    titles = {dock.title for dock in DOCKS}
    for place in PLACES.values():
        assert place.dock in titles
        assert place.stage is None or place.stage in stage_names(1)
