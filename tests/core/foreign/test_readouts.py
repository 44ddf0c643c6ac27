"""Beside hand-made tables: a trace of three calls, in which the second has wrong logits."""

import numpy as np
import pytest

from core.foreign.readouts import ForeignRun, token_text
from core.foreign.trace import ForeignTrace
from core.selection import Selection

# Call 0 reads 3 1 2, call 1 reads 0, call 2 reads 4. V = 5.
IDS, COUNTS = [3, 1, 2, 0, 4], [3, 1, 1]
RIGHT = 8.0 * np.eye(5)[[0, 1, 2]]
SAID = 8.0 * np.eye(5)[[0, 4, 2]]


def run(**more) -> ForeignRun:
    parts = {"engine": None, "dtype": "float64", "token_ids": np.array(IDS)}
    parts |= {"n_tokens": np.array(COUNTS), "logits": SAID, "reference": RIGHT, "spread": 0.0}
    return ForeignRun(ForeignTrace(**parts | more))


def at(step: int) -> Selection:
    return Selection(step=step)


def columns(row) -> list[tuple[int, int | None, str]]:
    return [(cell.token_index, cell.token_id, cell.state) for cell in row]


def test_each_call_is_a_point_with_the_verdict_of_its_logits():
    points = run().timeline(at(0)).points
    assert [point.n_tokens for point in points] == [3, 1, 1]
    assert [point.phase for point in points] == ["prefill", "decode", "decode"]
    assert [point.logits for point in points] == ["right", "wrong", "right"]
    assert [point.max_abs_error for point in points] == [0.0, 8.0, 0.0]


def test_the_first_wrong_call_is_named():
    assert run().first_wrong == 1
    assert "first wrong step: 1" in run().timeline(at(2)).sentence


def test_policy_and_mechanism_are_not_said_to_be_right():
    points = run().timeline(at(0)).points
    assert {(point.policy, point.mechanism) for point in points} == {(None, None)}


def test_without_a_reference_no_call_has_a_verdict_and_the_reason_is_said():
    bare = run(reference=None, unjudged="dropout was on")
    point = bare.timeline(at(1)).points[1]
    assert not point.is_judged
    assert not point.is_wrong
    assert bare.first_wrong is None
    assert "no verdict: dropout was on" in bare.timeline(at(1)).sentence
    assert bare.next_token(at(1)).state == "no reference"


def test_logits_that_are_no_numbers_are_wrong_and_have_no_size():
    said = SAID.copy()
    said[2, 0] = np.nan
    point = run(logits=said).timeline(at(2)).points[2]
    assert (point.logits, point.is_finite, point.max_abs_error) == ("wrong", False, None)


def test_the_text_after_a_call_is_what_was_read_and_the_token_that_follows():
    tokens = run().tokens(at(0))
    assert columns(tokens.run) == [(0, 3, "read"), (1, 1, "read"), (2, 2, "read"), (3, 0, "next")]
    assert tokens.read_now == (0, 2)


def test_after_the_last_call_the_largest_logit_follows():
    assert columns(run().tokens(at(2)).run)[-1] == (5, 2, "next")


def test_right_tokens_stand_where_a_call_ended():
    right = run().tokens(at(2)).right
    assert columns(right) == [(3, 0, "next"), (4, 1, "next"), (5, 2, "next")]


def test_a_wrong_choice_that_was_read_is_marked_and_the_right_one_is_not_called_missed():
    tokens = run().tokens(at(2))
    assert [cell.token_index for cell in tokens.run if cell.is_wrong] == [4]
    assert [cell.missed for cell in tokens.right] == [None, None, None]


def test_a_wrong_choice_in_whose_place_another_token_was_read_is_told_beside_the_right_one():
    tokens = run(token_ids=np.array([3, 1, 2, 0, 3])).tokens(at(2))
    assert not any(cell.is_wrong for cell in tokens.run)
    assert [cell.missed for cell in tokens.right] == [None, "#4", None]


def test_tokens_of_a_prompt_are_told_from_those_that_follow_a_call():
    cells = list(run().tokens(at(2)).run)
    assert [cell.is_prompt for cell in cells] == [True, True, True, False, False, False]
    assert [cell.step for cell in cells] == [0, 0, 0, 1, 2, 2]


def test_the_next_token_has_both_probabilities():
    rows = {row.token_id: row for row in run().next_token(at(1)).rows}
    share = np.exp(8) / (np.exp(8) + 4)
    assert rows[4].engine == pytest.approx(share)
    assert rows[1].reference == pytest.approx(share)
    assert rows[4].is_engine_choice
    assert rows[4].is_read_next
    assert rows[1].is_reference_choice


def test_a_wrong_choice_is_said_with_the_right_one():
    readout = run().next_token(at(1))
    assert readout.is_wrong_choice
    assert "logits wrong: largest error 8" in readout.sentence
    assert "right would be ‘#1’" in readout.sentence


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0, 1, 2, 3, 4], "positions 0–2"),
        ([0, 2, 1, 3, 4], "positions 0, 2, 1"),
        ([-1, -1, -1, 3, 4], "no position id given"),
        ([0, -1, 2, 3, 4], "positions 0, none, 2"),
    ],
)
def test_the_position_ids_of_a_call_are_told_as_they_were_given(given, words):
    assert words in run(position_ids=np.array(given)).line(0)


def test_the_line_of_a_call_says_what_it_read_and_what_the_cache_said():
    told = run(position_ids=np.arange(5), cache_length=np.array([3, -1, 5]))
    assert told.line(2) == "step 2 of 2 · reads ‘#4’ (token 4) · position 4 · cache length 5"
    assert "cache length" not in told.line(1)


def test_a_token_without_a_tokenizer_shows_as_its_id():
    assert token_text(42) == "#42"
