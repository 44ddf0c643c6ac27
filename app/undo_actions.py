"""The commands that take back what was changed in what is run."""

from app import reasons
from app.action_spec import ActionSpec

UNDO_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="undo",
        text="Undo",
        menu="Edit",
        tooltip="Take back the last change of settings, prompt or faults",
        run=lambda shell: shell.control.undo(),
        blocked=reasons.nothing_to_undo,
        keys=("Ctrl+Z",),
        words=lambda situation: _with("Undo", situation.undoable),
    ),
    ActionSpec(
        id="redo",
        text="Redo",
        menu="Edit",
        tooltip="Do again what was taken back",
        run=lambda shell: shell.control.redo(),
        blocked=reasons.nothing_to_redo,
        keys=("Ctrl+Shift+Z",),
        words=lambda situation: _with("Redo", situation.redoable),
    ),
)


def _with(verb: str, what: str | None) -> str:
    return verb if what is None else f"{verb} {what}"
