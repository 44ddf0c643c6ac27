"""transformers' StaticCache of a model with a sliding window."""

# The checker makes `kvscope_check` when it loads an adapter.
# pyright: reportMissingImports=false

from kvscope_check import CacheAdapter
from transformers import MistralConfig


class StaticSlidingAdapter(CacheAdapter):
    layout = "bhnd"
    library = "torch"
    is_window = True

    def make(self, cls, *, capacity, n_layers, **others):
        config = MistralConfig(num_hidden_layers=n_layers, sliding_window=capacity)
        return cls(config=config, max_cache_len=64)

    def append(self, cache, layer, k, v):
        return cache.update(k, v, layer)

    def length(self, cache, layer):
        return cache.get_seq_length(layer)

    def reset(self, cache):
        cache.reset()
