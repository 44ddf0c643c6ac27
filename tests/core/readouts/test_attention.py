from dataclasses import replace

import numpy as np
import pytest

from core.readouts.attention import ATLAS_ROWS, ENLARGED_ROWS, attention_readout
from core.readouts.attention_image import Code, weight_codes
from core.spec import RunSpec
from tests.core.readouts.runs import (
    CHUNKED,
    FULL,
    LONG,
    NEW_TEXT,
    NOTHING,
    PLAIN,
    REPREFILL,
    ROLLED_BACK,
    ROPE,
    SINKS,
    SKIPPED,
    WINDOW,
    view_of,
    with_fault,
)


def test_codes_are_a_square_root_scale_between_zero_and_one() -> None:
    weights = np.array([0.0, 1e-30, 0.25, 1.0, np.nan])
    assert weight_codes(weights).tolist() == [2, 3, 3 + 126, 254, 255]


def test_every_code_of_a_value_is_above_the_codes_of_no_value() -> None:
    codes = weight_codes(np.linspace(1e-12, 1, 1000))
    assert codes.min() == Code.LOWEST
    assert codes.max() == Code.HIGHEST
    assert np.all(np.diff(codes.astype(int)) >= 0)


@pytest.mark.parametrize("spec", [PLAIN, ROPE, CHUNKED], ids=["learned", "rope", "chunked"])
def test_decoded_rows_stand_below_the_prompt_as_a_triangle(spec: RunSpec) -> None:
    view = view_of(spec, 4)
    readout = attention_readout(view)
    n = view.records[4].ledger.seen
    assert [query.token_index for query in readout.queries] == list(range(n))
    is_value = readout.by_token.codes > Code.ZERO
    assert np.array_equal(is_value, np.tri(n, dtype=bool))
    assert readout.by_slot.codes.shape == (n, 12)
    assert readout.atlas.shape == (4, 4, n, n)


def test_the_newest_row_is_the_recorded_one() -> None:
    view = view_of(PLAIN, 3, layer=2, head=1)
    readout = attention_readout(view)
    recorded = view.records[3].layers[2].weights[1, 0]
    assert np.array_equal(readout.by_token.weights[-1], recorded)
    assert np.array_equal(readout.by_slot.weights[-1, :10], recorded)
    assert np.array_equal(readout.atlas[2, 1, -1], weight_codes(recorded))
    assert readout.n_now == 1


def test_a_row_of_an_earlier_step_is_as_it_was_recorded_then() -> None:
    view = view_of(PLAIN, 3, layer=1, head=3)
    recorded = view.records[1].layers[1].weights[3, 0]
    assert np.array_equal(attention_readout(view).by_token.weights[7, :8], recorded)


def test_masked_and_not_there_yet_have_codes_of_their_own() -> None:
    codes = attention_readout(view_of(PLAIN, 2)).by_slot.codes
    assert codes[0, 1:7].tolist() == [Code.MASKED] * 6
    assert codes[0, 7:].tolist() == [Code.NEVER_WRITTEN] * 5
    assert codes[7, 8:].tolist() == [Code.NEVER_WRITTEN] * 4


def test_in_a_window_columns_by_slot_and_by_token_differ() -> None:
    view = view_of(WINDOW, 3)
    readout = attention_readout(view)
    recorded = dict(
        zip(
            view.records[3].layers[0].plan.view_slots.tolist(),
            view.records[3].layers[0].weights[0, 0].tolist(),
            strict=True,
        )
    )
    assert readout.by_slot.columns[0].token_index == 9
    assert readout.by_slot.weights[-1, 0] == recorded[0]
    assert readout.by_token.columns[9].slot == 0
    assert readout.by_token.weights[-1, 9] == recorded[0]
    # Token 0 left before this step, token 1 is there but outside the window.
    assert readout.by_token.codes[-1, :2].tolist() == [Code.MASKED, Code.MASKED]


def test_a_reprefill_shows_its_own_rows_below_older_ones() -> None:
    readout = attention_readout(view_of(REPREFILL, 2))
    assert readout.n_now == 8
    assert [query.step for query in readout.queries] == [0] + [2] * 8


def test_rows_that_were_taken_back_are_not_shown() -> None:
    readout = attention_readout(view_of(ROLLED_BACK, 8))
    assert [query.step for query in readout.queries] == [0] * 7 + [1, 2, 8]


def test_a_new_text_starts_a_new_image() -> None:
    readout = attention_readout(view_of(NEW_TEXT, 3))
    assert [query.step for query in readout.queries] == [2, 2, 3]


def test_rows_never_written_have_columns_after_the_tokens() -> None:
    readout = attention_readout(view_of(with_fault(PLAIN, "mask-unwritten"), 0))
    assert [key.token_index for key in readout.by_token.columns] == [*range(7), *(None,) * 5]
    assert [key.slot for key in readout.by_token.columns] == list(range(12))
    assert [key.is_unwritten for key in readout.by_token.columns] == [False] * 7 + [True] * 5
    assert (readout.by_token.codes[:, 7:] > Code.ZERO).all()


def test_a_key_names_the_token_really_there() -> None:
    key = attention_readout(view_of(with_fault(PLAIN, "store-row-zero"), 1)).by_slot.columns[0]
    assert (key.slot, key.token_index, key.claimed_token_index) == (0, 7, 0)
    assert key.is_foreign


