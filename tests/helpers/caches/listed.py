"""Lists with an array for each layer, read as attributes; grows with every append."""

import numpy as np


class ListedCache:
    def __init__(self, n_layers, n_heads, head_dim):
        self.k = [np.zeros((n_heads, 0, head_dim)) for _ in range(n_layers)]
        self.v = [np.zeros((n_heads, 0, head_dim)) for _ in range(n_layers)]

    def append(self, layer, k, v):
        if k.shape != v.shape:
            raise ValueError(f"keys {k.shape}, values {v.shape}")
        self.k[layer] = np.concatenate([self.k[layer], k], axis=1)
        self.v[layer] = np.concatenate([self.v[layer], v], axis=1)
