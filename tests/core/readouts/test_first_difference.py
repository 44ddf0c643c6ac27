from dataclasses import replace

import numpy as np
import pytest

from core.faults.catalog import find_faults
from core.readouts.first_difference import FirstDifferenceReadout, first_difference_readout
from core.selection import Selection
from core.spec import RunSpec
from core.verdict import Difference
from tests.core.readouts.runs import (
    FULL,
    PLAIN,
    UNEVEN,
    WINDOW,
    pending_view_of,
    view_of,
    with_fault,
)
from tests.helpers.scenarios import scenario_spec

CASES = {
    "pos-restart": (
        PLAIN,
        "step 1: position ids: token 7 was given position id 0, expected 7",
        Selection(step=1, token_index=7),
    ),
    "mask-top-left": (
        PLAIN,
        "step 1: mask, layer 0: token 7 sees token 0, expected 0–7",
        Selection(step=1),
    ),
    "mask-unwritten": (
        PLAIN,
        "step 0: mask, layer 0: token 0 sees token 0 and 5 rows of no token, expected 0",
        Selection(step=0),
    ),
    "ring-shuffle": (
        WINDOW,
        "step 2: mask, layer 0: token 8 sees the right rows out of token order: 8, 1–7, "
        "expected 1–8",
        Selection(step=2),
    ),
    "store-row-zero": (
        PLAIN,
        "step 1: keys, layer 0, head 0: slot 0 stands for token 0 and holds the row of token 7; "
        "1 more row likewise",
        Selection(step=1, slot=0, token_index=7),
    ),
    "cap-early": (
        FULL,
        "step 5: refused: needs 1, 1 free of 12; should be accepted",
        Selection(step=5),
    ),
    "cap-counter-first": (
        FULL,
        "step 6: refused, as it should be; but length 13 of 12, expected 12",
        Selection(step=6),
    ),
    "evict-newest": (
        WINDOW,
        "step 2: contents: holds tokens 0–6, 8; should hold tokens 1–8",
        Selection(step=2, token_index=0, slot=0),
    ),
    "store-uneven": (
        UNEVEN,
        "step 2: accepted; should be refused: 2 keys and 1 value",
        Selection(step=2),
    ),
}


@pytest.mark.parametrize("fault", CASES)
def test_the_first_difference_is_told_with_its_numbers(fault: str) -> None:
    spec, sentence, target = CASES[fault]
    readout = first_difference_readout(view_of(with_fault(spec, fault), 0))
    assert (readout.state, readout.step) == ("wrong", target.step)
    assert readout.difference == sentence
    assert readout.target == target


def test_a_difference_in_one_layer_leads_to_that_layer() -> None:
    view = view_of(with_fault(PLAIN, "store-row-zero", layers=(2,)), 0)
    readout = first_difference_readout(view)
    assert readout.target == Selection(step=1, layer=2, slot=0, token_index=7)
    assert readout.difference.startswith("step 1: keys, layer 2, head 0: slot 0 stands for token 0")


def words_of(spec: RunSpec, difference: Difference) -> str:
    view = view_of(spec, 0)
    wrong = replace(view.verdicts[1], mechanism="wrong", first_difference=difference)
    return first_difference_readout(replace(view, verdicts={**view.verdicts, 1: wrong})).difference


def test_a_difference_of_a_tensor_is_told_with_layer_head_and_largest_error() -> None:
    assert words_of(PLAIN, Difference(1, 3, "scores", 2.5, 0.00012)) == (
        "step 1: scores, layer 1, head 3: the attention scores are off by 2.5 (equal up to 0.00012)"
    )
    assert words_of(PLAIN, Difference(1, None, "residual", float("nan"), 0.5)) == (
        "step 1: residual, layer 1: the output of the layer is not finite (equal up to 0.5)"
    )
    assert words_of(PLAIN, Difference(1, 0, "keys", 3.0, 0.5)) == (
        "step 1: keys, layer 1, head 0: the keys read are off by 3 (equal up to 0.5)"
    )


def _holding(entries: list[tuple[int, int]]) -> FirstDifferenceReadout:
    """A run of which step 1 ends with these (token, position id) in slots 10, 11 and so on."""
    view = view_of(replace(PLAIN, prompt_ids=(65, 66), capacity=8, steps=2), 0)
    record, verdict = view.records[1], view.verdicts[1]
    tokens, places = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    slots = np.arange(len(tokens)) + 10
    ledger = replace(
        record.ledger,
        slot=slots,
        token_index=tokens,
        position_id=places,
        token_id=np.zeros_like(tokens),
        length=len(tokens),
    )
    records = (view.records[0], replace(record, ledger=ledger), *view.records[2:])
    wrong = replace(verdict, policy="wrong", first_difference=Difference(None, None, "contents"))
    verdicts = {**view.verdicts, 1: wrong}
    return first_difference_readout(replace(view, records=records, verdicts=verdicts))


