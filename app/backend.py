"""What the worker needs of the engine, so that it can be made without importing it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.faults.known import BUILT_IN, KnownFaults
from core.spec import RunSpec
from core.tracefile import OpenedTrace, open_trace, save_trace

if TYPE_CHECKING:  # all of these import torch, or are not needed before the first picture
    from core.foreign.readouts import ForeignRun
    from core.judge import Judge
    from core.model.loading import LoadedModel
    from core.session import Session


class Backend(Protocol):
    """Makes models, sessions and judges."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that this machine has, the processor first."""
        ...

    @property
    def version(self) -> str:
        """The version of the library that computes."""
        ...

    def model(self, name: str) -> LoadedModel:
        """The model of a name or folder."""
        ...

    def use_faults(self, known: KnownFaults) -> None:
        """From now on these are the faults that there are."""
        ...

    def session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """A run that has not begun."""
        ...

    def clean_session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """The same run without a fault."""
        ...

    def judge(self, session: Session) -> Judge:
        """Who judges the steps of a session."""
        ...

    def open_trace(self, path: Path) -> OpenedTrace:
        """What a trace file says; nothing is run."""
        ...

    def open_foreign(self, path: Path) -> ForeignRun:
        """What a trace of another engine says."""
        ...

    def agreement(self, opened: OpenedTrace, session: Session) -> str:
        """How a run that was made again compares with the file it comes from, in a sentence."""
        ...

    def save_trace(self, path: Path, session: Session, judge: Judge, *, full: bool) -> None:
        """Write a run and its verdicts to a file."""
        ...


class TorchBackend:
    """The engine. To be made in the worker's thread: torch takes more than a second to import."""

    def __init__(self) -> None:
        import torch

        from core.judge import Judge
        from core.model.devices import device_names
        from core.model.loading import load_model
        from core.session import Session
        from core.trace_rerun import rerun

        self.devices = device_names()
        self.version = torch.__version__
        self._load_model = load_model
        self._session = Session
        self._judge = Judge
        self._rerun = rerun
        self._loaded: tuple[str, LoadedModel] | None = None
        self._known = BUILT_IN

    def model(self, name: str) -> LoadedModel:
        """The model of a name or folder; the one used last is kept."""
        if self._loaded is None or self._loaded[0] != name:
            self._loaded = (name, self._load_model(name))
        return self._loaded[1]

    def use_faults(self, known: KnownFaults) -> None:
        """From now on these are the faults that there are."""
        self._known = known

    def session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """A run that has not begun."""
        return self._session(spec, loaded, known=self._known)

    def clean_session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """The same run without a fault."""
        return self._session(replace(spec, faults=()), loaded)

    def judge(self, session: Session) -> Judge:
        """Who judges the steps of a session."""
        return self._judge(session.trace, session.loaded)

    def open_trace(self, path: Path) -> OpenedTrace:
        """What a trace file says; nothing is run."""
        return open_trace(path)

    def open_foreign(self, path: Path) -> ForeignRun:
        """What a trace of another engine says."""
        from core.foreign.checks import checked
        from core.foreign.file import read_foreign
        from core.foreign.readouts import ForeignRun

        return ForeignRun(checked(path, read_foreign(path).trace))

    def agreement(self, opened: OpenedTrace, session: Session) -> str:
        """How a run that was made again compares with the file it comes from, in a sentence."""
        if tuple(session.trace.digests()) == opened.recorded.digests:
            return "every step is the recorded one, bit for bit"
        again = self._rerun(opened, session.loaded, self._known)
        place = "on the same machine and versions" if again.is_same_place else "elsewhere"
        if again.first_different_step is None:
            return f"recorded {place}: same tokens, and numbers equal up to rounding"
        return f"recorded {place}: step {again.first_different_step} is not the recorded one"

    def save_trace(self, path: Path, session: Session, judge: Judge, *, full: bool) -> None:
        """Write a run and its verdicts to a file."""
        save_trace(path, session.trace, full=full, verdicts=judge.verdicts)
