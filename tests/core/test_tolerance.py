"""The bands, and the measured errors that they must cover at least twice over."""

import random
from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from core.model.loading import LoadedModel
from core.model.weights import random_weights
from core.policy_oracle import PolicyOracle, PolicyRules
from core.reference import Reference, ReferenceRun
from core.spec import DTYPE_NAMES, RunSpec
from core.tolerance import field_band, gap, largest, logits_band, wrong_floor
from tests.helpers.runs import SCHEMES, run, tiny

EPS = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}
N_RUNS = 45
LAYER_FIELDS = ("keys", "values", "scores", "weights", "output", "residual")


@pytest.mark.parametrize(
    ("values", "reference", "expected"),
    [
        ([1.0, -2.0, 0.0], [3.0, -2.0, -0.5], [2.0, 0.0, 0.5]),
        ([np.inf, -np.inf, np.nan, 1.0], [np.inf, -np.inf, np.nan, 4.0], [0.0, 0.0, 0.0, 3.0]),
        (
            [np.inf, np.inf, np.nan, 1.0],
            [-np.inf, 2.0, 2.0, np.nan],
            [np.inf, np.inf, np.nan, np.nan],
        ),
        ([], [], []),
    ],
    ids=["finite", "the same without a number", "another without a number", "nothing"],
)
def test_the_gap_is_none_where_both_are_the_same_infinity_or_no_number(values, reference, expected):
    found = gap(np.array(values), np.array(reference))
    assert np.array_equal(found, np.array(expected), equal_nan=True)


def _some_spec(choose: random.Random, dtype: str) -> RunSpec:
    """A run of any scheme and policy."""
    scheme = choose.choice(SCHEMES)
    policy = choose.choice(("refuse", "window", "reprefill", "sinks"))
    n_prompt, capacity = choose.randint(1, 24), choose.randint(1, 16)
    keeps_sinks = policy == "sinks"
    return RunSpec(
        f"tiny-{scheme}",
        tuple(choose.randrange(256) for _ in range(n_prompt)),
        steps=10,
        policy=policy,
        capacity=n_prompt + 12 if policy == "refuse" else capacity,
        sinks=choose.randrange(capacity) if keeps_sinks else 0,
        reassign_positions=keeps_sinks and scheme != "learned" and choose.random() < 0.5,
        chunk=choose.choice([None, 1, 3, 5]),
        dtype=dtype,
    )


def _largest_errors(spec: RunSpec, loaded: LoadedModel) -> dict[str, float]:
    """For each field the largest error, as a multiple of eps times the largest right value."""
    found: dict[str, float] = defaultdict(float)
    weights = loaded.weights.to(getattr(torch, spec.dtype), "cpu")
    reference = Reference(loaded.config, weights.arrays())
    oracle = PolicyOracle(
        PolicyRules(
            spec.policy, spec.capacity, spec.sinks, spec.reassign_positions,
            loaded.config.position_limit,
        )
    )  # fmt: skip

    def compare(name: str, used: np.ndarray, right: np.ndarray) -> None:
        error = float(np.abs(used.astype(np.float64) - right).max())
        found[name] = max(found[name], error / (EPS[spec.dtype] * largest(right)))

    def compare_rows(name: str, used: np.ndarray, right: np.ndarray) -> None:
        """Each row [Hkv, ., D] by itself: so is it judged."""
        for row in range(right.shape[1]):
            compare(name, used[:, row], right[:, row])

    records = run(spec, loaded).records
    expected = [oracle.append(r.token_ids, engine_accepted=r.is_computed) for r in records]
    runs: dict[int, ReferenceRun] = {}
    for record, step in zip(records, expected, strict=True):
        if step.passage_id not in runs:
            runs[step.passage_id] = reference.forward(oracle.passage(step.passage_id), detail=True)
        right, row, n_rows = runs[step.passage_id], step.row, len(record.readable)
        assert row is not None
        assert record.logits is not None
        new = slice(row - n_rows + 1, row + 1)
        compare("logits", record.logits, right.logits[row])
        for number, layer in enumerate(record.layers):
            detail, mask = right.layers[number], layer.plan.mask
            columns = layer.plan.view_token_index - (record.token_index[-1] - row)
            compare_rows("keys", layer.new_keys, right.stored_keys[number][:, new])
            compare_rows("values", layer.new_values, right.values[number][:, new])
            for name, used, whole in (
                ("scores", layer.scores, detail.scores),
                ("weights", layer.weights, detail.weights),
            ):
                theirs = np.where(mask, whole[:, new][:, :, columns], 0)
                compare(name, np.where(mask, used, 0), theirs)
            compare("output", layer.output, detail.output[new])
            compare("residual", layer.residual, detail.residual[new])
    return found


