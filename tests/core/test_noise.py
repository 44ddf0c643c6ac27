"""What rounding alone does, measured by a forward without a cache."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.model.loading import LoadedModel
from core.model.weights import weights_from_tensors
from core.noise import ROWS, Forward
from core.reference import LooseRows, Passage, Reference
from tests.helpers.runs import SCHEMES, tiny

N = 12
IDS = np.arange(3, 3 + N)
FIRST = 5


def text(n: int = N, **changes: object) -> Passage:
    return replace(Passage(IDS[:n], np.arange(n), None, np.tri(n, dtype=bool)), **changes)


def with_loose_rows(loaded: LoadedModel) -> Passage:
    """Two rows without a token, which queries 7 and later read."""
    config = loaded.config
    shape = (config.n_layers, config.n_kv_heads, 2, config.d_head)
    rows = np.random.default_rng(5).standard_normal((2, *shape))
    return text(loose=(LooseRows(rows[0], rows[1], 7),))


def ranked(loaded: LoadedModel) -> Passage:
    """A window of 6 whose keys are seen at their ranks."""
    rows = np.arange(N)
    seen_at = np.clip(rows[None] - np.maximum(0, rows[:, None] - 5), 0, 5)
    readable = np.tri(N, dtype=bool) & ~np.tri(N, k=-6, dtype=bool)
    return text(
        position_ids=np.minimum(rows, 5), key_position_ids=seen_at, readable=readable
    )  # fmt: skip


def measured(loaded: LoadedModel, passage: Passage, dtype: torch.dtype, **settings: int):
    """The noise, and that of a detail, of an engine that computes in `dtype`."""
    weights = loaded.weights.to(dtype, "cpu")
    reference = Reference(loaded.config, weights.arrays())
    forward = Forward(weights, is_narrowed=False, **settings)
    run = reference.forward(passage, first_row=FIRST, residuals_from=0)
    detail = reference.forward(passage, first_row=FIRST, detail=True)
    return forward.noise(passage, run), forward.noise_of_detail(passage, detail)


@pytest.mark.parametrize(
    ("scheme", "passage"),
    [
        *((scheme, lambda loaded: text()) for scheme in SCHEMES),
        *((scheme, with_loose_rows) for scheme in SCHEMES),
        ("rope", ranked),
        ("alibi", ranked),
    ],
)
def test_in_double_precision_every_tensor_is_nearly_that_of_the_reference(scheme, passage):
    loaded = tiny(scheme)
    noise, detail = measured(loaded, passage(loaded), torch.float64)
    layers = loaded.config.n_layers
    assert set(noise.layers) == set(ROWS)
    assert all(errors.shape == (layers, N) for errors in noise.layers.values())
    assert set(detail) == {"scores", "weights", "output", "residual"}
    assert all(errors.shape == (layers, N - FIRST) for errors in detail.values())
    found = [noise.logits, *noise.layers.values(), *detail.values()]
    assert 0 < max(float(errors.max()) for errors in found) < 1e-11


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_narrower_number_type_makes_more_noise(scheme):
    wide, wide_detail = measured(tiny(scheme), text(), torch.float32)
    noise, detail = measured(tiny(scheme), text(), torch.bfloat16)
    assert noise.logits.max() > 1000 * wide.logits.max()
    for name in ROWS:
        assert (noise.layers[name].max(axis=1) > 1000 * wide.layers[name].max(axis=1)).all()
    for name, errors in detail.items():
        assert (errors.max(axis=1) > 1000 * wide_detail[name].max(axis=1)).all()


def test_each_error_stands_at_its_row_and_layer():
    loaded = tiny("rope")
    reference = Reference(loaded.config, loaded.weights.arrays())
    run = reference.forward(text(), first_row=FIRST, residuals_from=2)
    moved = [values.copy() for values in run.values]
    moved[1][0, 4, 2] += 0.5
    residuals = [residual.copy() for residual in run.residuals]
    residuals[3][1, 0] -= 0.25
    logits = run.logits.copy()
    logits[2, 9] += 0.125
    changed = replace(run, values=tuple(moved), residuals=tuple(residuals), logits=logits)
    weights = loaded.weights.to(torch.float64, "cpu")
    noise = Forward(weights, is_narrowed=False).noise(text(), changed)
    values, residual = noise.layers["values"], noise.layers["residual"]
    assert values[1, 4] == pytest.approx(0.5)
    assert residual[3, FIRST + 1] == pytest.approx(0.25)
    assert noise.logits[2] == pytest.approx(0.125)
    for errors, size in ((values, 0.5), (residual, 0.25), (noise.logits, 0.125)):
        assert np.sort(errors.ravel())[-2] < size / 1e6


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shaken_forwards_show_more_and_never_less(dtype):
    once, once_detail = measured(tiny("alibi"), text(), dtype)
    shaken, shaken_detail = measured(tiny("alibi"), text(), dtype, n_shaken=8)
    pairs = [(once.logits, shaken.logits)]
    pairs += [(once.layers[name], shaken.layers[name]) for name in ROWS]
    pairs += [(once_detail[name], shaken_detail[name]) for name in once_detail]
    for less, more in pairs:
        assert (more >= 0.5 * less).all()  # other shapes are rounded in another order
        assert less.sum() < more.sum() < 20 * less.sum()


def test_what_follows_a_row_does_not_change_how_it_is_shaken():
    short, _ = measured(tiny("learned"), text(8), torch.float64, n_shaken=3)
    long, _ = measured(tiny("learned"), text(), torch.float64, n_shaken=3)
    for name in ROWS:
        of_short = short.layers[name][:, :8]
        assert np.allclose(of_short, long.layers[name][:, :8], rtol=0.5, atol=1e-15)


def test_where_the_number_type_overflows_the_noise_is_infinite():
    loaded = tiny("learned")
    names = ("layers.2.up_weight", "layers.2.down_weight")
    tensors = loaded.weights.tensors()
    tensors = {**tensors, **{name: 3e3 * tensors[name] for name in names}}
    weights = weights_from_tensors(loaded.config, tensors)
    noise, _ = measured(replace(loaded, weights=weights), text(), torch.float16)
    assert np.isfinite(noise.layers["residual"][:2]).all()
    assert np.isinf(noise.layers["residual"][2:, FIRST:]).all()
    assert np.isinf(noise.logits).all()
