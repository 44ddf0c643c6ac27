class Cache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.length = 0

    def append(self, n_new):
        if self.length + n_new > self.capacity:
            return False
        self.length += n_new
        return True


cache = Cache(12)
prompt = cache.append(7)
decodes = [cache.append(1) for _ in range(6)]
held = cache.length
exact_prompt = Cache(12).append(12)
cache_of_one = Cache(1).append(1)
