"""A text in a pool of blocks, of which kvscope is shown the free ones and those of each text."""
# pyright: reportMissingImports=false

from kvscope_check import CacheAdapter


class PagedAdapter(CacheAdapter):
    layout, block_size = "nhd", 4

    def make(self, cls, *, capacity, n_layers, n_heads, d_k, d_v, **others):
        n_blocks = -(-capacity // self.block_size)
        return cls.in_new_pool(n_blocks, self.block_size, n_layers, n_heads, d_k, d_v)

    def append(self, cache, layer, k, v):
        cache.append(layer, k, v)

    def read(self, cache, layer):
        return cache.read(layer)

    def reset(self, cache):
        cache.truncate(0)

    def truncate(self, cache, n):
        cache.truncate(n)

    def fork(self, cache):
        return cache.fork()

    def blocks(self, cache):
        return cache.pool.free, [text.table for text in cache.pool.texts]
