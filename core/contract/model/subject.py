"""The user's model, in a process of its own: asked, watched, and given up when it falls."""

import base64
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from core.arrays import FloatArray
from core.contract.model.facts import About, Call, about_of, call_of
from core.contract.subject import NotDrivableError

START = Path(__file__).with_name("child") / "start.py"
LOAD_LIMIT_S = 300.0
N_LAST_BYTES, N_LAST_SHOWN = 400, 120
Ids = Sequence[Sequence[int]]


class FellError(NotDrivableError):
    """The process hung or ended."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the model is.

    Attributes:
        path: the file.
        name: what the file calls the function that makes it (or the module itself).
        adapter: a file with an adapter; None: the model is recognised.
        is_widened: whether its weights are to be turned to float32.
    """

    path: Path
    name: str
    adapter: Path | None = None
    is_widened: bool = False


@dataclass(frozen=True, slots=True)
class Uncached:
    """The model's own forward without a cache, of texts [B, N].

    Attributes:
        largest: largest absolute logit.
        spread: largest difference between the same logits from forwards of different lengths.
        unrest: largest difference between two forwards over the same text.
        sway: how far the last logits move when the token before the last is another one.
        logits: [B, N, V]; None: not asked for.
    """

    largest: float
    spread: float
    unrest: float
    sway: float
    logits: FloatArray | None


class ModelSubject:
    """A model to be asked. What it prints is thrown away, save the last line.

    A call that takes longer than `limit_s`, and a process that ends, are told in the error; the
    next thing asked gets a new process.
    """

    def __init__(self, source: Source, *, limit_s: float = 120.0) -> None:
        """Start the process and make the model.

        Raises:
            NotDrivableError: that fails, or the model cannot be driven.
        """
        self.source, self._limit_s = source, limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._printed: deque[int] = deque(maxlen=N_LAST_BYTES)
        try:
            self.about = self._start()
        except NotDrivableError:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def turn_to(self, source: Source) -> None:
        """Make another model in the same process.

        Raises:
            NotDrivableError: as for the first one.
        """
        self.source = source
        self.about = self._load()

    def uncached(self, ids: Ids, *, with_numbers: bool = False) -> Uncached:
        """Its forward without a cache, on texts of equal length.

        Raises:
            NotDrivableError: it raises, hangs, or ends the process.
        """
        told = self._end({"do": "uncached", "ids": ids, "numbers": with_numbers})
        logits = None
        if with_numbers:
            flat = np.frombuffer(base64.b64decode(told["logits"]), np.float64)
            logits = flat.reshape(told["shape"])
        return Uncached(told["largest"], told["spread"], told["unrest"], told["sway"], logits)

    def decode(
        self, ids: Ids, chunks: Sequence[int], *, watch: bool = False, before: Ids | None = None
    ) -> Iterator[Call]:
        """Its calls with a cache; ends after one that raised.

        Args:
            ids: texts of equal length.
            chunks: tokens of each call.
            watch: whether to look inside.
            before: texts that the same model reads first, as another request.

        Raises:
            FellError: a call hung or ended the process.
            NotDrivableError: nothing can be called.
        """
        ask = {"do": "decode", "ids": ids, "chunks": chunks, "watch": watch, "before": before}
        for told in self._told(ask):
            if "done" not in told:
                yield call_of(told)

    def probe(
        self, ids: Ids, chunks: Sequence[int], call: int, *, spare: int, band: float
    ) -> dict[str, Any]:
        """Black-box probes of one call: "matter", "blind", "swapped", "told"."""
        ask: dict[str, Any] = {"do": "probe", "ids": ids, "chunks": chunks, "call": call}
        return self._end({**ask, "spare": spare, "band": band})

    def _start(self) -> About:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        self._lines = queue.SimpleQueue()
        self._printed.clear()
        process = subprocess.Popen(  # noqa: S603  (our own file; what it loads was asked for)
            [sys.executable, "-P", str(START)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._process = process
        threading.Thread(target=_collect, args=(process, self._lines), daemon=True).start()
        threading.Thread(target=_listen, args=(process, self._printed), daemon=True).start()
        return self._load()

    def _load(self) -> About:
        source = self.source
        adapter = None if source.adapter is None else str(source.adapter)
        ask: dict[str, Any] = {"do": "load", "path": str(source.path), "name": source.name}
        ask |= {"adapter": adapter, "widened": source.is_widened}
        return about_of(self._end(ask, max(LOAD_LIMIT_S, self._limit_s)))

    def _end(self, ask: dict[str, Any], limit_s: float | None = None) -> dict[str, Any]:
        """What is told in the end."""
        *_, last = self._told(ask, limit_s)
        return last["done"]

    def _told(self, ask: dict[str, Any], limit_s: float | None = None) -> Iterator[dict[str, Any]]:
        """Each thing told, until the end."""
        if self._process is None:
            self._start()
        assert self._process is not None  # noqa: S101  (it was started)
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        try:
            self._process.stdin.write(json.dumps(ask).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the next line says that it ended
        while True:
            told = self._next(self._limit_s if limit_s is None else limit_s)
            if "cannot" in told:
                raise NotDrivableError(str(told["cannot"]))
            yield told
            if "done" in told:
                return

    def _next(self, limit_s: float) -> dict[str, Any]:
        name = f"{self.source.path.name}:{self.source.name}"
        try:
            told = self._lines.get(timeout=limit_s)
        except queue.Empty:
            self.close()
            raise FellError(f"{name} gave no answer within {limit_s:g} s") from None
        if told is None:
            status = None if self._process is None else self._process.wait()
            self.close()
            lines = bytes(self._printed).decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            why = f": {last[-N_LAST_SHOWN:]}" if last else ""
            raise FellError(f"{name} ended the interpreter (status {status}){why}")
        return told


def _collect(
    process: subprocess.Popen[bytes], lines: "queue.SimpleQueue[dict[str, Any] | None]"
) -> None:
    """Hand over each line of a process as it comes; None: there are no more."""
    assert process.stdout is not None  # noqa: S101  (it is a pipe)
    try:
        for line in process.stdout:
            lines.put(json.loads(line))
    except ValueError:
        pass  # closed meanwhile, or killed amid a line
    lines.put(None)


def _listen(process: subprocess.Popen[bytes], printed: deque[int]) -> None:
    """Keep the last bytes of what the user's code prints, however much that is."""
    assert process.stderr is not None  # noqa: S101  (it is a pipe)
    try:
        while piece := os.read(process.stderr.fileno(), 65536):
            printed.extend(piece)
    except (OSError, ValueError):
        pass  # closed meanwhile
