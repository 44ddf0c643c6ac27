"""One layer whose rows go where they are told; gives back whole buffers, for a mask to cover."""

import torch


class PositionsCache(torch.nn.Module):
    k_cache: torch.Tensor
    v_cache: torch.Tensor

    def __init__(self, max_batch_size, max_seq_length, n_heads, head_dim, dtype=torch.float32):
        super().__init__()
        shape = (max_batch_size, n_heads, max_seq_length, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=dtype))

    def update(self, input_pos, k_val, v_val):
        if input_pos.shape[0] != k_val.shape[2] or k_val.shape != v_val.shape:
            raise ValueError(f"{input_pos.shape[0]} positions for rows {tuple(k_val.shape)}")
        shape = self.k_cache.shape
        if k_val.dim() != 4 or k_val.shape[:2] != shape[:2] or k_val.shape[3] != shape[3]:
            raise ValueError(f"rows {tuple(k_val.shape)} do not fit {tuple(shape)}")
        if k_val.device != self.k_cache.device:
            raise ValueError(f"rows on {k_val.device}, cache on {self.k_cache.device}")
        k, v = k_val.to(self.k_cache.dtype), v_val.to(self.v_cache.dtype)
        if len(input_pos) and int(input_pos.max()) >= shape[2]:
            raise IndexError(f"position {int(input_pos.max())} of {shape[2]}")
        self.k_cache[:, :, input_pos] = k
        self.v_cache[:, :, input_pos] = v
        return self.k_cache, self.v_cache
