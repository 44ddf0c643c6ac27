"""The class that interviews ask about, with its three faults."""

import numpy as np


class KVCache:
    def __init__(self, max_len, d_k, d_v):
        self.max_len = max_len
        self.k = np.zeros((max_len, d_k))
        self.v = np.zeros((max_len, d_v))
        self.n = 0

    def append(self, k, v):
        k = np.atleast_2d(k)
        v = np.atleast_2d(v)
        new = k.shape[0]
        self.n += new
        if self.n >= self.max_len:
            raise ValueError("cache full")
        self.k[self.n - new : self.n] = k
        self.v[self.n - new : self.n] = v

    def keys(self):
        return self.k

    def values(self):
        return self.v