@pytest.mark.parametrize(
    "spec",
    [
        PLAIN,
        CHUNKED,
        WINDOW,
        SINKS,
        REPREFILL,
        ROLLED_BACK,
        NEW_TEXT,
        with_fault(PLAIN, "store-row-zero"),
        with_fault(WINDOW, "store-row-zero"),
        with_fault(WINDOW, "store-alias-in"),
        with_fault(SINKS, "mask-unwritten"),
    ],
)
@pytest.mark.parametrize("layer", [0, 3])
def test_the_key_of_each_cell_is_what_the_step_of_its_row_read(spec: RunSpec, layer: int) -> None:
    view = view_of(spec, len(view_of(spec, 0).records) - 1, layer=layer)
    readout = attention_readout(view)
    for row, query in enumerate(readout.queries):
        told = view.records[query.step].layers[layer]
        plan = told.plan
        read = {
            slot: (None if token < 0 else token, None if claimed < 0 else claimed)
            for slot, token, claimed in zip(
                plan.view_slots.tolist(),
                told.row_token.tolist(),
                plan.view_token_index.tolist(),
                strict=True,
            )
        }
        for grid in (readout.by_slot, readout.by_token):
            keys = [grid.key(row, column) for column in range(len(grid.columns))]
            found = {k.slot: (k.token_index, k.claimed_token_index) for k in keys if k.is_read}
            assert found == read
            assert all(k.token_index is None for k in keys if not k.is_read)


def test_a_slot_that_is_used_again_is_another_key_to_an_earlier_query() -> None:
    grid = attention_readout(view_of(WINDOW, 3)).by_slot
    assert [grid.key(row, 0).token_index for row in (0, 7, -1)] == [0, 0, 9]
    assert [grid.key(row, 0).text for row in (0, -1)] == ["W", grid.columns[0].text]
    assert [grid.key(row, 8).is_read for row in (0, -1)] == [False, True]


def test_a_column_of_a_token_that_was_not_read_then_still_names_it() -> None:
    key = attention_readout(view_of(WINDOW, 3)).by_token.key(0, 9)
    assert (key.slot, key.token_index, key.claimed_token_index) == (None, None, 9)


def test_all_weight_on_slot_zero_is_told_as_one() -> None:
    readout = attention_readout(view_of(with_fault(PLAIN, "mask-top-left"), 1, layer=3, head=2))
    assert readout.sentence.startswith("all 16 heads: 1.000 on slot 0; head 2 of layer 3: ")
    assert "‘W’ (token 0, slot 0) gets 1.000 from " in readout.sentence


def test_heads_that_do_not_agree_are_not_told_as_one() -> None:
    for spec in (PLAIN, with_fault(PLAIN, "mask-top-left", layers=(0, 1, 2))):
        assert "all 16 heads" not in attention_readout(view_of(spec, 1)).sentence


def test_the_only_row_there_is_is_no_agreement_of_heads() -> None:
    one = replace(PLAIN, prompt_ids=(87,))
    assert "all 16 heads" not in attention_readout(view_of(one, 0)).sentence


def test_the_sentence_names_the_three_keys_with_most_weight() -> None:
    view = view_of(PLAIN, 2, layer=1, head=3)
    told = view.records[2].layers[1]
    weights = told.weights[3, -1]
    best = sorted(range(len(weights)), key=lambda place: -weights[place])[:3]
    sentence = attention_readout(view).sentence
    assert sentence.startswith("head 3 of layer 1: ‘")
    keys = [
        f"(token {told.row_token[place]}, slot {told.plan.view_slots[place]})" for place in best
    ]
    places = [sentence.find(key) for key in keys if weights[best[keys.index(key)]] >= 0.005]
    assert -1 not in places
    assert places == sorted(places)


def test_a_refused_step_says_that_it_computed_nothing() -> None:
    readout = attention_readout(view_of(FULL, 6))
    assert not readout.is_computed
    assert readout.n_now == 0
    assert readout.sentence == (
        "nothing was computed in this step; what is shown was computed before"
    )


def test_a_text_of_which_nothing_was_computed_has_no_rows() -> None:
    readout = attention_readout(view_of(NOTHING, 0))
    assert readout.queries == ()
    assert readout.by_slot.codes.shape == (0, 0)
    assert readout.atlas.shape == (4, 4, 0, 0)
    assert readout.sentence == "nothing was computed in this step"


def test_only_the_newest_rows_of_a_long_text_are_shown() -> None:
    view = view_of(LONG, 0)
    readout = attention_readout(view)
    assert readout.queries[0].token_index == 150 - ENLARGED_ROWS
    assert readout.by_token.codes.shape == (ENLARGED_ROWS, 150)
    assert readout.atlas.shape == (4, 4, ATLAS_ROWS, 150)
    recorded = view.records[0].layers[0].weights[0]
    assert np.array_equal(readout.by_token.weights, recorded[150 - ENLARGED_ROWS :])
    assert np.array_equal(readout.atlas[0, 0, -1], weight_codes(recorded[-1]))


def test_a_new_text_without_its_first_tokens_does_not_show_the_old_one() -> None:
    readout = attention_readout(view_of(SKIPPED, 1))
    assert [query.token_index for query in readout.queries] == list(range(4, 12))
