import numpy as np


class Cache:
    def __init__(self, capacity):
        self.keys, self.values = np.zeros((2, capacity, 4))
        self.length = 0

    def append(self, k, v):
        past, self.length = self.length, self.length + len(k)
        self.keys[past : past + len(k)] = k
        self.values[past : past + len(v)] = v
        return True


cache = Cache(12)
cache.append(np.ones((8, 4)), np.ones((8, 4)))
accepted = cache.append(np.ones((2, 4)), np.ones((1, 4)))
length = cache.length
value_rows = cache.values.any(axis=1).sum()
