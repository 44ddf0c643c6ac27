import numpy as np


class Cache:
    def __init__(self):
        self.buffer = np.zeros((12, 4))
        self.length = 0

    def append(self, row):
        self.buffer[self.length] = row
        self.length += 1


cache = Cache()
for token in range(3):
    cache.append(np.full(4, token + 1.0))

scores = (cache.buffer[: cache.length] @ np.ones(4)).tolist()
