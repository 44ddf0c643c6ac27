"""The forward without a cache: masks, positions as seen by a query, gradients, number types."""

import numpy as np
import pytest
import torch

from core.model.config import ModelConfig
from core.model.uncached import uncached_logits
from core.model.weights import Weights, random_weights

TOKEN_IDS = torch.randint(0, 256, (1, 12), generator=torch.Generator().manual_seed(5))

RELATIVE = ["rope", "rope-one-kv-head", "alibi", "alibi-six-heads"]


@pytest.fixture(scope="module")
def double(weights: Weights) -> Weights:
    return weights.to(torch.float64, "cpu")


def test_a_text_in_a_batch_gives_what_it_gives_alone(double: Weights) -> None:
    batch = torch.cat((TOKEN_IDS, TOKEN_IDS.flip(1)))

    together = uncached_logits(double, batch)

    alone = torch.cat([uncached_logits(double, text[None]) for text in batch])
    assert torch.allclose(together, alone, rtol=0.0, atol=1e-12)


def test_later_tokens_do_not_reach_earlier_logits(double: Weights) -> None:
    whole = uncached_logits(double, TOKEN_IDS)

    start = uncached_logits(double, TOKEN_IDS[:, :5])

    assert torch.allclose(whole[:, :5], start, rtol=0.0, atol=1e-12)


def test_a_hidden_key_has_no_effect_and_a_shown_one_has(double: Weights) -> None:
    readable = np.tri(12, dtype=bool)
    readable[:, 3] = False
    readable[3, 3] = True
    other = TOKEN_IDS.clone()
    other[0, 3] = (other[0, 3] + 1) % 256

    hidden = [uncached_logits(double, ids, readable=readable)[:, 4:] for ids in (TOKEN_IDS, other)]
    shown = [uncached_logits(double, ids)[:, 4:] for ids in (TOKEN_IDS, other)]

    assert torch.equal(*hidden)
    assert not torch.allclose(*shown, rtol=0.0, atol=1e-3)


def test_a_query_that_may_read_nothing_gets_zeros_from_attention(double: Weights) -> None:
    """Then its logits are those of a model whose attention adds nothing but its output bias."""
    silent = double.map(torch.clone)
    for layer in silent.layers:
        layer.out_weight.zero_()
    readable = np.zeros((12, 12), dtype=bool)

    found = uncached_logits(double, TOKEN_IDS, readable=readable)

    assert torch.allclose(found, uncached_logits(silent, TOKEN_IDS), rtol=0.0, atol=1e-12)


def test_keys_placed_per_query_as_they_are_change_nothing(double: Weights) -> None:
    position_ids = np.arange(12) * 2 + 3
    as_seen = np.broadcast_to(position_ids, (12, 12))

    found = uncached_logits(double, TOKEN_IDS, position_ids, as_seen)

    expected = uncached_logits(double, TOKEN_IDS, position_ids)
    assert torch.allclose(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("config", RELATIVE, indirect=True)
def test_keys_placed_per_query_see_only_distances(double: Weights) -> None:
    """Query i at 0 and key j at j - i: the distances, and so the logits, of the plain text."""
    place = np.arange(12)
    as_seen = place[None, :] - place[:, None]

    found = uncached_logits(double, TOKEN_IDS, np.zeros(12, dtype=np.int64), as_seen)

    assert torch.allclose(found, uncached_logits(double, TOKEN_IDS), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("config", RELATIVE, indirect=True)
def test_a_key_moved_for_one_query_changes_that_query(double: Weights) -> None:
    as_seen = np.broadcast_to(np.arange(12), (12, 12)).copy()
    as_seen[6, 2] = 5

    moved = (
        uncached_logits(double, TOKEN_IDS, None, as_seen) - uncached_logits(double, TOKEN_IDS)
    ).abs()

    assert moved[0, :6].max() <= 1e-10
    assert moved[0, 6].max() > 1e-3


def test_read_only_arrays_are_taken_without_a_warning(double: Weights) -> None:
    readable = np.tri(12, dtype=bool)
    readable.setflags(write=False)
    position_ids = np.arange(12)
    position_ids.setflags(write=False)

    found = uncached_logits(double, TOKEN_IDS, position_ids, None, readable)

    assert torch.equal(found, uncached_logits(double, TOKEN_IDS))


def test_every_weight_gets_the_gradient_that_a_small_step_finds(config: ModelConfig) -> None:
    weights = random_weights(config, seed=2).to(torch.float64, "cpu")
    weights = weights.map(lambda tensor: tensor.requires_grad_())
    direction = torch.randn(12, config.vocab_size, generator=torch.Generator().manual_seed(0))

    def value() -> torch.Tensor:
        return (uncached_logits(weights, TOKEN_IDS)[0] * direction).sum()

    value().backward()

    for tensor in weights.tensors().values():
        assert tensor.grad is not None
        generator = torch.Generator().manual_seed(1)
        step = 1e-5 * torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator)
        with torch.no_grad():
            tensor.add_(step)
            above = value()
            tensor.sub_(2 * step)
            below = value()
            tensor.add_(step)
        expected = ((above - below) / 2).item()
        assert (tensor.grad * step).sum().item() == pytest.approx(expected, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(
    ("dtype", "band"), [(torch.float32, 1e-3), (torch.float16, 1.5), (torch.bfloat16, 8.0)]
)
def test_narrow_number_types_stay_near_float64(
    weights: Weights, dtype: torch.dtype, band: float
) -> None:
    narrow = weights.to(dtype, "cpu")

    found = uncached_logits(narrow, TOKEN_IDS)

    exact = uncached_logits(narrow.to(torch.float64, "cpu"), TOKEN_IDS)
    assert found.dtype == dtype
    assert (found - exact).abs().max().item() <= band
