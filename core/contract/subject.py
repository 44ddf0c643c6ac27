"""The user's class, in a process of its own: asked, watched, and started again when it falls."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.contract.calls import Answer, Call, Sizes, answer_of, fall_words
from core.contract.child.names import COUNTING, TRUNCATING
from core.contract.process import Process
from core.errors import CoreError

LOAD_LIMIT_S = 30.0
"""Of running the file, in which each import begins it anew."""
PATIENCE_S = 180.0
"""What may be lost altogether to calls that hang and to loading the class anew."""


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
        length_is_a_place: its length is called as a place in the text is.
        names_a_window: its capacity is called a window.
        fixed: sizes that were given by hand, or that its adapter says.
        arguments: argument of the constructor -> the sizes it stands for.
        spelling: each call as Python.
        is_adapted: it is driven by an adapter.
        block_size: rows of a block of its pool; None: it has none that is known.
    """

    words: str
    layout: str
    library: str
    offers: frozenset[str]
    roles: frozenset[str]
    takes_layer: bool
    takes_positions: bool
    length_is_a_place: bool
    names_a_window: bool
    fixed: Mapping[str, Any]
    arguments: Mapping[str, list[str]]
    spelling: Mapping[str, str]
    is_adapted: bool
    block_size: int | None


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
        self._patience_s = self._all_patience_s = patience_s
        self._tries = True
        self.n_starts = 0
        self._process, self.surface = self._started()

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
        self._process.close()

    def turn_to(self, source: Source) -> None:
        """Ask another class from now on, in the same process as long as that runs.

        Raises:
            NotDrivableError: the class cannot be driven, or loading it fails.
        """
        self._source, self._patience_s, self._tries = source, self._all_patience_s, True
        if self._process.is_open:
            try:
                self.surface = self._loaded(self._process)
            except _FellWhileTriedError:
                self._tries = False
                self._process, self.surface = self._started()
        else:
            self._process, self.surface = self._started()

    def run(self, sizes: Sizes, calls: Sequence[Call]) -> list[Answer]:
        """What a new cache answers to each call; the first answer is that to its making.

        Shorter than the calls where making failed, or where the process hung or ended: the last
        answer says so.

        Raises:
            GaveUpError: it hung or ended so often that there is no point in going on, or it cannot
                be loaded any more.
        """
        if not self._process.is_open:
            self._start_anew()
        ask = {"do": "run", "sizes": sizes.as_json(), "calls": [c.as_json() for c in calls]}
        told = self._process.ask(ask, self._limit_s)
        answers: list[Answer] = []
        for _, line in zip(range(len(calls) + 1), told, strict=False):
            self._patience_s -= line.get("hung", 0.0)
            answer = answer_of(line)
            answers.append(answer)
            if answer.is_last or (len(answers) == 1 and answer.error is not None):
                break
        return answers

    def _start_anew(self) -> None:
        if self._patience_s <= 0:
            raise GaveUpError("it hung or ended too often to be asked any more")
        began_s = time.monotonic()
        try:
            self._process, _ = self._started()
        except NotDrivableError as error:
            raise GaveUpError(f"it cannot be loaded any more: {error}") from error
        self._patience_s -= time.monotonic() - began_s

    def _started(self) -> tuple[Process, Surface]:
        """A new process with the class in it; none stays behind when that fails.

        Where a class hangs or ends the process while its length is asked for, or while it is
        truncated, to find out what that means, this is left to the rules.
        """
        for tries in (self._tries, False):
            self._tries = tries
            process = Process("child")
            self.n_starts += 1
            try:
                return process, self._loaded(process)
            except _FellWhileTriedError as error:
                last = error
                process.close()
            except BaseException:
                process.close()
                raise
        raise NotDrivableError(str(last))

    def _loaded(self, process: Process) -> Surface:
        source = self._source
        ask = {
            "do": "load",
            "path": str(source.path),
            "name": source.name,
            "memory_mb": self._memory_mb,
        }
        self._heard(process, ask, LOAD_LIMIT_S)
        ask = {
            "do": "recognise",
            "args": dict(source.arguments),
            "adapter": None if source.adapter is None else str(source.adapter),
            "tries": self._tries,
        }
        return _surface(self._heard(process, ask, self._limit_s))

    def _heard(self, process: Process, ask: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """What came of a part of loading.

        Raises:
            NotDrivableError: it failed.
        """
        told = next(process.ask(ask, limit_s))
        if "ok" in told:
            return told["ok"]
        if "cannot" in told:
            raise NotDrivableError(str(told["cannot"]))
        why = f"{self._source.name} cannot be driven: {told['at']}: {fall_words(told)}"
        if told["at"] in (COUNTING, TRUNCATING):
            raise _FellWhileTriedError(why)
        raise NotDrivableError(why)


class _FellWhileTriedError(NotDrivableError):
    """The class fell where something was tried without which it can be driven."""


def _surface(told: dict[str, Any]) -> Surface:
    return Surface(
        words=told["surface"],
        layout=told["layout"],
        library=told["library"],
        offers=frozenset(told["offers"]),
        roles=frozenset(told["roles"]),
        takes_layer=told["takes_layer"],
        takes_positions=told["takes_positions"],
        length_is_a_place=told["length_is_a_place"],
        names_a_window=told["names_a_window"],
        fixed=told["fixed"],
        arguments=told["arguments"],
        spelling=told["spelling"],
        is_adapted=told["is_adapted"],
        block_size=told["block_size"],
    )
