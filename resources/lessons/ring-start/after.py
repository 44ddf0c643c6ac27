import numpy as np

SIZE = 10
ring = np.full(SIZE, -1)


def oldest_first(count):
    start = count % SIZE if count > SIZE else 0
    return ring[(start + np.arange(min(count, SIZE))) % SIZE].tolist()


reads = {}
for token in range(12):
    ring[token % SIZE] = token
    reads[token] = oldest_first(token + 1)

partly_filled, nearly_full = reads[7], reads[8]
full, came_round = reads[9], reads[11]
