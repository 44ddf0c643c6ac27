import numpy as np

rng = np.random.default_rng(0)
keys, values = np.zeros((12, 8)), np.zeros((12, 8))
length = 7
keys[:length] = rng.normal(size=(length, 8))
values[:length] = 1.0
query = rng.normal(size=8)

scores = keys @ query / 8**0.5
weights = np.exp(scores) / np.exp(scores).sum()
output = weights @ values

rows_read = len(weights)
empty = weights[length:]
all_equal = len(set(empty)) == 1
on_empty = round(empty.sum(), 3)
output_0 = round(output[0], 3)
