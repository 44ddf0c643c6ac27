"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from core.errors import TraceError

_WRITTEN_BY, _HEAD_BYTES = b"Written by `kvscope ", 400
"""What the first lines of a written test say."""


def check_writable(path: Path) -> None:
    """Find out before the work is done whether its result can be written.

    Raises:
        TraceError: it cannot; says why.
    """
    with _reasons(path):
        temporary = _free_name_beside(_target(path))
        try:
            _make(temporary)
        finally:
            temporary.unlink(missing_ok=True)


def check_holds_written_tests(path: Path) -> None:
    """Find out before the work is done that no file of somebody's own would be replaced by tests.

    Raises:
        TraceError: there is a file that neither `kvscope check` nor `kvscope battery` wrote.
    """
    with _reasons(path):
        if not path.is_file():
            return
        head = path.read_bytes()[:_HEAD_BYTES]
    if _WRITTEN_BY not in head:
        raise TraceError(
            f"{path}: is there already, and --write-tests did not write it; give another name"
        )


@contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """A temporary file beside `path`; it takes the place of `path` once it is complete.

    If the block raises, `path` stays as it was, and the temporary file goes.

    Raises:
        TraceError: it cannot be written; says why.
    """
    with _reasons(path):
        target = _target(path)
        temporary = _free_name_beside(target)
        try:
            _make(temporary)
            rights = temporary.stat().st_mode
            yield temporary
            temporary.chmod(rights)  # safetensors puts a file of its own there, for its owner only
            _flush(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Where the file really is to lie; a link stays a link."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise TraceError(f"{path}: is no ordinary file; choose another name")
    return target


def _free_name_beside(target: Path) -> Path:
    """A name in the same folder that no file has: it is drawn at random."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")


def _make(temporary: Path) -> None:
    """A new, empty file, with the rights that a new file has there."""
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _flush(path: Path) -> None:
    """Have the system write it to the disk, so that a power cut cannot leave half of it."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _reasons(path: Path) -> Generator[None, None, None]:
    """Turn what the system says into one line."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(
            f"{path}: cannot be written ({reason}); choose a file in a folder that you can write to"
        ) from error
