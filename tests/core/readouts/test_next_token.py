import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from core.readouts.next_token import N_BEST, next_token_readout, probabilities, share_words
from core.readouts.words import are_no_numbers
from core.verdict import StepVerdict
from tests.core.readouts.runs import (
    CHUNKED,
    FORCED,
    FULL,
    PLAIN,
    ROLLED_BACK,
    pending_view_of,
    view_of,
    with_fault,
)

TOP_LEFT = with_fault(PLAIN, "mask-top-left")


def test_shares_are_the_softmax_of_both_logits() -> None:
    view = view_of(TOP_LEFT, 2)
    verdict, record = view.verdicts[2].logits, view.records[2]
    assert verdict is not None
    assert record.logits is not None
    engine = torch.softmax(torch.tensor(record.logits, dtype=torch.float64), 0).numpy()
    right = torch.softmax(torch.tensor(verdict.reference), 0).numpy()
    for row in next_token_readout(view).rows:
        assert row.engine == pytest.approx(engine[row.token_id], rel=1e-12)
        assert row.reference == pytest.approx(right[row.token_id], rel=1e-12)


def test_rows_are_the_best_of_both_together_the_engine_s_largest_first() -> None:
    view = view_of(TOP_LEFT, 2)
    verdict, logits = view.verdicts[2].logits, view.records[2].logits
    assert verdict is not None
    assert logits is not None
    best = {*np.argsort(-logits)[:N_BEST].tolist(), *np.argsort(-verdict.reference)[:N_BEST]}
    rows = next_token_readout(view).rows
    assert {row.token_id for row in rows} == best
    assert [row.engine for row in rows] == sorted((row.engine for row in rows), reverse=True)


def test_both_choices_are_marked_and_a_wrong_one_is_told() -> None:
    view = view_of(TOP_LEFT, 2)
    verdict, record = view.verdicts[2].logits, view.records[2]
    assert verdict is not None
    readout = next_token_readout(view)
    (engine,) = [row for row in readout.rows if row.is_engine_choice]
    (right,) = [row for row in readout.rows if row.is_reference_choice]
    assert engine.token_id == record.predicted
    assert right.token_id == verdict.reference_token
    assert readout.is_wrong_choice
    assert f"best ‘{engine.text}’ " in readout.sentence
    assert f"right would be ‘{right.text}’" in readout.sentence


def test_the_verdict_gives_error_and_both_thresholds() -> None:
    readout = next_token_readout(view_of(TOP_LEFT, 1))
    assert readout.verdict == (
        "logits wrong: largest error 14.4; right up to 0.00046; wrong above 0.00046"
    )
    assert readout.standing == "wrong"


def test_a_right_step_agrees() -> None:
    readout = next_token_readout(view_of(PLAIN, 1))
    assert not readout.is_wrong_choice
    assert "the reference agrees" in readout.sentence
    assert readout.how == "greedy"
    assert sum(row.is_read_next for row in readout.rows) == 1


def test_without_a_verdict_there_is_no_right_share() -> None:
    readout = next_token_readout(pending_view_of(PLAIN, 1))
    assert readout.state == "pending"
    assert {row.reference for row in readout.rows} == {None}
    assert readout.verdict.startswith("verdict pending")
    assert not readout.is_wrong_choice


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (view_of(FULL, 6), "nothing was computed in this step: it was refused"),
        (view_of(ROLLED_BACK, 7), "nothing was computed: a rollback runs no model"),
    ],
    ids=["refused", "rollback"],
)
def test_a_step_that_computes_nothing_says_why(view, words: str) -> None:
    readout = next_token_readout(view)
    assert (readout.state, readout.rows, readout.sentence) == ("nothing", (), words)


def test_a_forced_token_has_a_row_though_it_is_unlikely() -> None:
    readout = next_token_readout(view_of(FORCED, 1))
    (forced,) = [row for row in readout.rows if row.is_read_next]
    assert (forced.token_id, readout.how) == (65, "forced")
    assert "forced ‘A’" in readout.sentence


def test_inside_a_prompt_the_next_token_is_the_prompt_s() -> None:
    readout = next_token_readout(view_of(CHUNKED, 0))
    assert readout.how == "prompt"
    assert "the prompt goes on with" in readout.sentence


def test_a_sampled_token_is_told_apart_from_the_best() -> None:
    view = view_of(replace(PLAIN, temperature=1.5, seed=3), 1)
    readout = next_token_readout(view)
    assert readout.how == "sampled"
    (read,) = [row for row in readout.rows if row.is_read_next]
    assert read.token_id == view.records[1].next_token


def test_a_step_that_should_have_read_nothing_has_no_reference() -> None:
    view = view_of(PLAIN, 1)
    verdict: StepVerdict = replace(view.verdicts[1], logits=None)
    readout = next_token_readout(replace(view, verdicts={**view.verdicts, 1: verdict}))
    assert readout.state == "no reference"
    assert "there is no reference" in readout.sentence


def test_logits_that_are_no_numbers_give_no_shares() -> None:
    logits = np.array([1.0, np.nan, 2.0], dtype=np.float32)
    assert np.isnan(probabilities(logits)).all()
    assert share_words(math.nan) == "NaN"


def test_shares_have_four_digits_and_none_is_written_as_nothing() -> None:
    assert [share_words(share) for share in (1.0, 0.39706, 0.0001, 0.00001, 0.0, None)] == [
        "1.0000",
        "0.3971",
        "0.0001",
        "<1e-4",
        "0.0000",
        "…",
    ]


def test_where_the_logits_are_no_numbers_no_token_is_called_best() -> None:
    view = view_of(PLAIN, 1)
    nothing = np.full(256, np.nan, dtype=np.float32)
    record = replace(view.records[1], logits=nothing, predicted=0, next_token=0)
    readout = next_token_readout(replace(view, records=(view.records[0], record), verdicts={}))
    assert are_no_numbers(record)
    assert readout.sentence.endswith(
        "; the logits are no numbers: no token is best, out comes ‘<0x00>’"
    )


def test_one_infinite_logit_is_no_best_token_either_and_minus_infinity_does_no_harm() -> None:
    record = view_of(PLAIN, 1).records[1]
    for place, is_none_best in ((np.inf, True), (np.nan, True), (-np.inf, False)):
        logits = np.zeros(256, dtype=np.float32)
        logits[7] = place
        assert are_no_numbers(replace(record, logits=logits)) == is_none_best
    assert not are_no_numbers(replace(record, logits=None))
