"""What crosses between the window and the worker thread: frozen, and passed by reference."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.draft import Draft
from core.outcome import EndReason
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.spec import RunSpec
from core.trace import ModelInfo
from core.tracefile import OpenedTrace
from core.verdict import StepVerdict

if TYPE_CHECKING:  # not loaded before the first picture
    from core.foreign.readouts import ForeignRun


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Begin another run.

    Attributes:
        run_id: its number; answers carry it.
        draft: what to run.
        n_records: steps to make at once; None: all that the draft plans.
        cancelled: looked at between steps.
        opened: the file that the run is compared with once its first steps are made.
    """

    run_id: int
    draft: Draft
    n_records: int | None
    cancelled: threading.Event
    opened: OpenedTrace | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """How to make a run again that the engine has not open any more, or never had.

    Attributes:
        run_id: its number.
        draft: what was asked.
        n_records: steps that are known of it.
        cancelled: looked at between steps.
    """

    run_id: int
    draft: Draft
    n_records: int
    cancelled: threading.Event


@dataclass(frozen=True, slots=True, eq=False)
class Advance:
    """Make more steps of the run.

    Attributes:
        run: the run that is meant.
        n: steps wanted; 0: make it ready, so that it can go on.
        judge_every: judge as soon as so many steps are not judged yet.
    """

    run: Again
    n: int
    judge_every: int


@dataclass(frozen=True, slots=True, eq=False)
class Save:
    """Write the run to a file.

    Attributes:
        run: the run that is meant.
        path: the file.
        full: with every number; else as a specification with digests.
    """

    run: Again
    path: Path
    full: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The engine can be asked.

    Attributes:
        devices: devices that this machine has, the processor first.
        version: the version of torch.
    """

    devices: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A trace file was read; nothing was run yet.

    Attributes:
        draft: what it asks to be run.
        n_records: steps that it has.
        trace: all that it says.
    """

    draft: Draft
    n_records: int
    trace: OpenedTrace


@dataclass(frozen=True, slots=True, eq=False)
class OpenedElsewhere:
    """A file was read that another engine wrote.

    Attributes:
        path: the file.
        run: all that it says.
    """

    path: Path
    run: ForeignRun


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """A run began; its records follow.

    Attributes:
        run_id: its number.
        draft: what was asked.
        spec: what that came to.
        model: the model used.
        token_text: what a token id shows as.
    """

    run_id: int
    draft: Draft
    spec: RunSpec
    model: ModelInfo
    token_text: Callable[[int], str]


@dataclass(frozen=True, slots=True, eq=False)
class Remade:
    """A run that was known was made again, as far as it is known; all of it at once.

    Attributes:
        started: how it began.
        spec: its specification, as far as it grew.
        records: its steps.
        clean: those of the same run without faults.
        verdicts: of all of its steps.
        end: why no further step can come; None: one can.
        history: what the records say of any step; from now on it is the window's to append to.
        clean_history: likewise of `clean`.
    """

    started: Started
    spec: RunSpec
    records: tuple[StepRecord, ...]
    clean: tuple[StepRecord, ...]
    verdicts: tuple[StepVerdict, ...]
    end: EndReason | None
    history: RunHistory
    clean_history: RunHistory

    @property
    def run_id(self) -> int:
        """Number of the run."""
        return self.started.run_id


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The next steps of a run, and its specification, which grows with them."""

    run_id: int
    records: tuple[StepRecord, ...]
    spec: RunSpec


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Verdicts of steps that were recorded before, in order."""

    run_id: int
    verdicts: tuple[StepVerdict, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CleanRecorded:
    """The next steps of the same specification without its faults, left to itself."""

    run_id: int
    records: tuple[StepRecord, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """No further step comes: for ever, or ("cancelled") until it is asked for again."""

    run_id: int
    reason: EndReason


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a person should know of the run, in one line.

    Attributes:
        run_id: its number.
        text: the line.
        is_passing: whether it is about the steps that there are, and void with one more.
    """

    run_id: int
    text: str
    is_passing: bool


@dataclass(frozen=True, slots=True)
class Idle:
    """Everything that was asked with one Start or Advance was done."""

    run_id: int


@dataclass(frozen=True, slots=True)
class Failed:
    """What was asked cannot be done.

    Attributes:
        run_id: the run that was asked for.
        message: one line for a person.
        place: the field of the form that it is about; None: none in particular.
        details: the program's own account of a fault of its own; None: the choice was at fault.
    """

    run_id: int
    message: str
    place: str | None = None
    details: str | None = None
