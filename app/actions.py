"""Every command of the window as data: its words, its keys, what it does, when it cannot."""

from collections.abc import Callable
from dataclasses import dataclass

from app.run_control import RunControl, Situation

Reason = str | None
STARTING = "the engine is starting"
NO_STEP = "there is no step yet"
END_WORDS = {
    "refused": "the cache refused the next token; choose another policy or a larger capacity",
    "end_of_text": "the model ended its text",
    "position_limit": "the model has no further position",
    "steps": "all steps are done",
    "cancelled": "it was stopped",
}


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One command.

    Attributes:
        id: its name in settings and tests.
        text: as it stands in a menu, sentence case.
        menu: the menu that holds it.
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
    run: Callable[[RunControl], None]
    blocked: Callable[[Situation], Reason]
    keys: tuple[str, ...] = ()
    soft_keys: tuple[str, ...] = ()
    icon: str | None = None


def _no_step(situation: Situation) -> Reason:
    if situation.n_records == 0:
        return NO_STEP if situation.is_ready else STARTING
    return None


def _no_way_back(situation: Situation) -> Reason:
    at_start = "this is the first step" if situation.step == 0 else None
    return _no_step(situation) or at_start


def _no_way_on(situation: Situation) -> Reason:
    if situation.n_records and situation.is_at_newest and situation.end is not None:
        return f"the run is over: {END_WORDS[situation.end]}"
    return _no_step(situation)


def _no_newer(situation: Situation) -> Reason:
    at_end = "this is the newest step" if situation.is_at_newest else None
    return _no_step(situation) or at_end


def _cannot_play(situation: Situation) -> Reason:
    return None if situation.is_playing else _no_way_on(situation)


def _nothing_wrong(situation: Situation) -> Reason:
    if situation.first_wrong is not None:
        return None
    known = "no step of this run is wrong" if situation.is_judged else "verdicts are pending"
    return _no_step(situation) or known


def _nothing_runs(situation: Situation) -> Reason:
    return None if situation.is_playing or situation.is_busy else "nothing is running"


def _not_ready(situation: Situation) -> Reason:
    return None if situation.is_ready else STARTING


def _never(situation: Situation) -> Reason:
    return None


def _tenth(tenth: int) -> ActionSpec:
    return ActionSpec(
        id=f"tenth-{tenth}",
        text=f"Go to {tenth * 10} %",
        menu="Run/Go to",
        tooltip=f"Look at the step that stands at {tenth} tenths of the run",
        run=lambda control: control.go_to_tenth(tenth),
        blocked=_no_step,
        soft_keys=(str(tenth),),
    )


ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "first",
        "First step",
        "Run",
        "Look at step 0",
        RunControl.first,
        _no_way_back,
        soft_keys=("Home",),
        icon="first",
    ),
    ActionSpec(
        "back",
        "Step back",
        "Run",
        "Look at the step before; nothing is computed",
        RunControl.back,
        _no_way_back,
        keys=("Shift+F10",),
        soft_keys=("Left", ","),
        icon="back",
    ),
    ActionSpec(
        "play",
        "Play or pause",
        "Run",
        "Go on step by step, or stay at this one",
        RunControl.play_or_pause,
        _cannot_play,
        keys=("F5",),
        soft_keys=("Space", "K"),
        icon="play",
    ),
    ActionSpec(
        "step",
        "Step",
        "Run",
        "Look at the next step; past the newest one, the engine makes it",
        RunControl.forward,
        _no_way_on,
        keys=("F10",),
        soft_keys=("Right", "."),
        icon="step",
    ),
    ActionSpec(
        "last",
        "Newest step",
        "Run",
        "Look at the newest step",
        RunControl.last,
        _no_newer,
        soft_keys=("End",),
        icon="last",
    ),
    ActionSpec(
        "first-wrong",
        "To first wrong step",
        "Run",
        "Look at the first step with a verdict that is wrong",
        RunControl.to_first_wrong,
        _nothing_wrong,
        keys=("F8",),
        icon="first-wrong",
    ),
    ActionSpec(
        "jump-back",
        "Ten steps back",
        "Run",
        "Look at the step ten before this one",
        RunControl.jump_back,
        _no_way_back,
        soft_keys=("J", "Shift+Left"),
    ),
    ActionSpec(
        "jump-on",
        "Ten steps on",
        "Run",
        "Look at the step ten after this one; the engine makes those that are missing",
        RunControl.jump_on,
        _no_way_on,
        soft_keys=("L", "Shift+Right"),
    ),
    ActionSpec(
        "slower",
        "Slower",
        "Run",
        "Play at half the speed",
        lambda control: control.player.slower(),
        _never,
        soft_keys=("[", "<"),
    ),
    ActionSpec(
        "faster",
        "Faster",
        "Run",
        "Play at twice the speed",
        lambda control: control.player.faster(),
        _never,
        soft_keys=("]", ">"),
    ),
    ActionSpec(
        "stop",
        "Stop",
        "Run",
        "Stop playing, and computing after the step in progress",
        RunControl.stop,
        _nothing_runs,
        keys=("Shift+F5",),
    ),
    ActionSpec(
        "restart",
        "Restart run",
        "Run",
        "The same run again from its first step",
        RunControl.restart,
        _not_ready,
        keys=("Ctrl+R",),
        icon="restart",
    ),
    *(_tenth(tenth) for tenth in range(10)),
)
