"""Adapters for caches of transformers, as a person would write them for `kvscope check`."""
