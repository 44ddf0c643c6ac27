from dataclasses import replace

import numpy as np
import pytest

from core.readouts import inspector as inspector_module
from core.readouts.inspector import inspector_readout
from core.readouts.run_view import RunView
from core.readouts.tensor_sheet import TensorSheet
from core.selection import Selection
from core.spec import RunSpec
from core.trace import head_as_read, rows_as_read
from tests.core.readouts.runs import (
    CHUNKED,
    FULL,
    NOTHING,
    PLAIN,
    RANKED,
    REPREFILL,
    ROLLED_BACK,
    ROPE,
    WINDOW,
    view_of,
    with_fault,
)


def sheet(view: RunView, tensor: str) -> TensorSheet:
    found = inspector_readout(view).sheet(tensor)
    assert found is not None
    return found


SHAPES: dict[str, tuple[RunSpec, int, str]] = {
    "learned, a prefill": (
        PLAIN,
        0,
        "q [1, 4, 7, 8], k [1, 4, 7, 8], v [1, 4, 7, 8], scores [1, 4, 7, 7], mask [1, 1, 7, 7], "
        "weights [1, 4, 7, 7], output [1, 7, 32], residual [1, 7, 32], logits [1, 256], "
        "k new [1, 4, 7, 8], v new [1, 4, 7, 8]",
    ),
    "learned, the eighth token": (
        PLAIN,
        1,
        "q [1, 4, 1, 8], k [1, 4, 8, 8], v [1, 4, 8, 8], scores [1, 4, 1, 8], mask [1, 1, 1, 8], "
        "weights [1, 4, 1, 8], output [1, 1, 32], residual [1, 1, 32], logits [1, 256], "
        "k new [1, 4, 1, 8], v new [1, 4, 1, 8]",
    ),
    "grouped heads": (
        ROPE,
        1,
        "q [1, 4, 1, 8], k [1, 2, 8, 8], v [1, 2, 8, 8], scores [1, 4, 1, 8], mask [1, 1, 1, 8], "
        "weights [1, 4, 1, 8], output [1, 1, 32], residual [1, 1, 32], logits [1, 256], "
        "k new [1, 2, 1, 8], v new [1, 2, 1, 8]",
    ),
    "the second chunk": (
        CHUNKED,
        1,
        "q [1, 4, 3, 8], k [1, 4, 6, 8], v [1, 4, 6, 8], scores [1, 4, 3, 6], mask [1, 1, 3, 6], "
        "weights [1, 4, 3, 6], output [1, 3, 32], residual [1, 3, 32], logits [1, 256], "
        "k new [1, 4, 3, 8], v new [1, 4, 3, 8]",
    ),
    "the whole buffer": (
        with_fault(PLAIN, "mask-unwritten"),
        1,
        "q [1, 4, 1, 8], k [1, 4, 12, 8], v [1, 4, 12, 8], scores [1, 4, 1, 12], "
        "mask [1, 1, 1, 12], weights [1, 4, 1, 12], output [1, 1, 32], residual [1, 1, 32], "
        "logits [1, 256], k new [1, 4, 1, 8], v new [1, 4, 1, 8]",
    ),
    "a full window": (
        WINDOW,
        4,
        "q [1, 4, 1, 8], k [1, 4, 9, 8], v [1, 4, 9, 8], scores [1, 4, 1, 9], mask [1, 1, 1, 9], "
        "weights [1, 4, 1, 9], output [1, 1, 32], residual [1, 1, 32], logits [1, 256], "
        "k new [1, 4, 1, 8], v new [1, 4, 1, 8]",
    ),
    "a re-prefill": (
        REPREFILL,
        3,
        "q [1, 4, 8, 8], k [1, 4, 8, 8], v [1, 4, 8, 8], scores [1, 4, 8, 8], mask [1, 1, 8, 8], "
        "weights [1, 4, 8, 8], output [1, 8, 32], residual [1, 8, 32], logits [1, 256], "
        "k new [1, 4, 8, 8], v new [1, 4, 8, 8]",
    ),
    "keys rotated as they are read": (
        RANKED,
        4,
        "q [1, 4, 1, 8], k [1, 2, 9, 8], v [1, 2, 9, 8], scores [1, 4, 1, 9], mask [1, 1, 1, 9], "
        "weights [1, 4, 1, 9], output [1, 1, 32], residual [1, 1, 32], logits [1, 256], "
        "k new [1, 2, 1, 8], v new [1, 2, 1, 8], k used [1, 2, 9, 8]",
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_are_written_as_the_field_writes_them(case: str) -> None:
    spec, step, shapes = SHAPES[case]
    readout = inspector_readout(view_of(spec, step))
    assert ", ".join(f"{each.id} {list(each.shape)}" for each in readout.tensors) == shapes
    assert readout.why_none == ""


@pytest.mark.parametrize("case", SHAPES)
def test_each_tensor_named_can_be_looked_at(case: str) -> None:
    """Its two last axes are the sheet's, and each row and column has a label."""
    spec, step, _ = SHAPES[case]
    readout = inspector_readout(view_of(spec, step, layer=1, head=3))
    for entry in readout.tensors:
        found = readout.sheet(entry.id)
        assert found is not None
        assert found.values.shape == entry.shape[-2:]
        assert (found.rows.n, found.columns.n) == entry.shape[-2:]
        assert all(found.rows.label(row) for row in range(found.rows.n))
        assert all(found.columns.label(column) for column in range(found.columns.n))


@pytest.mark.parametrize(
    ("spec", "step", "why"),
    [
        (FULL, 6, "nothing was computed in step 6: decode, refused"),
        (ROLLED_BACK, 7, "nothing was computed in step 7: rollback, accepted"),
        (NOTHING, 0, "nothing was computed in step 0: prefill, refused"),
    ],
)
def test_a_step_that_computed_nothing_says_so(spec: RunSpec, step: int, why: str) -> None:
    readout = inspector_readout(view_of(spec, step))
    assert (readout.tensors, readout.why_none) == ((), why)
    assert readout.sheet("k") is None


def test_a_tensor_that_the_record_does_not_hold_is_none() -> None:
    assert inspector_readout(view_of(PLAIN, 1)).sheet("k used") is None


def test_numbers_are_those_of_the_record_in_the_layer_and_head_looked_at() -> None:
    view = view_of(ROPE, 2, layer=1, head=2)
    told = view.records[2].layers[1]
    keys, values = rows_as_read(view.records, 2, 1)
    logits = view.records[2].logits
    assert logits is not None
    for part, whole in enumerate((keys, values)):
        for head in range(2):
            np.testing.assert_array_equal(head_as_read(view.records, 2, 1, part, head), whole[head])
    for tensor, expected in (
        ("q", told.queries[2]),
        ("k", keys[1]),  # heads 2 and 3 share it
        ("v", values[1]),
        ("scores", told.scores[2]),
        ("mask", told.plan.mask),
        ("weights", told.weights[2]),
        ("output", told.output),
        ("residual", told.residual),
        ("logits", logits[None]),
        ("k new", told.new_keys[1]),
        ("v new", told.new_values[1]),
    ):
        np.testing.assert_array_equal(sheet(view, tensor).values, expected, err_msg=tensor)


def test_a_key_head_is_named_beside_the_query_head_that_reads_it() -> None:
    view = view_of(ROPE, 1, head=2)
    assert sheet(view, "k").title == "KV head 1, query head 2"
    assert sheet(view, "k").name(2, 5) == "k[0, 1, 2, 5]"
    assert sheet(view, "q").title == "head 2"
    assert sheet(view, "q").name(0, 5) == "q[0, 2, 0, 5]"
    assert sheet(view, "output").name(0, 5) == "output[0, 0, 5]"
    assert sheet(view, "logits").name(0, 5) == "logits[0, 5]"


def test_rows_of_keys_name_the_token_that_is_really_there() -> None:
    found = sheet(view_of(with_fault(PLAIN, "store-row-zero"), 1), "k")
    assert found.rows.label(0) == "slot 0: token 7 ‘<0xBB>’"
    assert found.rows.label(1) == "slot 1: token 1 ‘h’"
    assert found.rows.label(7) == "slot 7: no token"


def test_a_choice_of_an_entry_is_a_choice_of_its_slot_and_token() -> None:
    selection = Selection(step=1, layer=1, head=2)
    found = sheet(view_of(PLAIN, 1, layer=1, head=2), "scores")
    assert found.columns.choose(selection, 3) == {"token_index": 3, "slot": 3}
    assert found.rows.choose(selection, 0) == {"token_index": 7}
    assert sheet(view_of(PLAIN, 1), "q").columns.choose(selection, 3) == {}
    assert found.columns.places_of(replace(selection, slot=5)) == (5,)
    assert found.columns.places_of(replace(selection, token_index=2)) == (2,)
    assert found.columns.places_of(selection) == ()


def test_statistics_leave_out_what_is_not_finite_and_count_it() -> None:
    view = view_of(PLAIN, 1)
    told = view.records[1].layers[0]
    spoiled = told.scores.copy()
    spoiled[0, 0, :3] = np.nan, np.inf, -np.inf
    record = replace(
        view.records[1], layers=(replace(told, scores=spoiled), *view.records[1].layers[1:])
    )
    found = sheet(replace(view, records=(view.records[0], record)), "scores")
    kept = told.scores[0, 0, 3:]
    assert (found.least, found.most) == (float(kept.min()), float(kept.max()))
    assert found.n_not_finite == 3
    assert found.scale == float(np.abs(kept).max())


def test_numbers_are_given_with_all_digits_of_their_own_type() -> None:
    found = sheet(view_of(PLAIN, 1), "q")
    assert found.values.dtype == np.float32
    assert np.float32(found.exact(0, 3)) == found.values[0, 3]
    assert len(found.exact(0, 3)) < 14


def test_weights_know_which_pairs_are_masked() -> None:
    found = sheet(view_of(PLAIN, 0), "weights")
    assert found.is_masked is not None
    np.testing.assert_array_equal(found.is_masked, ~np.tri(7, dtype=bool))


def test_only_the_tensor_asked_for_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are put together from many records, so not before somebody looks at them."""
    asked: list[int] = []
    monkeypatch.setattr(
        "core.readouts.tensor_sheet.head_as_read",
        lambda records, step, *place: asked.append(step) or head_as_read(records, step, *place),
    )
    readout = inspector_module.inspector_readout(view_of(PLAIN, 1))
    assert readout.sheet("q") is not None
    assert asked == []
    assert readout.sheet("k") is not None
    assert asked == [1]
