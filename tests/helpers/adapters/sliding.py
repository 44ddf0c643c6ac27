"""transformers' DynamicCache of a model with a sliding window: it keeps one row less than that."""

# The checker makes `kvscope_check` when it loads an adapter.
# pyright: reportMissingImports=false

from kvscope_check import CacheAdapter
from transformers import MistralConfig


class SlidingAdapter(CacheAdapter):
    layout = "bhnd"
    library = "torch"
    is_window = True

    def make(self, cls, *, capacity, n_layers, **others):
        return cls(config=MistralConfig(num_hidden_layers=n_layers, sliding_window=capacity))

    def append(self, cache, layer, k, v):
        return cache.update(k, v, layer)

    def length(self, cache, layer):
        return cache.get_seq_length(layer)

    def reset(self, cache):
        cache.reset()
