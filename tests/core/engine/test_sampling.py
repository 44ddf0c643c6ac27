from collections import Counter

import numpy as np
import pytest
import torch

from core.engine.sampling import Greedy, Sampled
from tests.helpers.runs import run, spec_for

LOGITS = np.array([0.0, 3.0, 1.0, 2.0, -1.0])


def _choices(sampling, logits=LOGITS, n=400):
    return Counter(sampling.choose(logits, step) for step in range(n))


def test_greedy_takes_the_largest_and_the_lowest_id_among_equals():
    assert Greedy().choose(LOGITS, 0) == 1
    assert Greedy().choose(np.array([1.0, 4.0, 4.0]), 0) == 1


def test_a_choice_depends_on_seed_and_step_alone():
    a, b = Sampled(1.0, None, None, seed=3), Sampled(1.0, None, None, seed=3)
    first = [a.choose(LOGITS, step) for step in range(50)]
    assert [b.choose(LOGITS, step) for step in reversed(range(50))] == first[::-1]
    other = Sampled(1.0, None, None, seed=4)
    assert [other.choose(LOGITS, step) for step in range(50)] != first


def test_choices_do_not_touch_the_global_generators():
    torch.manual_seed(5)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    Sampled(1.0, None, None, 0).choose(LOGITS, 3)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


@pytest.mark.parametrize(
    ("k", "allowed"), [(1, {1}), (2, {1, 3}), (3, {1, 2, 3}), (99, {0, 1, 2, 3, 4})]
)
def test_top_k_leaves_the_k_best(k, allowed):
    assert set(_choices(Sampled(2.0, k, None, 0), n=800)) == allowed


# Softmax of LOGITS at temperature 1: 0.636 (1), 0.234 (3), 0.086 (2), 0.032 (0), 0.012 (4).
@pytest.mark.parametrize(
    ("p", "allowed"),
    [(1e-9, {1}), (0.6, {1}), (0.64, {1, 3}), (0.86, {1, 3}), (0.88, {1, 2, 3})],
)
def test_top_p_leaves_the_fewest_tokens_that_hold_the_share(p, allowed):
    assert set(_choices(Sampled(1.0, None, p, 0), n=800)) == allowed


def test_both_cuts_hold_together():
    assert set(_choices(Sampled(1.0, 2, 0.99, 0))) == {1, 3}
    assert set(_choices(Sampled(1.0, 4, 0.6, 0))) == {1}


def test_frequencies_follow_the_softmax_at_the_temperature():
    counts = _choices(Sampled(2.0, None, None, 0), n=4000)
    right = np.exp(LOGITS / 2.0) / np.exp(LOGITS / 2.0).sum()
    for token, share in enumerate(right.tolist()):
        assert counts[token] / 4000 == pytest.approx(share, abs=0.03)


def test_a_low_temperature_is_nearly_greedy():
    assert set(_choices(Sampled(0.01, None, None, 0))) == {1}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_no_reason_to_stop(bad):
    logits = np.array([0.0, bad, 1.0])
    assert Sampled(1.0, None, None, 0).choose(logits, 0) == 1


def test_a_sampled_run_can_be_repeated():
    spec = spec_for("learned", capacity=20, steps=10, temperature=3.0, seed=11)
    tokens = [record.next_token for record in run(spec).records]
    assert [record.next_token for record in run(spec).records] == tokens
    other = spec_for("learned", capacity=20, steps=10, temperature=3.0, seed=12)
    assert [record.next_token for record in run(other).records] != tokens


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_very_large_and_very_small_logits_can_be_drawn_from(dtype):
    logits = np.array([-6e4, 0.0, 6e4], dtype=dtype)
    assert Sampled(0.1, None, 0.5, 0).choose(logits, 0) == 2
    assert Sampled(1e-300, None, None, 0).choose(logits, 0) == 2


def test_a_huge_seed_is_accepted():
    assert Sampled(1.0, None, None, 2**70).choose(LOGITS, 2**31) in range(5)


def test_near_a_temperature_of_zero_the_best_is_drawn():
    assert set(_choices(Sampled(1e-320, None, None, 0))) == {1}
