"""Rows that are read more than once: nothing of what they were given is lost, and it is said."""

from dataclasses import replace

import numpy as np
import pytest

from core.readouts.attention import attention_readout
from core.readouts.attention_image import HIDDEN, folded, weight_codes
from core.readouts.mask import mask_readout
from core.readouts.run_view import RunView
from core.spec import RunSpec
from tests.core.readouts.runs import (
    PLAIN,
    TWICE_REFUSED,
    pending_view_of,
    view_of,
    with_fault,
)

DOUBLED = with_fault(replace(PLAIN, capacity=64), "store-double-append")
"""Step 2 reads the rows of tokens 0 to 6 twice: 16 rows of 9 slots; step 3 four times."""


@pytest.fixture
def view() -> RunView:
    return view_of(DOUBLED, 2, layer=1, head=2)


def test_weights_of_one_place_are_added_and_hidden_ones_stay_hidden() -> None:
    weights = np.array([[0.25, HIDDEN, 0.5, 0.25], [HIDDEN, HIDDEN, 1.0, HIDDEN]])
    total, firsts = folded(weights, np.array([7, 3, 7, 4]))
    assert firsts.tolist() == [1, 3, 0]
    assert total.tolist() == [[HIDDEN, 0.25, 0.75], [HIDDEN, HIDDEN, 1.0]]


def test_a_place_that_was_given_no_number_has_none() -> None:
    total, _ = folded(np.array([np.nan, 0.5, 0.5]), np.array([0, 0, 1]))
    assert np.isnan(total[0])
    assert total[1] == 0.5


@pytest.mark.parametrize("step", [2, 3])
def test_the_row_drawn_has_all_the_weight_that_the_engine_gave(step: int) -> None:
    for layer in range(4):
        view = view_of(DOUBLED, step, layer=layer, head=3)
        told = view.records[step].layers[layer]
        by_hand = np.zeros(step + 7)
        for slot, weight in zip(
            told.plan.view_slots.tolist(), told.weights[3, -1].tolist(), strict=True
        ):
            by_hand[slot] += weight
        assert by_hand.sum() == pytest.approx(1, abs=1e-6)
        readout = attention_readout(view)
        for grid in (readout.by_slot, readout.by_token):
            drawn = grid.weights[-1, : step + 7]
            assert drawn == pytest.approx(by_hand, abs=1e-7)
            assert grid.newest_weights[: step + 7] == pytest.approx(by_hand, abs=1e-7)
            assert np.array_equal(grid.codes[-1, : step + 7], weight_codes(drawn))
        assert np.array_equal(readout.atlas[layer, 3, -1], weight_codes(drawn))


def test_keys_say_how_many_rows_they_are(view: RunView) -> None:
    readout = attention_readout(view)
    n_rows = [readout.by_slot.key(-1, slot).n_read for slot in range(10)]
    assert n_rows == [2] * 7 + [1, 1, 0]
    assert readout.by_slot.keys[-1].is_read.tolist() == [True] * 9 + [False] * 55
    assert ", 2 rows) gets " in readout.sentence
    assert readout.sentence.endswith("; tokens 0–6 read more than once, the weights added")


def test_a_run_without_repeats_says_nothing_of_them() -> None:
    sentence = attention_readout(view_of(PLAIN, 2)).sentence
    assert "rows)" not in sentence
    assert "more than once" not in sentence


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            2,
            "sees 16 rows, tokens 0–6 twice, expected each once; sees 9 of 9: positions 0–8",
        ),
        (
            3,
            "sees 32 rows, tokens 0–6 four times, token 7 twice, expected each once; "
            "sees 10 of 10: positions 0–9",
        ),
    ],
)
def test_the_mask_says_how_many_rows_are_seen_and_whose(step: int, said: str) -> None:
    assert mask_readout(view_of(DOUBLED, step)).sentence == said


def test_a_token_seen_twice_is_told_before_there_is_a_verdict() -> None:
    sentence = mask_readout(pending_view_of(DOUBLED, 2)).sentence
    assert sentence.startswith("sees 16 rows, tokens 0–6 twice; sees positions 0–8; not judged yet")


def test_of_rows_that_stand_for_one_token_all_but_one_are_wrong(view: RunView) -> None:
    readout = mask_readout(view)
    assert readout.queries[0].is_wrong
    assert readout.is_leak[0].tolist() == [False] * 7 + [True] * 7 + [False] * 2
    assert not readout.is_blind.any()
    assert (readout.used_row, readout.right_row) == (None, None)


def test_of_two_rows_of_one_token_the_one_that_is_seen_is_right(view: RunView) -> None:
    """A mask that hides the first copy of each row leaves nothing wrong."""
    record = view.records[2]
    mask = record.layers[1].plan.mask.copy()
    mask[:, :7] = False
    plan = replace(record.layers[1].plan, mask=mask)
    layers = tuple(replace(told, plan=plan) for told in record.layers)
    records = (*view.records[:2], replace(record, layers=layers), *view.records[3:])
    readout = mask_readout(replace(view, records=records))
    assert not readout.is_leak.any()
    assert not readout.is_blind.any()
    assert readout.sentence == "sees 9 of 9: positions 0–8"


def test_the_places_of_a_slot_are_all_columns_that_read_it(view: RunView) -> None:
    first, second = mask_readout(view).places
    assert first[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 14, 15, -1]
    assert second[:10].tolist() == [7, 8, 9, 10, 11, 12, 13, -1, -1, -1]


CALLERS_MEMORY = with_fault(PLAIN, "store-alias-in")


@pytest.mark.parametrize(
    ("spec", "step", "said"),
    [
        (CALLERS_MEMORY, 2, "sees 9 rows, token 8 twice, expected each once; sees 8 of 9: "),
        (CALLERS_MEMORY, 3, "sees 10 rows, token 9 three times, expected each once; sees 8 of 10"),
    ],
)
def test_one_row_that_is_read_at_several_slots_is_told_so(
    spec: RunSpec, step: int, said: str
) -> None:
    assert mask_readout(view_of(spec, step)).sentence.startswith(said)


def test_the_sentence_counts_every_row_that_is_let_through() -> None:
    said = mask_readout(view_of(with_fault(TWICE_REFUSED, "cap-counter-first"), 9)).sentence
    assert "; sees 12 rows, token 9 twice, expected each once; " in said
