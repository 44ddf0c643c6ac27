"""One object for all layers of a model, in torch; grows by doubling."""

import torch


class LayeredCache:
    def __init__(self, n_layers, batch_size, n_heads, head_dim, dtype=torch.float32):
        shape = (batch_size, n_heads, 2, head_dim)
        self.key_cache = [torch.zeros(shape, dtype=dtype) for _ in range(n_layers)]
        self.value_cache = [torch.zeros(shape, dtype=dtype) for _ in range(n_layers)]
        self.lengths = [0] * n_layers

    def update(self, k, v, layer_idx):
        held = self.key_cache[layer_idx]
        if k.shape != v.shape:
            raise ValueError(f"keys {tuple(k.shape)}, values {tuple(v.shape)}")
        if k.dim() != 4 or k.shape[:2] != held.shape[:2] or k.shape[3] != held.shape[3]:
            raise ValueError(f"rows {tuple(k.shape)} do not fit {tuple(held.shape)}")
        if k.device != held.device:
            raise ValueError(f"rows on {k.device}, cache on {held.device}")
        start = self.lengths[layer_idx]
        end = start + k.shape[2]
        while end > self.key_cache[layer_idx].shape[2]:
            self._grow(layer_idx)
        self.key_cache[layer_idx][:, :, start:end] = k
        self.value_cache[layer_idx][:, :, start:end] = v
        self.lengths[layer_idx] = end
        return self.get(layer_idx)

    def _grow(self, layer_idx):
        for caches in (self.key_cache, self.value_cache):
            old = caches[layer_idx]
            new = torch.zeros_like(torch.cat([old, old], dim=2))
            new[:, :, : old.shape[2]] = old
            caches[layer_idx] = new

    def get(self, layer_idx):
        n = self.lengths[layer_idx]
        return self.key_cache[layer_idx][:, :, :n], self.value_cache[layer_idx][:, :, :n]

    def get_seq_length(self, layer_idx=0):
        return self.lengths[layer_idx]

    def crop(self, n):
        if not 0 <= n <= max(self.lengths):
            raise ValueError(f"cannot keep {n} of {max(self.lengths)} tokens")
        self.lengths = [min(n, length) for length in self.lengths]

    def reorder_cache(self, index):
        for layer_idx in range(len(self.key_cache)):
            self.key_cache[layer_idx] = self.key_cache[layer_idx].index_select(0, index)
            self.value_cache[layer_idx] = self.value_cache[layer_idx].index_select(0, index)

    def reset(self):
        self.lengths = [0] * len(self.lengths)
