"""Adapters for caches of transformers, as a person would write them for `kvscope check`.

The checker makes `kvscope_check` when it loads one: no import finds it here.
"""
