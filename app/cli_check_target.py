"""The file that `kvscope check` is given, and the name in it."""

import argparse
from pathlib import Path

from core.contract.subject import NotDrivableError


def target(arguments: argparse.Namespace, what: str, example: str) -> tuple[Path, str]:
    """The file that is named, and the name in it.

    Raises:
        NotDrivableError: it names none, or there is no such file, or no adapter.
    """
    text: str = arguments.target
    file, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise NotDrivableError(f"{text!r} names no {what}: write FILE.py:{example}")
    path = Path(file)
    if not path.is_file():
        raise NotDrivableError(f"{file}: there is no such file")
    adapter: Path | None = arguments.adapter
    if adapter is not None and not adapter.is_file():
        raise NotDrivableError(f"--adapter {adapter}: there is no such file")
    return path.resolve(), name
