from dataclasses import replace

import numpy as np
import pytest

from core.readouts.cache import CacheReadout, cache_readout
from core.readouts.line_parts import live
from core.readouts.slot_states import SlotState
from core.spec import Decode, Prefill, RunSpec
from tests.core.readouts.runs import (
    FULL,
    NEW_TEXT,
    PLAIN,
    PROBE_LEFT,
    PROBED,
    PROMPT_IDS,
    RANKED,
    REPREFILL,
    ROLLED_BACK,
    SINKS,
    TWICE_REFUSED,
    UNEVEN,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)

LETTERS = dict(zip(".LSpsxNF!un", SlotState, strict=True))
"""never, Live, Sink, probe row, stale, left (x), New, Foreign, stray (!), unwritten."""


def states(readout: CacheReadout, layer: int = 0) -> str:
    letter = {state: sign for sign, state in LETTERS.items()}
    row = next(row for row in readout.rows if layer in row.layers)
    return "".join(letter[SlotState(code)] for code in row.state.tolist())


def numbers(readout: CacheReadout, name: str) -> list[int | None]:
    return [getattr(label, name) for label in readout.labels]


@pytest.mark.parametrize(
    ("spec", "step", "expected"),
    [
        (PLAIN, 0, "NNNNNNN....."),
        (PLAIN, 1, "LLLLLLLN...."),
        (PLAIN, 5, "LLLLLLLLLLLN"),
        (FULL, 6, "LLLLLLLLLLLL"),  # refused: nothing changes
        (ROLLED_BACK, 7, "LLLLLLLLLxxx"),
        (ROLLED_BACK, 8, "LLLLLLLLLNss"),
        (NEW_TEXT, 2, "NNxxxxxx...."),
        (NEW_TEXT, 3, "LLNsssss...."),
        (PROBED, 2, "LLLLLLLLp..."),
        (PROBED, 3, "LLLLLLLLpN.."),
        # A window of 8 has room for one more row: the new token is read before the oldest leaves.
        (WINDOW, 1, "LLLLLLLN"),
        (WINDOW, 2, "xLLLLLLLN"),
        (WINDOW, 3, "NxLLLLLLL"),
        (SINKS, 0, "NNNNNNN."),
        (SINKS, 2, "SSxLLLLLN"),
        (SINKS, 3, "SSNxLLLLL"),
        (REPREFILL, 1, "LLLLLLLN"),
        (REPREFILL, 2, "NNNNNNNN"),
        (with_fault(PLAIN, "store-row-zero"), 1, "FLLLLLLu...."),
        (with_fault(PLAIN, "store-row-zero"), 3, "FLLLLLLuuu.."),
        (with_fault(PLAIN, "store-alias-in"), 1, "LLLLLLLN...."),
        (with_fault(PLAIN, "store-alias-in"), 2, "LLLLLLLFN..."),
        (with_fault(FULL, "cap-early"), 5, "LLLLLLLLLLL."),
        (with_fault(ROLLED_BACK, "cap-counter-first"), 6, "LLLLLLLLLLLLu"),
        (with_fault(ROLLED_BACK, "cap-counter-first"), 7, "LLLLLLLLL!xx"),
        (with_fault(PLAIN, "mask-unwritten"), 1, "LLLLLLLN...."),
    ],
)
def test_each_slot_has_the_state_of_a_hand_drawn_row(
    spec: RunSpec, step: int, expected: str
) -> None:
    for view in (view_of(spec, step), pending_view_of(spec, step)):
        assert states(cache_readout(view)) == expected


def test_layers_with_equal_states_are_one_row() -> None:
    (row,) = cache_readout(view_of(PLAIN, 2)).rows
    assert row.layers == (0, 1, 2, 3)


def test_a_fault_in_one_layer_gives_it_a_row_of_its_own() -> None:
    spec = with_fault(PLAIN, "store-row-zero", layers=(2,))
    readout = cache_readout(view_of(spec, 1))
    assert [row.layers for row in readout.rows] == [(0, 1, 3), (2,)]
    assert states(readout, 2) == "FLLLLLLu...."
    assert states(readout, 3) == "LLLLLLLN...."


def test_labels_are_those_of_the_layer_looked_at() -> None:
    spec = with_fault(PLAIN, "store-row-zero", layers=(2,))
    assert cache_readout(view_of(spec, 1, layer=1)).labels[0].token_index == 0
    assert cache_readout(view_of(spec, 1, layer=2)).labels[0].token_index == 7


