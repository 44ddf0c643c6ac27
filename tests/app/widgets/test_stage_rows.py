"""Which stages share a row of Spread."""

import pytest

from app.theme import LIGHT
from app.widgets.stage_rows import StageRows, firsts_of
from core.readouts.spread import stage_names

LAYERS = ("layer 0", "layer 1", "layer 2", "layer 3")
ROWS = {
    12: ("admission", "positions", "slots", "mask", *LAYERS, "logits", "contents"),
    9: (
        "admission",
        "positions",
        "slots",
        "mask",
        "layers 0–1",
        "layers 2–3",
        "logits",
        "contents",
    ),
    7: ("admission", "positions", "slots", "mask", "layers 0–3", "logits", "contents"),
    6: ("admission", "positions, slots", "mask", "layers 0–3", "logits", "contents"),
    5: ("admission", "positions, slots", "mask", "layers 0–3", "logits, contents"),
    4: ("admission–slots", "mask", "layers 0–3", "logits, contents"),
    1: ("admission–slots", "mask", "layers 0–3", "logits, contents"),
}


@pytest.mark.parametrize("most", ROWS)
def test_layers_share_rows_first_and_then_what_stands_beside_one_another(most: int) -> None:
    stages = stage_names(4)
    assert StageRows(stages, firsts_of(len(stages), most)).names == ROWS[most]


@pytest.mark.parametrize("n_layers", [1, 2, 4, 12, 48])
@pytest.mark.parametrize("most", range(1, 30))
def test_every_stage_is_in_one_row_and_there_are_no_more_rows_than_fit(
    n_layers: int, most: int
) -> None:
    stages = stage_names(n_layers)
    rows = StageRows(stages, firsts_of(len(stages), most))
    inside = [stage for row in range(len(rows)) for stage in rows.of_row(row)]
    assert inside == list(range(len(stages)))
    assert [rows.row_of(stage) for stage in inside] == [
        row for row in range(len(rows)) for _ in rows.of_row(row)
    ]
    assert len(rows) <= max(4, most)


@pytest.mark.parametrize("free_px", range(30, 260, 7))
def test_rows_and_the_line_below_them_fit_and_can_be_named(free_px: int) -> None:
    rows = StageRows.fitting(stage_names(12), free_px, 14, LIGHT)
    left = free_px - (14 if rows.leaves_line else 0)
    assert left / len(rows) >= 10 or len(rows) == 4
