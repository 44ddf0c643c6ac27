from collections import deque

rows = deque(maxlen=8)
positions = []
seen = 0
while seen < 12:
    position = seen
    rows.append(seen)
    seen += 1
    positions.append(position)
held = list(rows)
share_a_place = positions.count(8)
