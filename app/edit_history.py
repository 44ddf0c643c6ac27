"""What a person changed in what is to be run, so that it can be taken back.

Plain lists, not a QUndoStack: PySide6 6.11 crashes when the interpreter ends while a stack holds
commands that are made in Python.
"""

from dataclasses import dataclass, replace

from app.draft import Draft

MOST_EDITS = 100


@dataclass(frozen=True, slots=True)
class Edit:
    """From one draft to the next.

    Attributes:
        words: what changed.
        before: the draft before it; `after`: the one that it led to.
        n_before: steps that the run before it had, to be made again; None: all that are planned.
        n_after: likewise of the run that it led to, once it was taken back.
    """

    words: str
    before: Draft
    after: Draft
    n_before: int | None
    n_after: int | None = None


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that is gone back to: what decides it, and its steps; None: all that are planned."""

    draft: Draft
    n_records: int | None


class EditHistory:
    """Undo and redo for drafts."""

    def __init__(self) -> None:
        """Nothing was changed yet."""
        self._done: list[Edit] = []
        self._taken_back: list[Edit] = []

    @property
    def undoable(self) -> str | None:
        """What would be taken back; None: there is nothing."""
        return self._done[-1].words if self._done else None

    @property
    def redoable(self) -> str | None:
        """What would be done again; None: there is nothing."""
        return self._taken_back[-1].words if self._taken_back else None

    def add(self, words: str, before: Draft, after: Draft, n_before: int | None) -> None:
        """An edit was made, of a run with so many steps; the same draft again is none."""
        if before != after:
            self._done = [*self._done, Edit(words, before, after, n_before)][-MOST_EDITS:]
            self._taken_back = []

    def undo(self, n_now: int | None) -> OldRun | None:
        """The run before the last edit; None: there was none. `n_now`: steps of the run shown."""
        if not self._done:
            return None
        edit = replace(self._done.pop(), n_after=n_now)
        self._taken_back.append(edit)
        return OldRun(edit.before, edit.n_before)

    def redo(self, n_now: int | None) -> OldRun | None:
        """The run after the edit that was taken back last; None: there is none."""
        if not self._taken_back:
            return None
        edit = replace(self._taken_back.pop(), n_before=n_now)
        self._done.append(edit)
        return OldRun(edit.after, edit.n_after)


_WORDS = {
    "model": "model",
    "prompt": "prompt",
    "policy": "policy",
    "capacity": "capacity",
    "sinks": "sinks",
    "reassign_positions": "positions",
    "chunk": "chunk",
    "temperature": "temperature",
    "seed": "seed",
    "device": "device",
    "dtype": "number type",
    "then": "requests",
    "faults": "faults",
    "force_ids": "forced token",
}


def edit_words(before: Draft, after: Draft) -> str:
    """What an edit changed: "capacity"; more than two things are "settings"."""
    changed = [
        word for name, word in _WORDS.items() if getattr(before, name) != getattr(after, name)
    ]
    if "prompt" in changed or "model" in changed:
        changed = [word for word in changed if word != "forced token"]
    return " and ".join(changed) if 1 <= len(changed) <= 2 else "settings"
