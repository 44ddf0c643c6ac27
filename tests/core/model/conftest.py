"""Models of every family, small and random, and the peer that must compute the same."""

from dataclasses import replace

import pytest

from core.model.config import ModelConfig
from core.model.names import tiny_configs
from core.model.weights import Weights, random_weights

TINY = tiny_configs()
CASES = {
    "learned": TINY["tiny-learned"],
    "learned-exact-gelu": replace(TINY["tiny-learned"], activation="gelu", d_mlp=40, norm_eps=1e-3),
    "rope": TINY["tiny-rope"],
    "rope-one-kv-head": replace(TINY["tiny-rope"], n_kv_heads=1, rope_theta=500_000.0),
    "rope-own-kv-heads": replace(TINY["tiny-rope"], n_kv_heads=4),
    "rope-wide-heads": replace(TINY["tiny-rope"], d_head=12, norm_eps=1e-6),
    "alibi": TINY["tiny-alibi"],
    "alibi-six-heads": replace(
        TINY["tiny-alibi"], n_heads=6, n_kv_heads=6, d_model=48, d_mlp=192, norm_eps=1e-3
    ),
}


@pytest.fixture(params=CASES, scope="module")
def config(request: pytest.FixtureRequest) -> ModelConfig:
    return CASES[request.param]


@pytest.fixture(scope="module")
def weights(config: ModelConfig) -> Weights:
    return random_weights(config, seed=7)
