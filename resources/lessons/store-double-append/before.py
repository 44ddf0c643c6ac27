import numpy as np

cache = np.arange(7)
n_read, n_held = [], []

for token in (7, 8, 9, 10):
    joined = np.concatenate([cache, [token]])
    n_read.append(len(joined))
    cache = np.concatenate([cache, joined])
    n_held.append(len(cache))

times_token_0 = int((cache == 0).sum())
