class Cache:
    def __init__(self):
        self.rows = []
        self.next_position = 0

    def reset(self):
        self.rows = []

    def read(self, n_tokens):
        ids = list(range(self.next_position, self.next_position + n_tokens))
        self.rows += ids
        self.next_position += n_tokens
        return ids


cache = Cache()
first_text = cache.read(7) + cache.read(1) + cache.read(1)
cache.reset()
second_text = cache.read(7)
