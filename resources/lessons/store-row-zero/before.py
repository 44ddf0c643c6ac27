import torch


class Cache:
    def __init__(self, capacity):
        self.keys = torch.zeros(1, 4, capacity, 32)
        self.length = 0

    def append(self, new):
        n_new = new.size(2)
        self.keys[:, :, 0:n_new] = new
        self.length += n_new


keys = torch.arange(1.0, 9.0).view(1, 1, 8, 1)
cache = Cache(12)
cache.append(keys[:, :, :7])
cache.append(keys[:, :, 7:])
rows = cache.keys[0, 0, :9, 0]
length = cache.length
