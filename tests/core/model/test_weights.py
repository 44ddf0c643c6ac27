"""Random models: repeatable, uneven, and laid out as promised."""

import numpy as np
import pytest
import torch

from core.model.names import tiny_configs
from core.model.uncached import uncached_logits
from core.model.weights import Weights, random_weights, weights_from_tensors

TINY = tiny_configs()


@pytest.fixture(params=TINY, scope="module")
def tiny(request: pytest.FixtureRequest) -> Weights:
    return random_weights(TINY[request.param], seed=1)


def test_one_seed_gives_one_model(tiny: Weights) -> None:
    again = random_weights(tiny.config, seed=1).arrays()

    assert all(np.array_equal(again[name], array) for name, array in tiny.arrays().items())


def test_another_seed_gives_another_model(tiny: Weights) -> None:
    other = random_weights(tiny.config, seed=2).arrays()

    assert not any(np.array_equal(other[name], array) for name, array in tiny.arrays().items())


def test_the_random_numbers_are_the_same_on_every_machine() -> None:
    """The first number that PCG64 draws from seed 0, in any version of numpy, is 0.12573022."""
    found = random_weights(TINY["tiny-rope"], seed=0).embedding[0, 0].item()

    assert found == pytest.approx(0.12573022 * 5.0 / np.sqrt(32), rel=1e-6)


def test_logits_spread_by_about_five(tiny: Weights) -> None:
    token_ids = torch.randint(0, 256, (4, 64), generator=torch.Generator().manual_seed(0))

    assert 4.0 < uncached_logits(tiny, token_ids).std().item() < 6.0


def test_greedy_text_does_not_repeat_one_token(tiny: Weights) -> None:
    token_ids = torch.tensor([[84, 111, 109]])
    for _ in range(16):
        chosen = uncached_logits(tiny, token_ids)[:, -1:].argmax(-1)
        token_ids = torch.cat((token_ids, chosen), 1)

    assert len(set(token_ids[0, 3:].tolist())) >= 4


def test_attention_is_uneven(tiny: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    """On average a query's weights are those of at most half of the keys that it may read."""
    seen: list[torch.Tensor] = []
    softmax = torch.Tensor.softmax

    def remembered(scores: torch.Tensor, dim: int) -> torch.Tensor:
        seen.append(softmax(scores, dim))
        return seen[-1]

    monkeypatch.setattr(torch.Tensor, "softmax", remembered)
    token_ids = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(0))
    uncached_logits(tiny, token_ids)

    for weights in seen:
        last = weights[:, :, -1].double().clamp_min(1e-300)
        n_keys = (-(last * last.log()).sum(-1)).exp()
        assert n_keys.mean().item() < 32


def test_the_head_is_a_contiguous_copy_of_its_own(tiny: Weights) -> None:
    assert tiny.head.is_contiguous()
    assert tiny.head.data_ptr() != tiny.embedding.data_ptr()
    is_tied = torch.equal(tiny.head, tiny.embedding.T)
    assert is_tied == (tiny.config.scheme != "rope")


EXPECTED_SHAPES = {
    "embedding": (256, 32),
    "final_norm_weight": (32,),
    "head": (32, 256),
    "layers.3.attn_norm_weight": (32,),
    "layers.3.out_weight": (32, 32),
    "layers.3.mlp_norm_weight": (32,),
    "layers.3.up_weight": (32, 128),
    "layers.3.down_weight": (128, 32),
}
EXPECTED_MORE = {
    "tiny-learned": {
        "position_embedding": (256, 32),
        "final_norm_bias": (32,),
        "layers.3.attn_norm_bias": (32,),
        "layers.3.qkv_weight": (32, 96),
        "layers.3.qkv_bias": (96,),
        "layers.3.out_bias": (32,),
        "layers.3.mlp_norm_bias": (32,),
        "layers.3.up_bias": (128,),
        "layers.3.down_bias": (32,),
    },
    "tiny-rope": {"layers.3.qkv_weight": (32, 64), "layers.3.gate_weight": (32, 128)},
    "tiny-alibi": {"layers.3.qkv_weight": (32, 96)},
}


def test_a_family_has_its_tensors_and_no_others(tiny: Weights) -> None:
    others = ("layers.0.", "layers.1.", "layers.2.")
    found = {
        name: array.shape for name, array in tiny.arrays().items() if not name.startswith(others)
    }

    assert found == EXPECTED_SHAPES | EXPECTED_MORE[tiny.config.name]


def test_arrays_are_float64_copies(tiny: Weights) -> None:
    double = tiny.to(torch.float64, "cpu")

    arrays = double.arrays()
    arrays["embedding"][0, 0] = 99.0

    assert double.embedding[0, 0].item() != 99.0
    assert {array.dtype for array in tiny.arrays().values()} == {np.dtype(np.float64)}


def test_tensors_make_the_model_again(tiny: Weights) -> None:
    tensors = tiny.tensors()

    again = weights_from_tensors(tiny.config, tensors).tensors()

    assert again.keys() == tensors.keys()
    assert all(again[name] is tensor for name, tensor in tensors.items())


def test_a_model_moves_whole_to_another_number_type(tiny: Weights) -> None:
    narrow = tiny.to(torch.bfloat16, "cpu")

    assert {tensor.dtype for tensor in narrow.tensors().values()} == {torch.bfloat16}
    assert narrow.dtype == torch.bfloat16
    assert narrow.device == torch.device("cpu")
