class Cache:
    def __init__(self, seen):
        self.seen = seen

    def update(self, layer, n_new):
        if layer == 3:
            self.seen += n_new


def decode(cache):
    offsets = []
    for layer in range(4):
        offsets.append(cache.seen)
        cache.update(layer, n_new=1)
    return offsets


cache = Cache(seen=7)
step_1, step_2 = decode(cache), decode(cache)
