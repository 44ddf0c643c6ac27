import numpy as np

buffer = np.zeros((3, 4))


def read(n_held):
    return buffer[:n_held].copy()


shown = []
for step in range(3):
    buffer[step] = 8.0
    keys = read(step + 1)
    keys *= 0.5
    shown.append(keys)
rows = buffer[:, 0]
step_0_shows = shown[0][:, 0]
