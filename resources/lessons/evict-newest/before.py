window = 8
rows = []
for token in range(12):
    rows.append(token)
    if len(rows) > window:
        rows.pop(-2)

n_recent = sum(token >= 12 - window for token in rows)
