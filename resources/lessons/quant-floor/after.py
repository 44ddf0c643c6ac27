import numpy as np

row = np.array([0.3, -1.4, 0.6, 2.54])


def to_8_bit(row):
    scale = np.abs(row).max() / 127 or 1.0
    return (row / scale).round().astype(np.int8), scale


steps, scale = to_8_bit(row)
restored = (steps * scale).round(2).tolist()
largest_error = round(float(np.abs(row - restored).max()), 2)
