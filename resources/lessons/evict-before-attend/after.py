WINDOW = 4


def read_chunk(cached, new):
    rows = cached + new
    seen = [[row for row in rows if token - WINDOW < row <= token] for token in new]
    return seen, rows[-WINDOW:]


first, cached = read_chunk([], [0, 1, 2])
second, cached = read_chunk(cached, [3, 4, 5])
