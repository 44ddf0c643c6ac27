"""The run that the worker has open, and what of it was not sent yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.record import StepRecord

if TYPE_CHECKING:  # both import torch
    from core.judge import Judge
    from core.session import Session


@dataclass(slots=True)
class OpenRun:
    """One session with its judge, and beside it the same run without faults.

    Attributes:
        run_id: its number.
        session: the run.
        judge: who judges it.
        clean: the same run without faults; None where there are none.
        records: steps made and not sent yet.
        clean_records: those of the run without faults.
        n_unjudged: steps that were not judged yet.
    """

    run_id: int
    session: Session
    judge: Judge
    clean: Session | None
    records: list[StepRecord] = field(default_factory=list[StepRecord])
    clean_records: list[StepRecord] = field(default_factory=list[StepRecord])
    n_unjudged: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no step can follow, however many are asked for."""
        return self.session.trace.end not in (None, "steps")

    def next_record(self) -> StepRecord | None:
        """One step more, past what the specification planned; None: the run is over."""
        return _next_of(self.session)

    def planned_record(self) -> StepRecord | None:
        """One step more of what the specification planned; None: there is none."""
        return _packed(self.session, self.session.advance())

    def keep(self, record: StepRecord) -> None:
        """Take a record, and let the run without faults make as many."""
        self.records.append(record)
        self.n_unjudged += 1
        clean_record = None if self.clean is None else _next_of(self.clean)
        if clean_record is not None:
            self.clean_records.append(clean_record)


def _next_of(session: Session) -> StepRecord | None:
    record = session.advance()
    if record is None and session.trace.end == "steps":
        session.decode_more(1)
        record = session.advance()
    return _packed(session, record)


def _packed(session: Session, record: StepRecord | None) -> StepRecord | None:
    """The record as it is kept for long: the window holds all of them."""
    return None if record is None else session.trace.pack_newest()
