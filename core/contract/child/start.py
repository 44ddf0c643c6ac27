"""The first file that runs in the other process; a script, started by its path.

Its argument names the package that answers: `child` (a class) or `model.child`. It hides kvscope's
own packages, so that the user's file finds its own `core` and `app`, and keeps the standard streams
for the checker: what the user's code prints goes to the error stream.
"""
# The user's objects have no type that is known.
# pyright: basic

import importlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

CONTRACT = Path(__file__).resolve().parents[1]
ROOT = CONTRACT.parents[1]
HIDDEN = ("app", "core", "resources", "tests")
NAME = "kvscope_contract"


class Hidden(MetaPathFinder):
    """Finds packages of these names anywhere but where kvscope itself lies."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The user's own module of that name.

        Raises:
            ModuleNotFoundError: there is none, or only ours.
        """
        if path is not None or fullname not in HIDDEN:
            return None
        elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
        found = PathFinder.find_spec(fullname, elsewhere, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found


def main(serving: str) -> None:
    """Serve the checker on what were the standard streams."""
    asks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.meta_path.insert(0, Hidden())
    contract = ModuleType(NAME)
    contract.__path__ = [str(CONTRACT)]
    sys.modules[NAME] = contract
    serve(importlib.import_module(f"{NAME}.{serving}.serve"), asks, answers)


def serve(serving: ModuleType, asks: BinaryIO, answers: BinaryIO) -> None:
    """Read one JSON object a line, and write one or more that name it, until the checker goes."""
    server = serving.Server()
    for line in asks:
        ask = json.loads(line)
        for told in server.answers(ask):
            answers.write(json.dumps({**told, "of": ask["ask"]}).encode() + b"\n")
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
