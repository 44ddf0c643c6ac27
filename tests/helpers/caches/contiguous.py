"""Rows one behind the other in a buffer of fixed size; refuses when it is full."""

import numpy as np


class KVCache:
    def __init__(self, max_len, d_k, d_v):
        if max_len < 1:
            raise ValueError("max_len must be at least 1")
        self.max_len = max_len
        self.k = np.zeros((max_len, d_k))
        self.v = np.zeros((max_len, d_v))
        self.n = 0

    def append(self, k, v):
        k = np.atleast_2d(k)
        v = np.atleast_2d(v)
        if len(k) != len(v):
            raise ValueError(f"{len(k)} keys and {len(v)} values")
        new = len(k)
        if self.n + new > self.max_len:
            raise ValueError(f"cache full: {new} more rows, {self.max_len - self.n} free")
        if k.shape[1] != self.k.shape[1] or v.shape[1] != self.v.shape[1]:
            raise ValueError("wrong head size")
        self.k[self.n : self.n + new] = k
        self.v[self.n : self.n + new] = v
        self.n += new

    def keys(self):
        return self.k[: self.n]

    def values(self):
        return self.v[: self.n]

    def truncate(self, n):
        if not 0 <= n <= self.n:
            raise ValueError(f"cannot keep {n} of {self.n} rows")
        self.n = n

    def reset(self):
        self.n = 0
