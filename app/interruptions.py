"""Signals that ask a command to end: what Ctrl+C leaves tidy, they leave tidy too."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def heard_as_ctrl_c() -> Generator[None, None, None]:
    """Inside, a request to end and a terminal that is closed do what Ctrl+C does at that moment.

    One that is ignored, as `nohup` has it, stays so. For the main thread.
    """
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:  # Ctrl+C is ignored in the background of a shell; this was sent on purpose
        raise KeyboardInterrupt
