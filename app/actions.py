"""Every command of the window as data: its words, its keys, what it does, when it cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app import reasons
from app.reasons import Reason
from app.run_control import RunControl
from app.situation import Situation


class Shell(Protocol):
    """What commands act on: the run, and the window around it."""

    @property
    def control(self) -> RunControl:
        """The run."""
        ...

    def open_file(self) -> None:
        """Ask for a trace and open it."""
        ...

    def save_file(self) -> None:
        """Ask for a place and save the run there."""
        ...

    def reset_layout(self) -> None:
        """Arrange the panels as at the first start."""
        ...

    def show_about(self) -> None:
        """Say what this program is."""
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


def _tenth(tenth: int) -> ActionSpec:
    return ActionSpec(
        id=f"tenth-{tenth}",
        text=f"{tenth * 10} % of the run",
        menu="Run/Go to",
        tooltip=f"Look at the step that stands at {tenth} tenths of the run",
        run=lambda shell: shell.control.go_to_tenth(tenth),
        blocked=reasons.no_step,
        soft_keys=(str(tenth),),
    )


ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        id="open",
        text="Open trace…",
        menu="File",
        tooltip="Open a .kvtrace: the run is made again and compared",
        run=lambda shell: shell.open_file(),
        blocked=reasons.not_ready,
        keys=("Ctrl+O",),
    ),
    ActionSpec(
        id="save",
        text="Save trace…",
        menu="File",
        tooltip="Save this run, as a specification or with all its numbers",
        run=lambda shell: shell.save_file(),
        blocked=reasons.no_step,
        keys=("Ctrl+S",),
    ),
    ActionSpec(
        id="quit",
        text="Quit",
        menu="File",
        tooltip="Close the window; its layout is kept",
        run=lambda shell: shell.leave(),
        blocked=reasons.never,
        keys=("Ctrl+Q",),
    ),
    ActionSpec(
        id="play",
        text="Play",
        menu="Run",
        tooltip="Go on step by step, or stay at this one",
        run=lambda shell: shell.control.play_or_pause(),
        blocked=reasons.cannot_play,
        keys=("F5",),
        soft_keys=("Space", "K"),
        icon="play",
    ),
    ActionSpec(
        id="stop",
        text="Stop",
        menu="Run",
        tooltip="Stop playing, and computing after the step in progress",
        run=lambda shell: shell.control.stop(),
        blocked=reasons.nothing_runs,
        keys=("Shift+F5",),
    ),
    ActionSpec(
        id="step",
        text="Step",
        menu="Run",
        tooltip="Look at the next step; past the newest one, the engine makes it",
        run=lambda shell: shell.control.forward(),
        blocked=reasons.no_way_on,
        keys=("F10",),
        soft_keys=("Right", "."),
        icon="step",
    ),
    ActionSpec(
        id="back",
        text="Step back",
        menu="Run",
        tooltip="Look at the step before; nothing is computed",
        run=lambda shell: shell.control.back(),
        blocked=reasons.no_way_back,
        keys=("Shift+F10",),
        soft_keys=("Left", ","),
        icon="back",
    ),
    ActionSpec(
        id="first-wrong",
        text="To first wrong step",
        menu="Run",
        tooltip="Look at the first step with a verdict that is wrong",
        run=lambda shell: shell.control.to_first_wrong(),
        blocked=reasons.nothing_wrong,
        keys=("F8",),
        icon="first-wrong",
    ),
    ActionSpec(
        id="restart",
        text="Restart run",
        menu="Run",
        tooltip="The same run again from its first step",
        run=lambda shell: shell.control.restart(),
        blocked=reasons.not_ready,
        keys=("Ctrl+R",),
        icon="restart",
    ),
    ActionSpec(
        id="first",
        text="First step",
        menu="Run/Go to",
        tooltip="Look at step 0",
        run=lambda shell: shell.control.first(),
        blocked=reasons.no_way_back,
        soft_keys=("Home",),
        icon="first",
    ),
    ActionSpec(
        id="last",
        text="Newest step",
        menu="Run/Go to",
        tooltip="Look at the newest step",
        run=lambda shell: shell.control.last(),
        blocked=reasons.no_newer,
        soft_keys=("End",),
        icon="last",
    ),
    ActionSpec(
        id="jump-back",
        text="Ten steps back",
        menu="Run/Go to",
        tooltip="Look at the step ten before this one",
        run=lambda shell: shell.control.jump_back(),
        blocked=reasons.no_way_back,
        soft_keys=("J", "Shift+Left"),
    ),
    ActionSpec(
        id="jump-on",
        text="Ten steps on",
        menu="Run/Go to",
        tooltip="Look at the step ten after this one; the engine makes those that are missing",
        run=lambda shell: shell.control.jump_on(),
        blocked=reasons.no_way_on,
        soft_keys=("L", "Shift+Right"),
    ),
    *(_tenth(tenth) for tenth in range(10)),
    ActionSpec(
        id="slower",
        text="Slower",
        menu="Run/Speed",
        tooltip="Play at half the speed",
        run=lambda shell: shell.control.player.slower(),
        blocked=reasons.never,
        soft_keys=("[", "<"),
    ),
    ActionSpec(
        id="faster",
        text="Faster",
        menu="Run/Speed",
        tooltip="Play at twice the speed",
        run=lambda shell: shell.control.player.faster(),
        blocked=reasons.never,
        soft_keys=("]", ">"),
    ),
    ActionSpec(
        id="reset-layout",
        text="Reset layout",
        menu="Window",
        tooltip="Arrange the panels as at the first start",
        run=lambda shell: shell.reset_layout(),
        blocked=reasons.never,
    ),
    ActionSpec(
        id="about",
        text="About kvscope",
        menu="Help",
        tooltip="What this program is, and its versions",
        run=lambda shell: shell.show_about(),
        blocked=reasons.never,
        keys=("F1",),
    ),
)
