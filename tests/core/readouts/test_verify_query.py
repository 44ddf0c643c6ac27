"""In a step that rejects drafts, the newest query is the last token kept, in every readout."""

from dataclasses import replace

import numpy as np
import pytest

from core.faults.catalog import FAULTS
from core.readouts.attention import attention_readout
from core.readouts.attention_words import slot_of_all_heads
from core.readouts.inspector import inspector_readout
from core.readouts.mask import mask_readout
from core.readouts.seam_values import seam_values
from core.readouts.slot_order import slot_axis
from core.readouts.slot_story import looked_at_slot
from core.readouts.tokens import tokens_readout
from core.spec import RunSpec
from tests.core.readouts.runs import ROPE, VERIFIED, view_of, with_fault

STEP, KEPT, KEPT_ROW = 2, 9, 1
"""The step, the last token kept, and its place among the four that the step computed."""
VERIFIED_ROPE = replace(VERIFIED, model=ROPE.model)
SPECS = {
    "right": VERIFIED,
    **{
        fault.id: with_fault(VERIFIED, fault.id) for fault in FAULTS if fault.id.startswith("spec-")
    },
}


@pytest.fixture(params=SPECS.values(), ids=SPECS)
def spec(request: pytest.FixtureRequest) -> RunSpec:
    return request.param


def test_the_weights_told_are_those_of_the_query_that_is_named(spec: RunSpec) -> None:
    for layer in range(4):
        view = view_of(spec, STEP, layer=layer, head=1)
        told = view.records[STEP].layers[layer]
        readout = attention_readout(view)
        weights = told.weights[1, KEPT_ROW]
        best = int(weights.argmax())
        assert readout.queries[-1].token_index == KEPT
        assert np.array_equal(readout.by_slot.newest_weights[told.plan.view_slots], weights)
        said = f"slot {told.plan.view_slots[best]}) gets {weights[best]:.2g} from "
        assert said in readout.sentence
        named = readout.sentence.split(said)[1].split(", ")
        assert named[0].endswith(f"(token {KEPT}")
        assert named[1].startswith("the last one kept)")
        assert readout.sentence.endswith("; rejected and not shown: tokens 10, 11")


def test_the_mask_looks_at_the_last_token_kept_too(spec: RunSpec) -> None:
    readout = mask_readout(view_of(spec, STEP))
    assert [query.token_index for query in readout.queries] == [8, 9, 10, 11]
    assert readout.query == KEPT_ROW
    assert readout.sentence == "token 9, the last one kept, sees 10 of 10: positions 0–9"


def test_a_rejected_draft_that_is_chosen_speaks_for_itself() -> None:
    readout = mask_readout(view_of(VERIFIED, STEP, token_index=11))
    assert readout.sentence == "token 11 sees 12 of 12: positions 0–11"


def test_heads_agree_on_a_slot_by_the_weights_of_the_last_token_kept() -> None:
    record = view_of(VERIFIED, STEP).records[STEP]
    weights = np.zeros_like(record.layers[0].weights)
    weights[:, :, 3] = 1.0
    weights[:, KEPT_ROW] = np.eye(weights.shape[-1])[5]
    layers = tuple(replace(told, weights=weights) for told in record.layers)
    assert slot_of_all_heads(replace(record, layers=layers)) == 5


def test_slot_story_and_ruler_turn_to_the_slot_of_the_last_token_kept(spec: RunSpec) -> None:
    view = view_of(spec, STEP)
    assert looked_at_slot(view) == KEPT
    assert slot_axis(view, 16).newest == KEPT


def test_logits_and_keys_used_are_named_by_the_last_token_kept() -> None:
    plain = inspector_readout(view_of(VERIFIED, STEP)).sheet("logits")
    assert plain is not None
    assert plain.rows.label(0).startswith("token 9")
    logits = view_of(VERIFIED, STEP).records[STEP].logits
    assert logits is not None
    assert np.array_equal(plain.values[0], logits)


def test_the_values_beside_the_mask_s_code_are_of_the_last_token_kept() -> None:
    view = view_of(with_fault(VERIFIED, "mask-top-left"), STEP)
    chosen = replace(view, selection=replace(view.selection, token_index=KEPT))
    values = [seam_values(each, "causal_mask").values for each in (view, chosen)]
    assert values[0] == values[1]


def test_the_token_after_the_last_one_kept_was_chosen_in_that_step() -> None:
    view = view_of(VERIFIED, STEP)
    readout = tokens_readout(view)
    right = readout.right.at(KEPT + 1)
    assert right is not None
    verdict = view.verdicts[STEP].logits
    assert verdict is not None
    assert (right.step, right.token_id) == (STEP, verdict.reference_token)
    assert readout.sentence.startswith("verify: reads tokens 8–11, rejects tokens 10, 11; predicts")
