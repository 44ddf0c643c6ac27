"""transformers' StaticCache: buffers of fixed size, for a mask to cover."""
# pyright: reportMissingImports=false

from kvscope_check import CacheAdapter
from transformers import LlamaConfig


class StaticAdapter(CacheAdapter):
    layout, library = "bhnd", "torch"

    def make(self, cls, *, capacity, n_layers, **others):
        return cls(config=LlamaConfig(num_hidden_layers=n_layers), max_cache_len=capacity)

    def append(self, cache, layer, k, v):
        return cache.update(k, v, layer)

    def read(self, cache, layer):
        return cache.layers[layer].keys, cache.layers[layer].values

    def length(self, cache, layer):
        return cache.get_seq_length(layer)

    def reset(self, cache):
        cache.reset()

    def truncate(self, cache, n):
        cache.crop(n - int(cache.get_seq_length()))

    def reorder(self, cache, index):
        cache.reorder_cache(index)
