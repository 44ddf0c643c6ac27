import torch


class Cache:
    def __init__(self, capacity):
        self.keys = torch.zeros(capacity)

    def append(self, tokens, new):
        past = len(tokens) - len(new)
        end = past + len(new)
        self.keys[past:end] = new
        return past, self.keys[:end]


cache = Cache(16)
tokens = list(range(7))
cache.append(tokens, torch.arange(1.0, 8.0))
tokens.append(7)
position, rows = cache.append(tokens, torch.tensor([8.0]))
end = len(rows)
