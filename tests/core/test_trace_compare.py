import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.outcome import Refused
from core.spec import FaultUse
from core.trace import Trace, rows_as_read
from core.trace_compare import band_of, first_trace_difference
from core.verdict import FIELDS
from tests.helpers.runs import run, spec_for

STEP, LAYER, HEAD = 2, 1, 1


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(spec_for("rope", prompt_ids=(1, 2, 3), steps=3, dtype="float32"))


def with_record(trace: Trace, step: int, **changes) -> Trace:
    records = list(trace.records)
    records[step] = replace(records[step], **changes)
    return replace(trace, records=records)


def with_layer(trace: Trace, layer: int, **changes) -> Trace:
    layers = list(trace.records[STEP].layers)
    layers[layer] = replace(layers[layer], **changes)
    return with_record(trace, STEP, layers=tuple(layers))


def raised(array: np.ndarray, place, by: float) -> np.ndarray:
    changed = array.copy()
    changed[place] += by
    return changed


def with_row(trace: Trace, part: int, by: float) -> Trace:
    first = trace.records[STEP].layers[LAYER].first_read
    kv = raised(first.kv, (part, HEAD, 0, 0), by)
    return with_layer(trace, LAYER, first_read=replace(first, kv=kv))


def with_plan(trace: Trace, **changes) -> Trace:
    plan = trace.records[STEP].layers[LAYER].plan
    return with_layer(trace, LAYER, plan=replace(plan, **changes))


def with_used_keys(trace: Trace, by: float) -> Trace:
    used = rows_as_read(trace.records, STEP, LAYER)[0]
    return with_layer(trace, LAYER, used_keys=raised(used, (HEAD, 0, 0), by))


def changed(trace: Trace, field: str, by: float = 1.0) -> Trace:
    """The run with one field changed; numbers by `by`."""
    record = trace.records[STEP]
    layer = record.layers[LAYER]
    changes = {
        "outcome": lambda: with_record(trace, STEP, outcome=Refused(1, 0)),
        "length": lambda: with_record(trace, STEP, reported_length=9),
        "seen": lambda: with_record(trace, STEP, ledger=replace(record.ledger, seen=9)),
        "position_ids": lambda: with_positions(trace),
        "slots": lambda: with_record(trace, STEP, slots=record.slots + 1),
        "readable": lambda: with_record(trace, STEP, readable=(record.readable[0][1:],)),
        "keys": lambda: with_row(trace, 0, by),
        "values": lambda: with_row(trace, 1, by),
        "rotated_keys": lambda: with_used_keys(trace, by),
        "visible": lambda: with_plan(trace, mask=~layer.plan.mask),
        "scores": lambda: with_layer(trace, LAYER, scores=raised(layer.scores, (HEAD, 0, 0), by)),
        "weights": lambda: with_layer(
            trace, LAYER, weights=raised(layer.weights, (HEAD, 0, 0), by)
        ),
        "output": lambda: with_layer(trace, LAYER, output=raised(layer.output, (0, 0), by)),
        "residual": lambda: with_layer(trace, LAYER, residual=raised(layer.residual, (0, 0), by)),
        "logits": lambda: with_record(trace, STEP, logits=raised(record.logits, 0, by)),
        "contents": lambda: with_held(trace, "token_index"),
    }
    return changes[field]()


def with_positions(trace: Trace) -> Trace:
    layers = trace.records[STEP].layers
    plan = replace(layers[0].plan, position_ids=layers[0].plan.position_ids + 1)
    return with_record(trace, STEP, layers=(replace(layers[0], plan=plan), *layers[1:]))


def with_held(trace: Trace, name: str) -> Trace:
    """The first entry of the ledger with another number."""
    ledger = trace.records[STEP].ledger
    other = replace(ledger, **{name: raised(getattr(ledger, name), 0, 9)})
    return with_record(trace, STEP, ledger=other)


IN_A_LAYER = FIELDS[FIELDS.index("keys") : FIELDS.index("logits")]
WITH_HEADS = ("keys", "values", "rotated_keys", "scores", "weights")
NUMBERS = ("keys", "values", "scores", "weights", "output", "residual", "logits")


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [
        ("token_index", "tokens [0 1 2 3 4]", "tokens [1 2 3 4 9]"),
        ("position_id", "position ids [0 1 2 3 4]", "position ids [9 1 2 3 4]"),
    ],
)
def test_what_is_held_is_told_with_its_tokens_or_their_positions(name, left, right, trace):
    difference = first_trace_difference(trace, with_held(trace, name))
    assert difference is not None
    assert (difference.field, difference.left, difference.right) == ("contents", left, right)


