"""A few rows of one head, whose state can be saved and put back."""

import numpy as np


class SavingCache:
    def __init__(self, capacity, d):
        self.k = np.zeros((capacity, d))
        self.v = np.zeros((capacity, d))
        self.n = 0

    def append(self, k, v):
        if k.shape != v.shape or k.shape[1:] != self.k.shape[1:]:
            raise ValueError(f"keys {k.shape}, values {v.shape}")
        end = self.n + len(k)
        if end > len(self.k):
            raise ValueError(f"{end} rows, room for {len(self.k)}")
        self.k[self.n : end] = k
        self.v[self.n : end] = v
        self.n = end

    def read(self):
        return self.k[: self.n].copy(), self.v[: self.n].copy()

    def save(self):
        return self.k.copy(), self.v.copy(), self.n

    def restore(self, saved):
        k, v, self.n = saved
        self.k, self.v = k.copy(), v.copy()