def test_row_zero_holds_the_newest_token_and_says_so() -> None:
    readout = cache_readout(view_of(with_fault(PLAIN, "store-row-zero"), 1))
    label = readout.labels[0]
    assert (label.token_index, label.claimed_token_index) == (7, 0)
    assert (label.position_id, label.claimed_position_id) == (7, 0)
    assert label.is_token_wrong
    assert label.is_position_foreign
    assert not label.is_position_wrong
    assert bool(readout.rows[0].is_new[0])
    assert readout.labels[7].token_index is None
    assert (readout.labels[7].position_id, readout.labels[7].claimed_position_id) == (None, 7)
    assert readout.labels[7].is_position_foreign
    assert readout.labels[7].is_token_wrong
    assert readout.missing == (0,)
    assert readout.sentence == (
        "slot 0 holds token 7; token 0 gone; slot 7 counted, never written; holds 7 of 12"
    )


def test_what_is_held_are_rows_and_not_the_length_that_is_told() -> None:
    """gauge-lies tells 1; a refusal that moves the length (cap-counter-first) adds no row."""
    lying = cache_readout(view_of(with_fault(WINDOW, "gauge-lies"), 3))
    assert lying.length != 8
    assert "holds 8 of 8" in lying.sentence
    refused = cache_readout(view_of(with_fault(FULL, "cap-counter-first"), 6))
    assert refused.length == 13
    assert refused.sentence.endswith("holds 12 of 12")


def test_a_row_that_the_reference_would_not_have_stored_is_marked_in_its_layers() -> None:
    """A decoded token that sees only slot 0 has the right row in layer 0 and in no other."""
    readout = cache_readout(view_of(with_fault(PLAIN, "mask-top-left"), 2))
    (row,) = readout.rows
    assert [np.flatnonzero(off).tolist() for off in row.is_off] == [[], [7, 8], [7, 8], [7, 8]]
    assert readout.sentence == (
        "holds 9 of 12; rows in slots 7, 8 differ from the reference's in layers 1–3"
    )


def test_a_row_that_is_not_a_number_says_so_from_the_layer_on_in_which_it_is_made() -> None:
    """A row of padding that sees nothing is made NaN by the softmax, and the layers above read it.

    Its own slot holds no token, but the rows of tokens that looked at it are no numbers either.
    """
    spec = replace(PLAIN, steps=0, requests=(Prefill(PROMPT_IDS, 3), Decode()))
    for step, n_rows in ((0, 7), (1, 8)):
        readout = cache_readout(view_of(with_fault(spec, "mask-nan-row"), step))
        n_nan = {
            layer: int((row.state == SlotState.NAN).sum())
            for row in readout.rows
            for layer in row.layers
        }
        assert n_nan[0] == 0
        assert n_nan[3] >= n_rows
    clean = cache_readout(view_of(spec, 1))
    assert not any((row.state == SlotState.NAN).any() for row in clean.rows)


def test_rows_are_the_references_where_nothing_is_wrong_or_nothing_is_judged() -> None:
    views = [view_of(spec, 4) for spec in (PLAIN, WINDOW, SINKS, RANKED, REPREFILL)]
    views.append(pending_view_of(with_fault(PLAIN, "mask-top-left"), 1))
    for view in views:
        assert not any(row.is_off.any() for row in cache_readout(view).rows)


def test_a_restarted_position_differs_from_what_the_policy_demands() -> None:
    readout = cache_readout(view_of(with_fault(PLAIN, "pos-restart"), 2))
    assert numbers(readout, "position_id")[6:9] == [6, 0, 0]
    assert numbers(readout, "expected_position_id")[6:9] == [6, 7, 8]
    assert [label.slot for label in readout.labels if label.is_position_wrong] == [7, 8]
    assert not any(label.is_token_wrong for label in readout.labels)


