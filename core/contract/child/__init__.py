"""Runs in the other process, beside the user's class; knows nothing of the rest of kvscope.

Loaded there as part of a package `kvscope_contract`, so that the names `core` and `app` stay free
for the user's own modules. For the same reason its files import each other relatively.
"""
