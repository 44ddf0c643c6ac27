import math
from dataclasses import replace

import pytest

from core.readouts.per_step import per_step
from core.readouts.spread import SpreadColumn, layer_of, spread_column, spread_readout, stage_names
from core.verdict import Difference
from tests.core.readouts.runs import (
    FULL,
    PLAIN,
    ROLLED_BACK,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

SIGNS = {"right": ".", "wrong": "X", "nothing": " ", "pending": "?", "rounding": "~"}
TABLES = {
    "pos-restart": ["......", ".XXXXX", "......", "......", *[".XXXXX"] * 5, ".XXXXX"],
    "mask-top-left": ["......", "......", "......", ".XXXXX", *[".XXXXX"] * 5, "......"],
    "store-row-zero": ["......", "......", ".XXXXX", "......", *[".XXXXX"] * 5, "......"],
    "mask-unwritten": [
        *["......"] * 3, "XXXXX.", "XXXXX.", *["XXXXXX"] * 4, "......",
    ],
    "evict-newest": [*["......"] * 3, "...XXX", *["...XXX"] * 5, "..XXXX"],
}  # fmt: skip
"""Rows: admission, positions, slots, mask, four layers, logits, contents; columns: steps."""
SPECS = {"evict-newest": WINDOW}


def drawn(columns: tuple[SpreadColumn, ...]) -> list[str]:
    rows = zip(*(column.cells for column in columns), strict=True)
    return ["".join(SIGNS[cell.state] for cell in row) for row in rows]


@pytest.mark.parametrize("fault", TABLES)
def test_a_fault_spreads_as_drawn_by_hand(fault: str) -> None:
    readout = spread_readout(view_of(with_fault(SPECS.get(fault, PLAIN), fault), 0))
    assert drawn(tuple(readout.columns)) == TABLES[fault]


def test_what_a_step_leaves_behind_is_its_last_stage() -> None:
    readout = spread_readout(view_of(with_fault(WINDOW, "evict-newest"), 2))
    assert readout.first_wrong == (2, readout.stages.index("contents"))
    assert readout.sentence == "step 2: contents: holds tokens 0–6, 8; should hold tokens 1–8"


def test_the_first_wrong_cell_is_named_with_its_numbers_and_its_reach() -> None:
    readout = spread_readout(view_of(with_fault(PLAIN, "pos-restart"), 3))
    assert readout.first_wrong == (1, readout.stages.index("positions"))
    assert readout.sentence == (
        "step 1: position ids: token 7 was given position id 0, expected 7; "
        "from there it reaches layers 0–3 and the logits"
    )


def test_a_right_run_has_no_wrong_cell() -> None:
    readout = spread_readout(view_of(PLAIN, 3))
    assert drawn(tuple(readout.columns)) == ["......"] * 10
    assert readout.first_wrong is None
    assert readout.sentence == "nothing is wrong in steps 0–5"


def test_what_was_not_computed_is_empty_and_never_right() -> None:
    readout = spread_readout(view_of(ROLLED_BACK, 0))
    assert drawn(tuple(readout.columns))[0] == "." * 10
    assert drawn(tuple(readout.columns))[1:-1] == ["......  .."] * 8
    assert drawn(tuple(readout.columns))[-1] == "." * 10


def test_a_refusal_that_should_not_be_is_wrong_at_admission_and_in_what_is_held() -> None:
    readout = spread_readout(view_of(with_fault(FULL, "cap-early"), 0))
    assert drawn(tuple(readout.columns)) == [".....X", *["..... "] * 8, ".....X"]
    assert readout.first_wrong == (5, 0)
    assert readout.sentence == "step 5: refused: needs 1, 1 free of 12; should be accepted"


def test_steps_without_a_verdict_are_pending_at_every_stage() -> None:
    readout = spread_readout(pending_view_of(PLAIN, 0))
    assert drawn(tuple(readout.columns)) == ["??????"] * 10
    assert readout.sentence == "6 steps pending"


def test_decades_count_how_far_a_number_is_above_its_band() -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 0)
    stages, logits = view.verdicts[1].stages, view.verdicts[1].logits
    assert stages is not None
    assert stages.layer_errors is not None
    assert stages.layer_bands is not None
    assert logits is not None
    cells = spread_readout(view).columns[1].cells
    assert cells[3].decades is None
    for cell, error, band in zip(cells[4:8], stages.layer_errors, stages.layer_bands, strict=True):
        assert cell.decades == pytest.approx(math.log10(error / band))
    assert cells[8].decades == pytest.approx(math.log10(logits.max_abs_error / logits.wrong_above))


