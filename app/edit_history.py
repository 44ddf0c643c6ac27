"""What a person changed in what is to be run, so that it can be taken back.

Plain lists, not a QUndoStack: PySide6 6.11 crashes when the interpreter ends while a stack holds
commands that are made in Python.
"""

from dataclasses import dataclass

from app.draft import Draft

MOST_EDITS = 100


@dataclass(frozen=True, slots=True)
class Edit:
    """From one draft to the next, and what changed, in words."""

    words: str
    before: Draft
    after: Draft


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

    def add(self, words: str, before: Draft, after: Draft) -> None:
        """An edit was made; the same draft again is none."""
        if before != after:
            self._done = [*self._done, Edit(words, before, after)][-MOST_EDITS:]
            self._taken_back = []

    def undo(self) -> Draft | None:
        """The draft before the last edit; None: there was none."""
        if not self._done:
            return None
        self._taken_back.append(self._done.pop())
        return self._taken_back[-1].before

    def redo(self) -> Draft | None:
        """The draft after the edit that was taken back last; None: there is none."""
        if not self._taken_back:
            return None
        self._done.append(self._taken_back.pop())
        return self._done[-1].after


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
