"""Runs in the other process, beside the user's model; knows nothing of the rest of kvscope.

Loaded there under the name `kvscope_model_child`, for the reason that `core.contract.child` gives.
"""
