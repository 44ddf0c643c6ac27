"""Standard output and error, which may be closed, on a full disk, or left by their reader."""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import TextIO

UNUSABLE, INTERRUPTED = 2, 130


def complain(message: str) -> None:
    """Say in one line on standard error what is wrong; nothing where that cannot be written."""
    if sys.stderr is not None:  # it is None where it is closed
        try:
            sys.stderr.write(f"kvscope: {' '.join(message.split())}\n")
            sys.stderr.flush()
        except OSError:
            _forget(sys.stderr)


def is_of_a_stream(error: OSError) -> bool:
    """Whether an error came from writing to a stream that was open; a file's has a name."""
    return error.filename is None


def with_output(act: Callable[[], int]) -> int:
    """The status of `act`, which writes to standard output.

    Returns:
        Its status; 2 where the output cannot be written, 130 where its reader has left.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # to the end
    if sys.stdout is None:
        complain("standard output is closed; send it to a file or a terminal")
        return UNUSABLE
    try:
        status = act()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget(sys.stdout)
        return INTERRUPTED
    except OSError as error:
        if not is_of_a_stream(error):
            raise
        _forget(sys.stdout)
        complain(f"standard output cannot be written ({error.strerror or error})")
        return UNUSABLE
    return status


def keep_others_out() -> None:
    """From here on only what is written to `sys.stdout` reaches standard output.

    What a user's code writes to `sys.__stdout__` or to the descriptor of standard output itself,
    also once the command is over, goes to standard error. Where `sys.stdout` is somebody's own
    stream there is nothing to keep out.
    """
    given = sys.stdout
    if given is not sys.__stdout__ or given is None:
        return
    given.flush()
    descriptor = given.fileno()
    apart = os.dup(descriptor)  # no program that is started inherits it
    sys.stdout = open(apart, "w", encoding=given.encoding, errors=given.errors)  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), descriptor)


def _forget(stream: TextIO) -> None:
    """Have Python not complain at its end of what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