@pytest.mark.parametrize(
    ("spec", "step"),
    [
        (with_fault(spec, fault), step)
        for spec in (PLAIN, WINDOW, SINKS, REPREFILL)
        for fault in ("store-row-zero", "store-alias-in", "pos-restart", "mask-unwritten")
        for step in (1, 2, 3, 4)
    ],
)
@pytest.mark.parametrize("layer", [0, 2])
def test_each_slot_has_the_numbers_of_the_json_line(spec: RunSpec, step: int, layer: int) -> None:
    view = view_of(spec, step, layer=layer)
    labels = [label for label in cache_readout(view).labels if label.is_counted]
    told = [(label.slot, label.row, label.token_index, label.position_id) for label in labels]
    assert told == [
        (entry["slot"], entry["row"], entry["token_index"], entry["position_id"])
        for entry in live(view.records, step, layer)
    ]


def test_two_slots_with_one_token_complain_of_its_position_once() -> None:
    spec = with_fault(PLAIN, "store-alias-in", "pos-restart")
    readout = cache_readout(view_of(spec, 2))
    assert [label.token_index for label in readout.labels[7:9]] == [8, 8]
    assert readout.sentence.count("is 0, expected 8") == 1
    assert "position of slots 7, 8 is 0, expected 8" in readout.sentence


