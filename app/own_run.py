"""A small model that decodes with somebody's class: made in another process, read from a file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from app.draft import Draft
from app.held_run import HeldRun
from app.messages import Started
from app.own_code_check import OwnCheck
from core.contract.own_report import Row
from core.errors import CoreError
from core.readouts.diagnosed import Diagnosed
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.selection import Selection
from core.tracefile import OpenedTrace, open_trace
from core.verdict import StepVerdict

if TYPE_CHECKING:
    from core.diagnose.finding import Diagnosis
    from core.foreign.readouts import ForeignRun

FILE = "run.kvtrace"


@dataclass(frozen=True, slots=True)
class RunWish:
    """A run that somebody wants to see.

    Attributes:
        row: the finding or rule whose sequence it is; it has a run, or a reading.
        file: name of the file with the class.
        name: of the class.
        text: what the file holds.
        ask: what the checker is asked of that class.
    """

    row: Row
    file: str
    name: str
    text: str
    ask: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class OwnReading:
    """The calls of a model that were made.

    Attributes:
        wish: what was asked.
        run: what they gave, beside the same model without a cache.
        ended: why they end before their time; empty: they do not.
    """

    wish: RunWish
    run: ForeignRun
    ended: str


@dataclass(frozen=True, slots=True, eq=False)
class OwnRun:
    """A run that was made.

    Attributes:
        wish: what was asked.
        held: its steps and verdicts, at the first wrong step, else at the last.
        about: what the class was taken for.
        said: what it raised, by step.
        ended: why the run ends before its time; empty: it does not.
    """

    wish: RunWish
    held: HeldRun
    about: str
    said: Mapping[int, str]
    ended: str

    @property
    def first_wrong(self) -> int | None:
        """The first wrong step; None: there is none."""
        wrong = (step for step, verdict in self.held.verdicts.items() if verdict.is_wrong)
        return min(wrong, default=None)


class _Undiagnosed(Diagnosed):
    """Names no mechanism: those that are known are our engine's, and a class has others.

    What the class breaks is said by the rules, which ask it alone.
    """

    def of(
        self, records: Sequence[StepRecord], verdicts: Mapping[int, StepVerdict], wrong: int
    ) -> tuple[Diagnosis, ...]:
        """Nothing."""
        del records, verdicts, wrong
        return ()


class OwnRunMaker(QObject):
    """Makes one run at a time; one that is asked for later takes its place.

    Signals:
        made: an `OwnRun`, or of a model an `OwnReading`.
        failed: why there is none.
    """

    made = Signal(object)
    failed = Signal(str)

    def __init__(self, parent: QObject) -> None:
        """Takes its owner."""
        super().__init__(parent)
        self._check: OwnCheck | None = None
        self._leaving: list[OwnCheck] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._wish: RunWish | None = None
        self._n_made = 0

    def start(self, wish: RunWish) -> None:
        """Make it; whoever asks knows that the file may be run."""
        self.leave()
        row = wish.row
        name, plan = ("run", row.run) if row.reading is None else ("reading", row.reading)
        assert plan is not None  # noqa: S101  (else it cannot be wished for)
        self._wish, self._folder = wish, tempfile.TemporaryDirectory(prefix="kvscope-")
        self._check = OwnCheck(self)
        self._check.told.connect(self._on_told)
        self._check.ended.connect(self._on_ended)
        into = str(Path(self._folder.name) / FILE)
        self._check.start({**wish.ask, name: asdict(plan), "into": into})

    def leave(self) -> None:
        """Nothing more is told of a run that is being made."""
        check, self._check = self._check, None
        if check is not None:
            self._leaving.append(check)
            check.left.connect(self._forget_left)
            check.stop()
        self._drop_folder()

    def wait(self) -> None:
        """Until all that was left has ended."""
        for check in tuple(self._leaving):
            check.wait()

    @Slot(object)
    def _on_told(self, told: Mapping[str, Any]) -> None:
        if "cannot" in told:
            self.failed.emit(str(told["cannot"]))
        elif "run" in told:
            self._read(told["run"])

    def _read(self, told: Mapping[str, Any]) -> None:
        wish, folder = self._wish, self._folder
        assert wish is not None  # noqa: S101  (it was asked for)
        assert folder is not None  # noqa: S101
        path = Path(folder.name) / FILE
        try:
            if wish.row.reading is not None:
                self.made.emit(OwnReading(wish, _foreign(path), str(told["ended"])))
                return
            opened = open_trace(path)
        except CoreError as error:
            self.failed.emit(str(error))
            return
        self._n_made += 1
        said = MappingProxyType({int(step): str(words) for step, words in told["said"].items()})
        held = _held(opened, self._n_made)
        self.made.emit(OwnRun(wish, held, str(told["about"]), said, str(told["ended"])))

    @Slot(str)
    def _on_ended(self, why: str) -> None:
        self._check = None
        self._drop_folder()
        if why:
            self.failed.emit(why)

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @Slot()
    def _forget_left(self) -> None:
        self._leaving = [check for check in self._leaving if check is not self.sender()]


def _foreign(path: Path) -> ForeignRun:
    from core.foreign.checks import checked
    from core.foreign.file import read_foreign
    from core.foreign.readouts import ForeignRun

    return ForeignRun(checked(path, read_foreign(path).trace))


def _held(opened: OpenedTrace, number: int) -> HeldRun:
    """As the panels take it, at the first wrong step, else at the last."""
    from core.model.tokenizer import Tokenizer, byte_tokenizer_json  # of all small models

    trace = opened.trace
    assert trace is not None  # noqa: S101  (the file was written with every number)
    token_text = Tokenizer(byte_tokenizer_json(), None).token_text
    started = Started(number, Draft.of_spec(trace.spec, ""), trace.spec, trace.model, token_text)
    records = tuple(trace.records)
    history = RunHistory(records)
    history.diagnosed = _Undiagnosed()
    wrong = [verdict.step for verdict in opened.verdicts if verdict.is_wrong]
    return HeldRun(
        started=started,
        spec=trace.spec,
        records=records,
        clean=(),
        verdicts=MappingProxyType({verdict.step: verdict for verdict in opened.verdicts}),
        end=trace.end,
        selection=Selection(step=min(wrong, default=len(records) - 1)),
        history=history,
        clean_history=RunHistory(),
    )
