"""The user's model, in a process of its own: asked, watched, and given up when it falls."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from core.arrays import FloatArray
from core.contract.model.facts import About, Call, Kept, about_of, call_of, kept_of
from core.contract.process import Line, Process
from core.contract.subject import NotDrivableError

LOAD_LIMIT_S = 120.0
SLACK_S, FACTOR = 20.0, 10.0
"""A cached call may take this, and this many times the longest forward of the same text so far."""
N_LAST_SHOWN = 120
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
        has_numbers: whether any logit is finite.
        nan_ids: token ids whose logit is NaN anywhere.
    """

    largest: float
    spread: float
    unrest: float
    sway: float
    logits: FloatArray | None
    has_numbers: bool = True
    nan_ids: tuple[int, ...] = ()


class ModelSubject:
    """A model to be asked. What it prints is thrown away, save the last line.

    A call that takes longer than `limit_s`, and a process that ends, are told in the error; the
    next thing asked gets a new process. A cached call gets less where forwards were quick before.
    """

    def __init__(self, source: Source, *, limit_s: float = 120.0) -> None:
        """Start the process and make the model.

        Raises:
            NotDrivableError: that fails, or the model cannot be driven.
        """
        self.source, self._limit_s = source, limit_s
        self._longest_s = 0.0
        self._process, self.about = self._started()

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
        """Make another model in the same process.

        Raises:
            NotDrivableError: as for the first one.
        """
        self.source, self._longest_s = source, 0.0
        if self._process.is_open:
            self.about = self._loaded(self._process)
        else:
            self._process, self.about = self._started()

    def uncached(self, ids: Ids, *, with_numbers: bool = False) -> Uncached:
        """Its forward without a cache, on texts of equal length.

        Raises:
            NotDrivableError: it raises, hangs, or ends the process.
        """
        ask: Line = {"do": "uncached", "ids": ids, "numbers": with_numbers}
        told = self._end(self._running(), ask, self._limit_s)
        logits = None
        if with_numbers:
            flat = np.frombuffer(base64.b64decode(told["logits"]), np.float64)
            logits = flat.reshape(told["shape"])
        return Uncached(
            told["largest"],
            told["spread"],
            told["unrest"],
            told["sway"],
            logits,
            told["has_numbers"],
            tuple(told["nan_ids"]),
        )

    def reach(self, ids: Ids) -> tuple[int, str]:
        """How many tokens of a text one forward reads, and what is raised beyond them, in words."""
        told = self._end(self._running(), {"do": "reach", "ids": ids}, self._limit_s)
        return told["n"], told["why"]

    def decode(
        self,
        ids: Ids,
        chunks: Sequence[int],
        *,
        watch: bool = False,
        before: Ids | None = None,
        with_numbers: bool = False,
    ) -> Iterator[Call]:
        """Its calls with a cache; ends after one that raised.

        Args:
            ids: texts of equal length.
            chunks: tokens of each call.
            watch: whether to look inside.
            before: texts that the same model reads first, as another request.
            with_numbers: whether calls are to hold their logits.

        Raises:
            FellError: a call hung or ended the process.
            NotDrivableError: nothing can be called.
        """
        ask: Line = {"do": "decode", "ids": ids, "chunks": chunks, "watch": watch}
        ask |= {"before": before, "numbers": with_numbers}
        process = self._running()
        self._longest_s = max(self._longest_s, process.longest_s)
        limit_s = self._limit_s
        if self._longest_s and not watch:
            limit_s = min(limit_s, SLACK_S + FACTOR * self._longest_s)
        for told in self._told(process, ask, limit_s):
            if "done" not in told:
                yield call_of(told)

    def probe(
        self, ids: Ids, chunks: Sequence[int], call: int, *, spare: int, band: float
    ) -> dict[str, Any]:
        """Black-box probes of one call, as `probed` reads them."""
        ask: dict[str, Any] = {"do": "probe", "ids": ids, "chunks": chunks, "call": call}
        ask |= {"spare": spare, "band": band}
        return self._end(self._running(), ask, self._limit_s)

    def kept(self, ids: Ids, chunks: Sequence[int]) -> list[Kept]:
        """Of each call, what the rows tell that the model keeps; empty: nothing."""
        ask: dict[str, Any] = {"do": "kept", "ids": ids, "chunks": chunks}
        return [kept_of(one) for one in self._end(self._running(), ask, self._limit_s)["calls"]]

    def _started(self) -> tuple[Process, About]:
        """A new process with the model in it; none stays behind when that fails."""
        process = Process("model.child")
        try:
            return process, self._loaded(process)
        except BaseException:
            process.close()
            raise

    def _loaded(self, process: Process) -> About:
        source = self.source
        adapter = None if source.adapter is None else str(source.adapter)
        ask: dict[str, Any] = {"do": "load", "path": str(source.path), "name": source.name}
        ask |= {"adapter": adapter, "widened": source.is_widened}
        about = about_of(self._end(process, ask, max(LOAD_LIMIT_S, self._limit_s)))
        process.longest_s = 0.0  # of imports, and of no forward
        return about

    def _running(self) -> Process:
        """The process; a new one where the last one fell."""
        if not self._process.is_open:
            self._process, self.about = self._started()
        return self._process

    def _end(self, process: Process, ask: Line, limit_s: float) -> Line:
        """What is told in the end."""
        *_, last = self._told(process, ask, limit_s)
        return last["done"]

    def _told(self, process: Process, ask: Line, limit_s: float) -> Iterator[Line]:
        """Each thing told, until the end."""
        for told in process.ask(ask, limit_s):
            if "cannot" in told:
                raise NotDrivableError(str(told["cannot"]))
            if "hung" in told or "ended" in told:
                name = f"{self.source.path.name}:{self.source.name}"
                raise FellError(f"{name} {_fall(told, self._longest_s)}")
            yield told
            if "done" in told:
                return


def _fall(told: Line, longest_s: float) -> str:
    where = [told[name] for name in ("at", "where") if told[name]]
    if "hung" in told:
        where += [f"the longest before it took {longest_s:.2g} s"] if longest_s else []
        said = f" ({', '.join(where)})" if where else ""
        return f"gave no answer within {told['hung']:.3g} s{said}"
    why = f": {told['printed'][-N_LAST_SHOWN:]}" if told["printed"] else ""
    said = ", ".join([f"status {told['ended']}", *where])
    return f"ended the interpreter ({said}){why}"
