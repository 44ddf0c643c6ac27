WINDOW, SINKS = 8, 2


def append(rows, token):
    rows = [*rows, token]
    return rows if len(rows) <= WINDOW else rows[:SINKS] + rows[SINKS - WINDOW :]


def visible(rows, token):
    return [j for j in rows if j < SINKS or token - (WINDOW - SINKS) < j <= token]


rows, reads = [], {}
for token in range(12):
    reads[token] = visible([*rows, token], token)
    rows = append(rows, token)

token_8, token_9, token_11 = reads[8], reads[9], reads[11]
