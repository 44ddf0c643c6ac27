"""Memory that is free again, handed back to the system."""

import ctypes
import sys

MANY_STEPS = 100
"""After so many steps there is much: the engine frees most of what it takes."""


def hand_back() -> None:
    """Where the C library keeps freed memory to itself, ask it not to."""
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
