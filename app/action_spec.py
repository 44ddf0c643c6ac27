"""What a command of the window is: its words, its keys, what it does, when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from app.reasons import Reason
from app.situation import Situation

if TYPE_CHECKING:  # a command is data: what it acts on is made from the list of commands
    from app.aids import Aids
    from app.files import Files
    from app.layouts import Layouts
    from app.looks import Looks
    from app.run_control import RunControl


class Shell(Protocol):
    """What commands act on: the run, and the window around it."""

    @property
    def control(self) -> RunControl:
        """The run."""
        ...

    @property
    def files(self) -> Files:
        """What is read and written."""
        ...

    @property
    def layouts(self) -> Layouts:
        """How the panels are arranged."""
        ...

    @property
    def looks(self) -> Looks:
        """Colours and the size of text."""
        ...

    @property
    def aids(self) -> Aids:
        """Small windows that help: commands, keys, going to a step."""
        ...

    def leave(self) -> None:
        """Close the window."""
        ...


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One command.

    Attributes:
        id: its name in tests and saved settings.
        text: as it stands in a menu, sentence case.
        menu: the menu that holds it, or "menu/submenu".
        tooltip: what it does, in a sentence.
        run: does it.
        blocked: why it cannot be done now; None: it can.
        keys: keys that always work.
        soft_keys: plain keys, which a control with the focus keeps for itself.
        icon: name of its icon; None: it has none.
        words: what it says instead of `text` in a situation; None: always `text`.
        note: what its tooltip says besides in a situation; None: never anything.
        is_on: whether it is the one in force, for a choice between several; None: it is no choice.
    """

    id: str
    text: str
    menu: str
    tooltip: str
    run: Callable[[Shell], None]
    blocked: Callable[[Situation], Reason]
    keys: tuple[str, ...] = ()
    soft_keys: tuple[str, ...] = ()
    icon: str | None = None
    is_on: Callable[[Shell], bool] | None = None
    words: Callable[[Situation], str] | None = None
    note: Callable[[Situation], Reason] | None = None

    @property
    def label(self) -> str:
        """Its words where no menu stands around them: "Theme: Dark"."""
        _, _, group = self.menu.partition("/")
        words = self.text.rstrip("…")
        return f"{group}: {words}" if group else words
