WINDOW = 8


def append(rows, token):
    return [*rows, token][-WINDOW:]


def visible(rows, token):
    return [row for row in rows if token - WINDOW < row <= token]


rows, n_held, n_visible = [], [], []
for token in range(12):
    rows = append(rows, token)
    n_held.append(len(rows))
    n_visible.append(len(visible(rows, token)))
