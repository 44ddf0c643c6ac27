"""Does what a link of a lesson asks: loads a run, goes to a step, chooses what to look at."""

from dataclasses import replace

from PySide6.QtCore import QObject, Slot

from app.draft import Draft
from app.run_control import RunControl
from core.faults.catalog import find_faults
from core.lessons import Show
from core.selection import Selection


class LessonLinks(QObject):
    """What a link names in a run that is on its way is chosen once its first steps are there."""

    def __init__(self, control: RunControl, parent: QObject) -> None:
        """Takes the run."""
        super().__init__(parent)
        self._control = control
        self._due: Show | None = None
        control.rested.connect(self._choose_what_is_due)
        control.run_asked.connect(self._forget)

    def follow(self, show: Show) -> None:
        """Do what a link asks."""
        if show.faults is None:
            self._choose(show)
            return
        if show.faults:
            self._load(show.faults, show.step)
        else:
            self._control.set_faults(())
        self._due = show

    def _load(self, faults: tuple[str, ...], step: int | None) -> None:
        scenario = find_faults(faults[0])[0].shows_in
        members = tuple(fault.id for name in faults for fault in find_faults(name))
        draft = Draft.of_scenario(scenario, members)
        self._control.draft_loaded.emit(draft)
        self._control.run(draft, None, "first wrong" if step is None else "newest", step)

    @Slot()
    def _forget(self) -> None:
        """Another run was asked for."""
        self._due = None

    @Slot()
    def _choose_what_is_due(self) -> None:
        due, self._due = self._due, None
        if due is not None:
            self._choose(due)

    def _choose(self, show: Show) -> None:
        cursor = self._control.cursor
        if show.step is not None:
            self._control.go_to(show.step)
        self._control.select(_with(cursor.selection, show))
        if show.is_played and not self._control.player.is_playing:
            self._control.play_or_pause()


def _with(at: Selection, show: Show) -> Selection:
    """The same, with what a link names."""
    named = {name: getattr(show, name) for name in ("slot", "token_index", "layer", "head")}
    return replace(at, **{name: value for name, value in named.items() if value is not None})
