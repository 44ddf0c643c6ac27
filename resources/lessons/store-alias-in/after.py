import numpy as np


class Cache:
    def __init__(self):
        self.rows = []

    def append(self, key):
        self.rows.append(key.copy())


scratch = np.zeros(4)
cache = Cache()
reads = []
for token in (7, 8, 9):
    scratch[:] = token
    cache.append(scratch)
    reads.append([int(row[0]) for row in cache.rows])
