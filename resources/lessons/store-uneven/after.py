import numpy as np


class Cache:
    def __init__(self, capacity):
        self.kv = np.zeros((2, capacity, 4))
        self.length = 0

    def append(self, k, v):
        if len(k) != len(v):
            return False
        past, self.length = self.length, self.length + len(k)
        self.kv[:, past : self.length] = k, v
        return True


cache = Cache(12)
cache.append(np.ones((8, 4)), np.ones((8, 4)))
accepted = cache.append(np.ones((2, 4)), np.ones((1, 4)))
length, value_rows = cache.length, cache.kv[1].any(axis=1).sum()
