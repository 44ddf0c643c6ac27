"""Why a command cannot be done now, in words; None where it can."""

from app.situation import Situation

Reason = str | None
STARTING = "the engine is starting"
BROKEN = "the engine could not be loaded"
NO_STEP = "there is no step yet"
NOT_BEGUN = "the run could not begin: choose other settings or faults"
END_WORDS = {
    "refused": "the cache refused the next token; choose another policy or a larger capacity",
    "end_of_text": "the model ended its text",
    "position_limit": "the model has no further position",
    "steps": "all steps are done",
    "cancelled": "it was stopped",
}


def no_step(situation: Situation) -> Reason:
    """There is no step to look at."""
    if situation.n_records:
        return None
    is_due = situation.is_starting or situation.is_busy
    return not_ready(situation) or (NO_STEP if is_due else NOT_BEGUN)


def no_way_back(situation: Situation) -> Reason:
    """There is no earlier step."""
    at_start = "this is the first step" if situation.step == 0 else None
    return no_step(situation) or at_start


def no_way_on(situation: Situation) -> Reason:
    """There is no later step, and none can be made."""
    if situation.n_records and situation.is_at_newest and situation.end is not None:
        return situation.end_words or f"the run is over: {END_WORDS[situation.end]}"
    is_engines = situation.n_records and situation.is_at_newest
    return no_step(situation) or (not_ready(situation) if is_engines else None)


def only_recorded(situation: Situation) -> Reason:
    """What a command that may need the engine can do without it; None: the engine is there."""
    if situation.is_ready or situation.is_broken:
        return None
    return "Engine starting…: until it is there, only steps that are recorded"


def no_newer(situation: Situation) -> Reason:
    """The newest step is looked at."""
    at_end = "this is the newest step" if situation.is_at_newest else None
    return no_step(situation) or at_end


def cannot_play(situation: Situation) -> Reason:
    """Nothing would follow."""
    return None if situation.is_playing else no_way_on(situation)


def nothing_wrong(situation: Situation) -> Reason:
    """No step is known to be wrong."""
    if situation.first_wrong is not None:
        return None
    known = "no step of this run is wrong" if situation.is_judged else "verdicts are pending"
    return no_step(situation) or known


def cannot_save(situation: Situation) -> Reason:
    """There is no run, or nobody to write it."""
    return no_step(situation) or not_ready(situation)


def nothing_runs(situation: Situation) -> Reason:
    """There is nothing to stop."""
    return None if situation.is_playing or situation.is_busy else "nothing is running"


def not_ready(situation: Situation) -> Reason:
    """The engine cannot be asked, or not yet."""
    if situation.is_broken:
        return BROKEN
    return None if situation.is_ready else STARTING


def nothing_to_undo(situation: Situation) -> Reason:
    """No edit was made that could be taken back."""
    return None if situation.undoable is not None else "nothing was changed yet"


def nothing_to_redo(situation: Situation) -> Reason:
    """No edit was taken back."""
    return None if situation.redoable is not None else "nothing was taken back"


def never(situation: Situation) -> Reason:
    """Always possible."""
    return None
