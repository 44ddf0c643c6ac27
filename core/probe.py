"""The contents of a probe: rows that hold no token, the same for the same (seed, step)."""

import numpy as np

from core.arrays import FloatArray
from core.model.config import ModelConfig
from core.spec import Probe


def probe_rows(
    config: ModelConfig, request: Probe, seed: int, step: int
) -> tuple[FloatArray, FloatArray]:
    """Standard normal keys [L, Hkv, n_keys, D] and values [L, Hkv, n_values, D], float32."""
    generator = np.random.Generator(np.random.PCG64([seed, step]))
    layers, heads, size = config.n_layers, config.n_kv_heads, config.d_head
    keys = generator.standard_normal((layers, heads, request.n_keys, size), dtype=np.float32)
    values = generator.standard_normal((layers, heads, request.n_values, size), dtype=np.float32)
    return keys, values
