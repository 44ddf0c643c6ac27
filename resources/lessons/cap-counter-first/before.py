class Cache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.length = 0

    def append(self, n_new):
        self.length += n_new
        if self.length > self.capacity:
            raise RuntimeError("cache full")


cache = Cache(12)
cache.append(12)
try:
    cache.append(1)
except RuntimeError as error:
    said = str(error)
length = cache.length
after_rollback_of_3 = length - 3
