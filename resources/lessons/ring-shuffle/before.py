import numpy as np

SIZE = 4
ring = np.array([4, 5, 2, 3])
keys = np.array([0.1, 0.7, 0.4, 0.2])


def in_order(count):
    return np.arange(SIZE)


slots = in_order(count=6)
scores = np.exp(keys[slots])
output = round(float((scores / scores.sum()) @ ring[slots]), 6)
tokens = ring[slots].tolist()
last_two = tokens[-2:]
