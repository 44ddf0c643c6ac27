"""What the worker needs of the engine, so that it can be made without importing it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from core.spec import RunSpec

if TYPE_CHECKING:  # all of these import torch
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

    def session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """A run that has not begun."""
        ...

    def clean_session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """The same run without a fault."""
        ...

    def judge(self, session: Session) -> Judge:
        """Who judges the steps of a session."""
        ...


class TorchBackend:
    """The engine. To be made in the worker's thread: torch takes more than a second to import."""

    def __init__(self) -> None:
        import torch

        from core.judge import Judge
        from core.model.devices import device_names
        from core.model.loading import load_model
        from core.session import Session

        self.devices = device_names()
        self.version = torch.__version__
        self._load_model = load_model
        self._session = Session
        self._judge = Judge
        self._loaded: tuple[str, LoadedModel] | None = None

    def model(self, name: str) -> LoadedModel:
        """The model of a name or folder; the one used last is kept."""
        if self._loaded is None or self._loaded[0] != name:
            self._loaded = (name, self._load_model(name))
        return self._loaded[1]

    def session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """A run that has not begun."""
        return self._session(spec, loaded)

    def clean_session(self, spec: RunSpec, loaded: LoadedModel) -> Session:
        """The same run without a fault."""
        return self._session(replace(spec, faults=()), loaded)

    def judge(self, session: Session) -> Judge:
        """Who judges the steps of a session."""
        return self._judge(session.trace, session.loaded)
