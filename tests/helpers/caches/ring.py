"""A window over the last rows, written around and around; the first `sinks` rows stay."""

import numpy as np


class RingCache:
    def __init__(self, window, n_heads, d, sinks=0):
        if not 0 <= sinks < window:
            raise ValueError("sinks must leave room in the window")
        self.window = window
        self.sinks = sinks
        self.k = np.zeros((n_heads, window, d))
        self.v = np.zeros((n_heads, window, d))
        self.seen = 0

    def __len__(self):
        return min(self.seen, self.window)

    def _slot(self, token):
        if token < self.window:
            return token
        size = self.window - self.sinks
        return self.sinks + (token - self.sinks) % size

    def _order(self):
        if self.seen <= self.window:
            return list(range(self.seen))
        recent = range(self.seen - (self.window - self.sinks), self.seen)
        return [*range(self.sinks), *(self._slot(token) for token in recent)]

    def append(self, k, v):
        if k.shape != v.shape or k.ndim != 3:
            raise ValueError(f"keys {k.shape}, values {v.shape}")
        if k.shape[0] != self.k.shape[0] or k.shape[2] != self.k.shape[2]:
            raise ValueError(f"rows {k.shape} do not fit {self.k.shape}")
        order = self._order()
        old_k, old_v = self.k[:, order], self.v[:, order]
        for row in range(k.shape[1]):
            slot = self._slot(self.seen)
            self.k[:, slot] = k[:, row]
            self.v[:, slot] = v[:, row]
            self.seen += 1
        if k.shape[1] > 1:
            return np.concatenate([old_k, k], axis=1), np.concatenate([old_v, v], axis=1)
        return self.keys(), self.values()

    def keys(self):
        return self.k[:, self._order()]

    def values(self):
        return self.v[:, self._order()]

    def reset(self):
        self.seen = 0
