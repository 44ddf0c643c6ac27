"""The user's class, in a process of its own: asked, watched, and started again when it falls."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.contract.calls import Answer, Call, Sizes, answer_of
from core.errors import CoreError

START = Path(__file__).with_name("child") / "start.py"
LOAD_LIMIT_S = 120.0
PATIENCE_S = 180.0
"""What may be lost altogether to calls that hang and to loading the class anew."""
N_LAST_BYTES = 400


class NotDrivableError(CoreError):
    """A class that cannot be driven; the message says what is missing, by name."""


class GaveUpError(NotDrivableError):
    """A class that was driven, and cannot be driven any more."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the class is, and how it is made.

    Attributes:
        path: the file.
        name: what the file calls it.
        arguments: for its constructor, given by hand.
        adapter: a file with an adapter; None: the class is recognised.
    """

    path: Path
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    adapter: Path | None = None


@dataclass(frozen=True, slots=True)
class Surface:
    """What is known of a class once it is loaded.

    Attributes:
        words: how rows get in, such as "append(k, v)".
        layout: the axes of its arrays: b batch, h heads, n rows, d head size.
        library: "numpy" or "torch".
        offers: what can be asked.
        roles: the sizes that its constructor takes.
        takes_layer: one object holds several layers.
        takes_positions: it is told where rows go, and answers with whole buffers.
        names_a_window: its capacity is called a window.
        fixed: sizes that were given by hand.
        arguments: argument of the constructor -> the sizes it stands for.
        spelling: each call as Python; empty: it is driven by an adapter.
    """

    words: str
    layout: str
    library: str
    offers: frozenset[str]
    roles: frozenset[str]
    takes_layer: bool
    takes_positions: bool
    names_a_window: bool
    fixed: Mapping[str, Any]
    arguments: Mapping[str, list[str]]
    spelling: Mapping[str, str]


class Subject:
    """A class to be asked.

    A call that takes longer than `limit_s`, and a process that ends, are answers too; the next
    sequence gets a new process.
    """

    def __init__(
        self,
        source: Source,
        *,
        limit_s: float = 10.0,
        memory_mb: int = 2048,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Start the process and load the class.

        Raises:
            NotDrivableError: the class cannot be driven, or loading it fails.
        """
        self._source, self._limit_s, self._memory_mb = source, limit_s, memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._printed: deque[int] = deque(maxlen=N_LAST_BYTES)
        self._patience_s = self._all_patience_s = patience_s
        self.n_starts = 0
        self.surface = self._start()

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
        """Ask another class from now on, in the same process as long as that runs.

        Raises:
            NotDrivableError: the class cannot be driven, or loading it fails.
        """
        self._source, self._patience_s = source, self._all_patience_s
        self.surface = self._start() if self._process is None else self._loaded()

    def run(self, sizes: Sizes, calls: Sequence[Call]) -> list[Answer]:
        """What a new cache answers to each call; the first answer is that to its making.

        Shorter than the calls where making failed, or where the process hung or ended: the last
        answer says so.

        Raises:
            GaveUpError: it hung or ended so often that there is no point in going on, or it cannot
                be loaded any more.
        """
        if self._process is None:
            self._start_anew()
        self._tell({"do": "run", "sizes": sizes.as_json(), "calls": [c.as_json() for c in calls]})
        answers: list[Answer] = []
        for _ in range(len(calls) + 1):
            answer = answer_of(self._next(self._limit_s))
            answers.append(answer)
            if answer.is_last or (len(answers) == 1 and answer.error is not None):
                break
        return answers

    @property
    def _last_printed(self) -> str:
        lines = bytes(self._printed).decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _start_anew(self) -> None:
        if self._patience_s <= 0:
            raise GaveUpError("it hung or ended too often to be asked any more")
        began_s = time.monotonic()
        try:
            self._start()
        except NotDrivableError as error:
            raise GaveUpError(f"it cannot be loaded any more: {error}") from error
        self._patience_s -= time.monotonic() - began_s

    def _start(self) -> Surface:
        """A new process with the class in it; none stays behind when that fails."""
        try:
            self._spawn()
            return self._loaded()
        except BaseException:
            self.close()
            raise

    def _spawn(self) -> None:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            # Bytecode of a file that is saved twice in a second would be taken for that of the
            # later one; nor is the folder of the user a place for it.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._answers = queue.SimpleQueue()
        process = subprocess.Popen(  # noqa: S603  (our own file; what it loads was asked for)
            [sys.executable, "-P", str(START)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._process = process
        self.n_starts += 1
        threading.Thread(target=_collect, args=(process, self._answers), daemon=True).start()
        threading.Thread(target=_listen, args=(process, self._printed), daemon=True).start()

    def _loaded(self) -> Surface:
        source = self._source
        self._tell(
            {
                "do": "load",
                "path": str(source.path),
                "name": source.name,
                "args": dict(source.arguments),
                "adapter": None if source.adapter is None else str(source.adapter),
                "memory_mb": self._memory_mb,
            }
        )
        told = self._next(LOAD_LIMIT_S)
        if "ok" not in told:
            raise NotDrivableError(_why(source, told))
        return _surface(told["ok"])

    def _tell(self, message: dict[str, Any]) -> None:
        assert self._process is not None  # noqa: S101  (started before anything is told)
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the next answer says that it ended

    def _next(self, limit_s: float) -> dict[str, Any]:
        try:
            told = self._answers.get(timeout=limit_s)
        except queue.Empty:
            self._patience_s -= limit_s
            self.close()
            return {"hung": limit_s}
        if told is None:
            process = self._process
            status = None if process is None else process.wait()
            self.close()
            return {"ended": status, "printed": self._last_printed}
        return told


def _collect(
    process: subprocess.Popen[bytes], answers: "queue.SimpleQueue[dict[str, Any] | None]"
) -> None:
    """Hand over each line of a process as it comes; None: there are no more."""
    assert process.stdout is not None  # noqa: S101  (it is a pipe)
    try:
        for line in process.stdout:
            answers.put(json.loads(line))
    except ValueError:
        pass  # closed meanwhile, or killed amid a line
    answers.put(None)


def _listen(process: subprocess.Popen[bytes], printed: deque[int]) -> None:
    """Keep the last bytes of what the user's code prints, however much that is."""
    assert process.stderr is not None  # noqa: S101  (it is a pipe)
    try:
        while piece := os.read(process.stderr.fileno(), 65536):
            printed.extend(piece)
    except (OSError, ValueError):
        pass  # closed meanwhile


def _why(source: Source, told: dict[str, Any]) -> str:
    if "cannot" in told:
        return str(told["cannot"])
    if "hung" in told:
        return f"loading {source.path} took more than {LOAD_LIMIT_S:g} s"
    ended = f"loading {source.path} ended the interpreter (status {told['ended']})"
    return f"{ended}: {told['printed']}" if told["printed"] else ended


def _surface(told: dict[str, Any]) -> Surface:
    return Surface(
        words=told["surface"],
        layout=told["layout"],
        library=told["library"],
        offers=frozenset(told["offers"]),
        roles=frozenset(told["roles"]),
        takes_layer=told["takes_layer"],
        takes_positions=told["takes_positions"],
        names_a_window=told["names_a_window"],
        fixed=told["fixed"],
        arguments=told["arguments"],
        spelling=told["spelling"],
    )