@pytest.mark.parametrize(
    ("entries", "words", "target"),
    [
        ([(0, 0), (1, 1), (3, 3)], "holds tokens 0, 1, 3; should hold tokens 0–2", (3, 12)),
        ([(0, 0), (2, 2)], "holds tokens 0, 2; should hold tokens 0–2", (1, None)),
        ([(2, 2)], "holds token 2; should hold tokens 0–2", (0, None)),
        ([(-1, -1)], "holds no token; should hold tokens 0–2", (0, None)),
        ([(0, 0), (1, 1), (2, 0)], "holds token 2 at position id 0; should be 2", (2, 12)),
        (
            [(0, 1), (1, 2), (2, 3)],
            "holds token 0 at position id 1; should be 0, and 2 more tokens wrongly",
            (0, 10),
        ),
    ],
    ids=["another", "one lacking", "one of three", "none", "position", "positions"],
)
def test_what_is_held_wrongly_is_told_by_tokens_and_positions(entries, words, target) -> None:
    readout = _holding(entries)
    assert readout.difference == f"step 1: contents: {words}"
    token, slot = target
    assert readout.target == Selection(step=1, token_index=token, slot=slot)


def test_a_difference_that_has_no_number_is_still_told() -> None:
    assert words_of(PLAIN, Difference(0, 1, "weights")) == (
        "step 1: weights, layer 0, head 1: the attention weights are off"
    )


def test_a_right_run_says_which_steps_were_judged() -> None:
    readout = first_difference_readout(view_of(PLAIN, 2))
    assert (readout.state, readout.step, readout.target) == ("right", None, None)
    assert readout.sentence == "nothing is wrong in steps 0–5"


def test_pending_steps_are_never_counted_as_right() -> None:
    assert first_difference_readout(pending_view_of(PLAIN, 2)).sentence == "6 steps pending"
    view = view_of(PLAIN, 2)
    some = {step: verdict for step, verdict in view.verdicts.items() if step < 2}
    readout = first_difference_readout(replace(view, verdicts=some))
    assert (readout.state, readout.n_pending) == ("pending", 4)
    assert readout.sentence == "nothing is wrong in 2 steps, 4 pending"


def test_a_step_that_is_wrong_without_a_difference_says_which_verdict_is() -> None:
    view = view_of(PLAIN, 0)
    odd = replace(view.verdicts[2], mechanism="wrong")
    readout = first_difference_readout(replace(view, verdicts={**view.verdicts, 2: odd}))
    assert readout.sentence == (
        "step 2: mechanism wrong, and no recorded field differs beyond its band"
    )


def test_the_mechanism_stands_before_the_difference_and_is_accounted_for() -> None:
    readout = first_difference_readout(view_of(with_fault(PLAIN, "pos-restart"), 0))
    assert readout.mechanism == "position ids start again at 0: the past is not added"
    assert readout.sentence == f"{readout.mechanism} · {readout.difference}"
    assert readout.account[0] == f"{readout.mechanism} (like pos-restart)"
    assert any("token 7 was given position id 0; expected 7" in line for line in readout.account)


def test_two_mechanisms_are_named_together() -> None:
    view = view_of(with_fault(PLAIN, "pos-restart", "mask-top-left"), 0)
    mechanism = first_difference_readout(view).mechanism
    assert mechanism is not None
    assert mechanism.count("; and ") == 1


def test_without_a_known_mechanism_the_difference_stands_alone() -> None:
    view = view_of(PLAIN, 0)
    odd = replace(view.verdicts[2], mechanism="wrong")
    readout = first_difference_readout(replace(view, verdicts={**view.verdicts, 2: odd}))
    assert (readout.mechanism, readout.account) == (None, ())
    assert readout.sentence == readout.difference


def test_a_decision_that_fits_no_known_mechanism_is_named_all_the_same() -> None:
    readout = _holding([(0, 0), (1, 1), (3, 3)])
    assert readout.mechanism == (
        "other rows are held after the step than the policy says; no known mechanism fits"
    )
    assert readout.sentence == f"{readout.mechanism} · {readout.difference}"
    assert readout.account[0] == readout.mechanism


def test_rows_whose_keys_are_right_are_not_said_to_be_no_token_s() -> None:
    spec = scenario_spec(find_faults("beam-keys-only")[0].shows_in, "learned")
    view = view_of(with_fault(spec, "beam-keys-only"), 5)
    assert first_difference_readout(view).sentence.endswith(
        "step 5: values, layer 0, head 0: slot 7 stands for token 7 and holds its own key with "
        "another value"
    )
