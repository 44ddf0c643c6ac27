import numpy as np

keys = np.array(["is", "was"])
values = np.array(["is", "was"])


def reorder(parents):
    keys[:] = keys[parents]
    values[:] = values[parents]


reorder([1, 0])
pairs = list(zip(keys.tolist(), values.tolist(), strict=True))