def test_in_which_slots_the_same_tokens_are_held_is_no_difference_after_the_step(trace):
    ledger = trace.records[STEP].ledger
    other = with_record(trace, STEP, ledger=replace(ledger, slot=ledger.slot[::-1].copy()))
    assert first_trace_difference(trace, other) is None


def test_a_run_equals_itself(trace):
    assert first_trace_difference(trace, trace) is None


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_named_with_step_layer_and_head(field, trace):
    difference = first_trace_difference(trace, changed(trace, field))
    assert difference is not None
    assert (difference.step, difference.field) == (STEP, field)
    assert difference.layer == (LAYER if field in IN_A_LAYER else None)
    assert difference.head == (HEAD if field in WITH_HEADS else None)
    assert difference.left != difference.right


@pytest.mark.parametrize(("earlier", "later"), list(itertools.pairwise(FIELDS)), ids=FIELDS[:-1])
def test_of_two_changed_fields_the_earlier_one_is_named(earlier, later, trace):
    difference = first_trace_difference(trace, changed(changed(trace, earlier), later))
    assert difference is not None
    assert difference.field == earlier


@pytest.mark.parametrize("field", NUMBERS)
def test_numbers_within_the_band_are_equal(field, trace):
    assert first_trace_difference(trace, changed(trace, field, by=1e-7)) is None


def test_a_hidden_score_is_no_difference(trace):
    first = trace.records[0].layers[0]
    scores = raised(first.scores, (0, 0, 2), 5.0)  # query 0 must not see token 2
    layers = (replace(first, scores=scores), *trace.records[0].layers[1:])
    assert first_trace_difference(trace, with_record(trace, 0, layers=layers)) is None


def test_nan_equals_nan_and_nothing_else(trace):
    logits = trace.records[STEP].logits.copy()
    logits[3] = np.nan
    broken = with_record(trace, STEP, logits=logits)
    assert first_trace_difference(broken, broken) is None
    difference = first_trace_difference(trace, broken)
    assert difference is not None
    assert difference.field == "logits"


def test_fewer_steps_are_a_difference(trace):
    shorter = replace(trace, records=trace.records[:-1])
    difference = first_trace_difference(trace, shorter)
    assert difference is not None
    assert (difference.step, difference.field) == (3, "steps")
    assert (difference.left, difference.right) == ("4 steps", "3 steps")


def test_other_tokens_come_before_all_that_follows_from_them(trace):
    other = run(spec_for("rope", prompt_ids=(1, 9, 3), steps=3, dtype="float32"))
    difference = first_trace_difference(trace, other)
    assert difference is not None
    assert (difference.step, difference.field) == (0, "token_ids")
    assert (difference.left, difference.right) == (
        "[prefill [1 2 3]]",
        "[prefill [1 9 3]]",
    )


def test_models_of_other_shapes_are_not_compared_further(trace):
    other = run(spec_for("learned", prompt_ids=(1, 2, 3), steps=3, dtype="float32"))
    difference = first_trace_difference(trace, other)
    assert difference is not None
    assert difference.field == "model"
    assert difference.left.startswith("tiny-rope (rope, 4 layers")


def test_of_long_lists_the_first_item_that_differs_is_told():
    ids = tuple(range(100))
    a, b = (run(spec_for("rope", prompt_ids=prompt, steps=0)) for prompt in (ids, (*ids[:-1], 7)))
    difference = first_trace_difference(a, b)
    assert difference is not None
    assert (difference.left, difference.right) == ("99", "7")


def test_a_fault_is_found_where_it_acts_first(trace):
    spec = replace(trace.spec, faults=(FaultUse("store-row-zero", layers=(2,)),))
    difference = first_trace_difference(trace, run(spec))
    assert difference is not None
    assert (difference.step, difference.layer, difference.field) == (1, 2, "keys")


def test_the_band_is_that_of_the_coarser_type(trace):
    coarse = run(replace(trace.spec, dtype="bfloat16"))
    assert band_of(trace, coarse) == band_of(coarse, trace)
    assert band_of(trace, coarse).dtype == "bfloat16"
    assert band_of(trace, trace).inside < band_of(trace, coarse).inside