@cache
def _measured(dtype: str) -> dict[str, float]:
    """The largest errors of a sample of correct runs."""
    choose = random.Random(7)
    worst: dict[str, float] = defaultdict(float)
    for _ in range(N_RUNS):
        spec = _some_spec(choose, dtype)
        loaded = tiny(spec.model.removeprefix("tiny-"))
        for name, error in _largest_errors(spec, loaded).items():
            worst[name] = max(worst[name], error)
    return worst


@cache
def _deep(scheme: str) -> LoadedModel:
    """Twelve layers of random weights: rounding grows with depth, most under RoPE."""
    loaded = tiny(scheme)
    config = replace(loaded.config, n_layers=12)
    return replace(loaded, config=config, weights=random_weights(config, seed=5))


def _multiple(band: float, dtype: str) -> float:
    return band / EPS[dtype]


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_logits_of_correct_runs_stay_below_half_of_what_is_called_wrong(dtype):
    assert _measured(dtype)["logits"] < _multiple(wrong_floor(dtype, np.ones(1)), dtype) / 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logits_of_correct_runs_stay_below_half_of_the_band(dtype):
    assert _measured(dtype)["logits"] < _multiple(logits_band(dtype, np.ones(1)), dtype) / 2


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
@pytest.mark.parametrize("field", LAYER_FIELDS)
def test_values_inside_the_layers_of_correct_runs_stay_below_half_of_the_band(field, dtype):
    assert _measured(dtype)[field] < _multiple(field_band(dtype, np.ones(1)), dtype) / 2


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_twelve_layers_of_random_weights_still_fit_the_bands(dtype, scheme):
    choose = random.Random(3)
    ids = tuple(choose.randrange(256) for _ in range(60))
    found = _largest_errors(RunSpec(f"tiny-{scheme}", ids, steps=6, dtype=dtype), _deep(scheme))
    assert found.pop("logits") < _multiple(logits_band(dtype, np.ones(1)), dtype)
    assert max(found.values()) < _multiple(field_band(dtype, np.ones(1)), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_smallest_difference_that_a_fault_makes_is_far_outside_the_band(dtype):
    # The mildest fault known changes a logit by 0.5 where logits are of the size of 15.
    assert logits_band(dtype, np.full(3, 15.0)) < 0.5 / 100


@pytest.mark.parametrize(
    ("values", "size"),
    [
        pytest.param([0.5, -0.25], 1.0, id="at least one"),
        pytest.param([2.0, -7.5], 7.5, id="the sign does not matter"),
        pytest.param([3.0, np.inf, -np.inf, np.nan], 3.0, id="finite values only"),
        pytest.param([np.nan], 1.0, id="none is finite"),
        pytest.param([], 1.0, id="nothing"),
    ],
)
def test_a_band_is_as_wide_as_the_largest_value_is_large(values, size):
    array = np.array(values)
    assert largest(array) == size
    for dtype, eps in EPS.items():
        assert logits_band(dtype, array) == size * logits_band(dtype, np.ones(1))
        assert field_band(dtype, array) == size * field_band(dtype, np.ones(1))
        assert wrong_floor(dtype, array) == size * wrong_floor(dtype, np.ones(1))
        assert wrong_floor(dtype, array) >= logits_band(dtype, array)
        assert logits_band(dtype, np.ones(1)) % eps == 0
