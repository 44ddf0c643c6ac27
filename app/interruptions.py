"""Signals that ask a command to end: what Ctrl+C leaves tidy, they leave tidy too."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Timer
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_BRITTLE = ("numpy", "torch")
"""Libraries that swallow an exception while they are imported, or are broken by it."""
_PAUSE_S = 0.05


@contextmanager
def heard_as_ctrl_c() -> Generator[None, None, None]:
    """Inside, a request to end and a terminal that is closed do what Ctrl+C does at that moment.

    What comes while a library is imported that cannot be interrupted is heard once it is there.
    One that is ignored, as `nohup` has it, stays so. For the main thread.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if before[number] in usual]
    for number in heard:
        signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    if any(map(_is_being_imported, _BRITTLE)):
        later = Timer(_PAUSE_S, signal.raise_signal, (number,))
        later.daemon = True
        later.start()
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and handler is not _as_ctrl_c:
        handler(signal.SIGINT, frame)
    else:  # Ctrl+C is ignored in the background of a shell; this was sent on purpose
        raise KeyboardInterrupt


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))  # importlib's own mark, of all its versions
