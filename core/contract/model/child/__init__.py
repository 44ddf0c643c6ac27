"""Runs in the other process, beside the user's model; knows nothing of the rest of kvscope.

Loaded there as `core.contract.child` tells.
"""
