"""The first file that runs in the other process; a script, started by its path.

Its argument names the package that answers: `child` (a class) or `model.child`. It hides kvscope's
own packages, so that the user's file finds its own `core` and `app`, and keeps the standard streams
for the checker: what the user's code prints goes to the error stream.
"""
# The user's objects have no type that is known.
# pyright: basic

import faulthandler
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

CONTRACT = Path(__file__).resolve().parents[1]
ROOT = CONTRACT.parents[1]
HIDDEN = ("app", "core", "resources", "tests")
NAME = "kvscope_contract"
BEAT_S = 1.0


class Teller:
    """Writes one JSON object a line, each with the number of the message that it answers."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._last_s = 0.0
        self.ask: Any = None

    def tell(self, told: dict[str, Any]) -> None:
        """Write it."""
        self._last_s = time.monotonic()
        self._answers.write(json.dumps({**told, "of": self.ask}).encode() + b"\n")
        self._answers.flush()

    def beat(self) -> None:
        """Say that the process lives, now and then."""
        if self.ask is not None and time.monotonic() - self._last_s > BEAT_S:
            self.tell({"alive": True})


class Hidden(MetaPathFinder):
    """Finds packages of these names anywhere but where kvscope itself lies.

    Whatever is imported passes by here: an import that takes its time is no silence.
    """

    def __init__(self, beat: Callable[[], None]) -> None:
        """`beat` is called at each import."""
        self._beat = beat

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The user's own module of that name.

        Raises:
            ModuleNotFoundError: there is none, or only ours.
        """
        self._beat()
        if path is not None or fullname not in HIDDEN:
            return None
        elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
        found = PathFinder.find_spec(fullname, elsewhere, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found


def main(serving: str, trace: str | None = None) -> None:
    """Serve the checker on what were the standard streams.

    `trace` is a file descriptor: there the process writes its line, when it is asked by a signal,
    and when it ends by one.
    """
    asks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if trace is not None:
        faulthandler.register(signal.SIGUSR1, int(trace), all_threads=False)
        faulthandler.enable(int(trace), all_threads=False)
    teller = Teller(answers)
    sys.meta_path.insert(0, Hidden(teller.beat))
    contract = ModuleType(NAME)
    contract.__path__ = [str(CONTRACT)]
    sys.modules[NAME] = contract
    serve(importlib.import_module(f"{NAME}.{serving}.serve"), asks, teller)


def serve(serving: ModuleType, asks: BinaryIO, teller: Teller) -> None:
    """Read one JSON object a line, and write one or more that name it, until the checker goes."""
    server = serving.Server(lambda words: teller.tell({"at": words}))
    for line in asks:
        ask = json.loads(line)
        teller.ask = ask["ask"]
        for told in server.answers(ask):
            teller.tell(told)


if __name__ == "__main__":
    main(*sys.argv[1:])
