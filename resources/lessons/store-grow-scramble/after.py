import numpy as np

keys = np.array([[1, 2, 3, 4], [11, 12, 13, 14]])


def grow(keys, n_rows):
    grown = np.zeros((2, n_rows), dtype=keys.dtype)
    grown[:, : keys.shape[1]] = keys
    return grown


keys = grow(keys, 8)
keys[:, 4] = 5, 15

head_0 = keys[0].tolist()
head_1 = keys[1].tolist()
