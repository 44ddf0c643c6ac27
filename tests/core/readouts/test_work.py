"""Tokens computed with a cache and without one, counted by hand: prompts have seven tokens."""

import pytest

from core.readouts.work import work_readout
from tests.core.readouts.runs import CHUNKED, FULL, PLAIN, REPREFILL, ROLLED_BACK, view_of


def work(spec, step: int):
    found = work_readout(view_of(spec, step=step))
    return found.with_cache, found.without_cache


def test_a_decode_computes_one_token_and_would_read_the_whole_text_without_a_cache():
    assert work(PLAIN, 5) == (12, 7 + 8 + 9 + 10 + 11 + 12)


def test_only_steps_up_to_the_one_looked_at_are_counted():
    assert work(PLAIN, 1) == (8, 7 + 8)


def test_a_refused_step_computes_nothing():
    assert work(FULL, 6) == work(FULL, 5)


def test_a_prompt_in_chunks_would_be_read_once_without_a_cache():
    assert work(CHUNKED, 3) == (8, 7 + 8)


def test_under_reprefill_the_tokens_that_are_kept_are_computed_again():
    assert work(REPREFILL, 2) == (7 + 1 + 8, 7 + 8 + 8)


def test_a_rollback_computes_nothing_and_shortens_the_text():
    assert work(ROLLED_BACK, 7) == work(ROLLED_BACK, 6)
    before, without = work(ROLLED_BACK, 7)
    assert work(ROLLED_BACK, 8) == (before + 1, without + 10)


@pytest.mark.parametrize("step", [0, 3])
def test_the_sentence_says_both(step):
    with_, without = work(PLAIN, step)
    sentence = work_readout(view_of(PLAIN, step=step)).sentence
    assert sentence == f"tokens computed: {with_} with this cache, {without} without one"