def test_a_number_that_is_not_finite_is_beyond_all_decades() -> None:
    view = view_of(with_fault(PLAIN, "mask-top-left"), 0)
    verdict = view.verdicts[1]
    assert verdict.stages is not None
    stages = replace(verdict.stages, layer_errors=(math.nan, math.inf, 0.0, 0.0))
    column = spread_column(view.records[1], replace(verdict, stages=stages))
    assert [cell.state for cell in column.cells[4:8]] == ["wrong", "wrong", "right", "right"]
    assert [cell.decades for cell in column.cells[4:6]] == [math.inf, math.inf]


def test_a_residual_beyond_its_band_in_a_right_step_is_rounding() -> None:
    view = view_of(PLAIN, 0)
    verdict = view.verdicts[1]
    assert verdict.stages is not None
    stages = replace(verdict.stages, layer_errors=(1.0, 0.0, 0.0, 0.0))
    column = spread_column(view.records[1], replace(verdict, stages=stages))
    assert [cell.state for cell in column.cells[4:8]] == ["rounding", "right", "right", "right"]
    assert column.cells[4].decades is None
    assert column.first_wrong is None


def test_no_stage_is_wrong_in_a_step_whose_verdicts_are_right() -> None:
    view = view_of(PLAIN, 0)
    verdict = view.verdicts[1]
    assert verdict.stages is not None
    stages = replace(verdict.stages, slots=False, mask=False)
    column = spread_column(view.records[1], replace(verdict, stages=stages))
    assert column.first_wrong is None


def test_a_step_that_is_wrong_at_no_stage_is_wrong_where_it_first_differs() -> None:
    """A row that was read, though it changed no residual beyond its band."""
    view = view_of(PLAIN, 0)
    hidden = replace(
        view.verdicts[1], mechanism="wrong", first_difference=Difference(2, None, "keys")
    )
    column = spread_column(view.records[1], hidden)
    assert [cell.state for cell in column.cells].index("wrong") == 4 + 2
    assert column.first_wrong == 6


def test_a_verdict_of_an_older_file_keeps_its_logits_and_says_so() -> None:
    view = view_of(PLAIN, 0)
    older = {step: replace(v, stages=None) for step, v in view.verdicts.items()}
    readout = spread_readout(replace(view, verdicts=older))
    *before, logits, contents = readout.columns[1].cells
    assert {cell.state for cell in (*before, contents)} == {"not kept"}
    assert logits.state == "right"
    assert readout.sentence.endswith("the stages before the logits were not kept")


def test_a_verdict_of_a_file_without_contents_keeps_all_its_other_stages() -> None:
    view = view_of(PLAIN, 0)
    older = {
        step: replace(v, stages=v.stages and replace(v.stages, contents=None))
        for step, v in view.verdicts.items()
    }
    readout = spread_readout(replace(view, verdicts=older))
    assert [cell.state for cell in readout.columns[1].cells] == ["right"] * 9 + ["not kept"]
    assert readout.sentence == "nothing is wrong in steps 0–5"


def test_an_older_file_s_wrong_step_is_wrong_somewhere() -> None:
    view = view_of(with_fault(FULL, "cap-early"), 0)
    older = {step: replace(v, stages=None) for step, v in view.verdicts.items()}
    readout = spread_readout(replace(view, verdicts=older))
    assert readout.first_wrong == (5, 0)


def test_stages_stand_in_the_order_in_which_a_step_passes_them() -> None:
    names = ("admission", "positions", "slots", "mask", "layer 0", "layer 1", "logits")
    assert stage_names(2) == (*names, "contents")
    assert [layer_of(stage, 8) for stage in range(8)] == [None] * 4 + [0, 1, None, None]


def test_columns_are_made_once_and_the_same_while_nothing_changes() -> None:
    view = view_of(PLAIN, 0)
    first = per_step(view, spread_column)
    assert (
        per_step(replace(view, selection=replace(view.selection, step=3)), spread_column) is first
    )
    later = {step: v for step, v in view.verdicts.items() if step < 4}
    fewer = per_step(replace(view, verdicts=later), spread_column)
    assert [a is b for a, b in zip(first, fewer, strict=True)] == [True] * 4 + [False] * 2
    assert per_step(replace(view, records=view.records[:3]), spread_column) == first[:3]
