"""What is the case now: all that decides which commands are possible."""

from dataclasses import dataclass

from core.outcome import EndReason


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of the run and of the engine, in a few facts.

    Attributes:
        is_ready: the engine is loaded.
        is_broken: the engine could not be loaded, and never will be.
        is_starting: a run was asked for whose first steps are not there yet.
        is_busy: steps were asked for that are not there yet.
        is_playing: steps follow of themselves.
        n_records: steps there are.
        step: the step looked at.
        end: why no further step can come; None: one can, or another run is on its way.
        first_wrong: first step known to be wrong.
        is_judged: whether every step has a verdict.
        end_words: `end` as a sentence, with its numbers.
        undoable: what can be taken back; None: nothing.
        redoable: what was taken back and can be done again; None: nothing.
    """

    is_ready: bool
    is_broken: bool
    is_starting: bool
    is_busy: bool
    is_playing: bool
    n_records: int
    step: int
    end: EndReason | None
    first_wrong: int | None
    is_judged: bool
    end_words: str | None = None
    undoable: str | None = None
    redoable: str | None = None

    @property
    def is_at_newest(self) -> bool:
        """Whether the newest step is looked at."""
        return self.step == self.n_records - 1