def test_a_window_keeps_slots_positions_and_tokens_apart() -> None:
    readout = cache_readout(view_of(WINDOW, 3))
    assert numbers(readout, "token_index") == [9, 1, 2, 3, 4, 5, 6, 7, 8]
    assert numbers(readout, "position_id") == [9, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [label.has_left for label in readout.labels].index(True) == 1
    assert not any(label.is_token_wrong or label.is_position_wrong for label in readout.labels)
    assert (readout.left, readout.missing) == ((1,), ())


def test_ranks_after_commit_are_the_right_positions_of_reassigned_sinks() -> None:
    readout = cache_readout(view_of(RANKED, 3))
    held = [label for label in readout.labels if label.is_counted]
    by_token = {label.token_index: label.position_id for label in held}
    assert by_token == {0: 0, 1: 1, 4: 2, 5: 3, 6: 4, 7: 5, 8: 6, 9: 7}
    assert not any(label.is_position_wrong for label in held)
    assert [label.slot for label in readout.labels if label.is_sink] == [0, 1]


@pytest.mark.parametrize(
    ("spec", "step"),
    [
        (PLAIN, 2),
        (WINDOW, 3),
        (RANKED, 3),
        (REPREFILL, 2),
        (PROBED, 2),
        (PROBE_LEFT, 2),
        (UNEVEN, 2),
        (with_fault(PLAIN, "pos-restart"), 2),
        (with_fault(PLAIN, "cap-early"), 2),
        (with_fault(WINDOW, "evict-off-by-one"), 3),
    ],
)
def test_the_numbers_shown_are_those_of_the_labels(spec: RunSpec, step: int) -> None:
    for view in (view_of(spec, step), pending_view_of(spec, step)):
        labels = cache_readout(view).labels
        slots = np.arange(len(labels))[::-1]
        shown, in_order = labels.numbers_of(slots), [labels[slot] for slot in slots.tolist()]
        for name in ("slot", "token_index", "position_id", "is_counted", "has_left"):
            assert getattr(shown, name) == [getattr(label, name) for label in in_order], name
        assert shown.is_token_wrong == [label.is_token_wrong for label in in_order]
        assert shown.is_position_wrong == [
            label.is_position_wrong or label.is_position_foreign for label in in_order
        ]
        assert labels.sinks_in(slots).tolist() == [label.is_sink for label in in_order]


def test_a_reprefilled_cache_counts_positions_from_zero() -> None:
    readout = cache_readout(view_of(REPREFILL, 2))
    assert numbers(readout, "token_index") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert numbers(readout, "position_id") == [0, 1, 2, 3, 4, 5, 6, 7]
    assert readout.left == (0,)
    assert not readout.has_equal_numbers


@pytest.mark.parametrize(
    ("spec", "step", "words", "is_wrong"),
    [
        (PLAIN, 1, "accepted", False),
        (FULL, 6, "refused: needs 1, 0 free of 12", False),
        (
            with_fault(FULL, "cap-early"),
            5,
            "refused: needs 1, 1 free of 12; should be accepted",
            True,
        ),
        (
            with_fault(UNEVEN, "store-uneven"),
            2,
            "accepted; should be refused: 2 keys and 1 value",
            True,
        ),
    ],
)
def test_the_outcome_stands_in_words_beside_the_right_one(
    spec: RunSpec, step: int, words: str, is_wrong: bool
) -> None:
    readout = cache_readout(view_of(spec, step))
    assert (readout.outcome, readout.is_outcome_wrong) == (words, is_wrong)


def test_a_length_that_moved_before_the_check_is_told_with_both_numbers() -> None:
    readout = cache_readout(view_of(with_fault(ROLLED_BACK, "cap-counter-first"), 6))
    assert (readout.length, readout.expected_length, readout.capacity) == (13, 12, 12)
    assert readout.n_slots == 13
    assert readout.labels[12].row is None
    assert readout.sentence.startswith("refused, as it should be; but length 12 → 13 of 12; ")
    assert "length is" not in readout.sentence


@pytest.mark.parametrize(
    ("spec", "step", "sentence"),
    [
        (PLAIN, 1, "holds 8 of 12"),
        (WINDOW, 1, "holds 8 of 8"),
        (
            WINDOW,
            3,
            "holds 8 of 8; token 1 left; "
            "slot 8, past the capacity of 8, takes a step's row before an old one leaves",
        ),
        (FULL, 6, "refused, as it should be; holds 12 of 12"),
        (
            with_fault(PLAIN, "pos-restart"),
            1,
            "position of slot 7 is 0, expected 7; holds 8 of 12; "
            "row in slot 7 differs from the reference's in every layer",
        ),
        (
            with_fault(FULL, "cap-early"),
            5,
            "refused: needs 1, 1 free of 12; should be accepted; token 11 should be held; "
            "holds 11 of 12",
        ),
    ],
)
def test_the_sentence_says_what_is_wrong_before_what_is_held(
    spec: RunSpec, step: int, sentence: str
) -> None:
    assert cache_readout(view_of(spec, step)).sentence == sentence


def test_a_refusal_without_a_verdict_is_told_as_it_is() -> None:
    sentence = cache_readout(pending_view_of(FULL, 6)).sentence
    assert sentence == "refused: needs 1, 0 free of 12; holds 12 of 12"


def test_a_stray_row_is_not_called_unwritten() -> None:
    """After the rollback, slot 10 still holds the bytes of a token that was taken back."""
    readout = cache_readout(view_of(with_fault(TWICE_REFUSED, "cap-counter-first"), 9))
    assert "slot 10 counted, but holding a row of no token" in readout.sentence


def test_a_slot_that_is_not_used_names_the_token_whose_bytes_it_still_holds() -> None:
    """Token 9 was taken back and read again, into slot 11; slot 9 has the same bytes."""
    readout = cache_readout(view_of(with_fault(TWICE_REFUSED, "cap-counter-first"), 9))
    assert [label.slot for label in readout.labels if label.token_index == 9] == [9, 11]
    assert [readout.labels[slot].position_id for slot in (9, 11)] == [9, 9]
    assert [readout.labels[slot].is_position_foreign for slot in (9, 11)] == [True, False]


def test_without_a_verdict_nothing_is_expected() -> None:
    readout = cache_readout(pending_view_of(with_fault(PLAIN, "pos-restart"), 1))
    assert readout.is_pending
    assert (readout.expected_length, readout.expected_seen, readout.missing) == (None, None, ())
    assert not any(label.is_position_wrong for label in readout.labels)
    assert readout.outcome == "accepted"


def test_a_token_text_stands_with_its_slot() -> None:
    labels = cache_readout(view_of(PLAIN, 0)).labels
    assert [label.text for label in labels[:8]] == ["W", "h", "o", "·", "i", "s", "·", None]


def test_no_stand_in_for_absent_leaves_the_readout() -> None:
    cases = ((with_fault(ROLLED_BACK, "cap-counter-first"), 7), (PROBED, 3), (PROBE_LEFT, 2))
    for spec, step in cases:
        readout = cache_readout(view_of(spec, step))
        names = ("row", "token_index", "claimed_token_index", "position_id")
        for label in readout.labels:
            assert all(getattr(label, name) is None or getattr(label, name) >= 0 for name in names)
        assert all((row.token_index[row.token_index < 0] == -1).all() for row in readout.rows)
        assert all(isinstance(row.state, np.ndarray) for row in readout.rows)


def test_a_row_that_is_counted_twice_is_held_once():
    readout = cache_readout(view_of(with_fault(PLAIN, "store-double-append"), 1))
    assert readout.length == 15
    assert readout.sentence == "length is 15, should be 8; holds 8 of 12"
