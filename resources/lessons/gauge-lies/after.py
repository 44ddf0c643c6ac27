class Window:
    def __init__(self, size):
        self.size, self.rows, self.seen = size, [], 0

    def append(self, token):
        self.rows = [*self.rows, token][-self.size :]
        self.seen += 1

    def __len__(self):
        return len(self.rows)


window = Window(8)
told, held = [], []
for token in range(12):
    window.append(token)
    told.append(len(window))
    held.append(len(window.rows))
