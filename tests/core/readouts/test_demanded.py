"""Arrays of the tokens that a policy demands: whatever was asked before, they are those asked."""

import random

import numpy as np
import pytest

from core.readouts.demanded import Demanded, Pairs

N_STEPS = 30


def full(step: int) -> Pairs:
    return tuple((token, token) for token in range(step))


def window(step: int) -> Pairs:
    return tuple((token, token) for token in range(max(0, step - 8), step))


def sinks(step: int) -> Pairs:
    return (*full(min(2, step)), *(pair for pair in window(step) if pair[0] >= 2))


def re_assigned(step: int) -> Pairs:
    return tuple((token, rank) for rank, (token, _) in enumerate(sinks(step)))


@pytest.mark.parametrize("policy", [full, window, sinks, re_assigned])
def test_each_step_has_its_own_pairs_in_whatever_order_steps_are_asked_for(policy) -> None:
    rnd, demanded = random.Random(3), Demanded()
    jumps = [rnd.randrange(N_STEPS) for _ in range(100)]
    for step in (*range(N_STEPS), *reversed(range(N_STEPS)), *jumps):
        tokens, positions = demanded.of(policy(step))
        assert list(zip(tokens.tolist(), positions.tolist(), strict=True)) == list(policy(step))
        assert tokens.dtype == positions.dtype == np.int64


def test_arrays_that_were_handed_out_stay_as_they_were() -> None:
    demanded = Demanded()
    handed_out = [(step, demanded.of(window(step))) for step in range(N_STEPS)]
    for step, (tokens, _) in handed_out:
        assert tokens.tolist() == [token for token, _ in window(step)]
