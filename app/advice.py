"""What a person is told when a run goes no further, or shows nothing, and the ways out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from app.draft import Draft
from app.notice import Notice, Offer
from core.faults.catalog import find_faults
from core.faults.why_silent import why_silent
from core.outcome import EndReason, PositionLimit, Refused
from core.readouts.run_view import RunView
from core.record import StepRecord
from core.spec import FaultUse

_NO_DIFFERENCE = "what its function answered made no difference there"
_MORE = 2
"""A capacity that turned out too small is doubled, until what was refused has room."""
_ENDLESS_MODEL = "tiny-rope"
"""A model without a table of positions."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A way on: what to do, in words and on a button, and what is then run."""

    words: str
    label: str
    draft: Draft


def end_words(end: EndReason, last: StepRecord, draft: Draft, limit: int | None) -> str:
    """Why a run is over, as a sentence, with the numbers of its last step.

    `limit`: positions that the model has; None: no end of them.
    """
    advice = " or ".join(way.words for way in _ways_on(end, last, draft, limit))
    advice = advice[:1].upper() + advice[1:]
    match last.outcome:
        case Refused(needed, free) if advice:
            full = f"cache full, needs {needed}, {free} free of {last.ledger.capacity}"
            return f"Run ended: {full}. {advice}"
        case PositionLimit(n_ctx):
            return f"Run ended: the model has {n_ctx} positions. {advice}"
        case _:
            return _PLAIN_ENDS.get(end, "Run ended")


_PLAIN_ENDS: dict[EndReason, str] = {
    "refused": "Run ended: the last step was refused, and there is no token to read next",
    "end_of_text": "Run ended: the model ended its text. Change the prompt to go on",
    "steps": "Run ended: all its steps are done",
}


def _ways_on(end: EndReason, last: StepRecord, draft: Draft, limit: int | None) -> tuple[_Way, ...]:
    """What lets the step through that ended the run, the least change first."""
    reprefill = _Way(
        "choose the policy reprefill", "Policy reprefill", replace(draft, policy="reprefill")
    )
    match last.outcome:
        case Refused(needed, free) if end == "refused" and last.phase != "rollback":
            n_rows = last.ledger.capacity - free + needed
            if limit is not None and n_rows > limit:
                words = f"{reprefill.words}: the model has {limit} positions"
                return (replace(reprefill, words=words),)
            larger = _doubled(draft.capacity, n_rows, limit)
            window = replace(draft, policy="window")
            return (
                _Way("raise the capacity", f"Capacity {larger}", replace(draft, capacity=larger)),
                _Way("choose window", "Policy window", window),
            )
        case PositionLimit():
            other = draft.with_text(_ENDLESS_MODEL, draft.prompt)
            words = "a model without learned positions"
            return reprefill, _Way(words, f"Model {_ENDLESS_MODEL}", other)
        case _:
            return ()


def _doubled(capacity: int, n_rows: int, limit: int | None) -> int:
    """The capacity, doubled until it holds so many rows; never above what the model can number."""
    larger = _MORE * capacity
    while larger < n_rows:
        larger *= _MORE
    return larger if limit is None else min(larger, limit)


def run_ended(
    end: EndReason,
    last: StepRecord,
    draft: Draft,
    limit: int | None,
    set_up: Callable[[Draft], None],
) -> Notice:
    """That a run is over, with the ways on where the cache was full or the positions used up."""
    ways = _ways_on(end, last, draft, limit)
    offers = [Offer(way.label, partial(set_up, way.draft)) for way in ways]
    first, second = (*offers, None, None)[:2]
    words = end_words(end, last, draft, limit)
    return Notice(words, offer=first, second_offer=second, is_passing=True)


def nothing_shows(view: RunView, show_fault: Callable[[str], None]) -> Notice:
    """That faults are on and nothing is wrong, why that is so, and what shows the last one."""
    uses = view.spec.faults
    n = len(view.records)
    steps = "its one step" if n == 1 else f"its {n} steps"
    ids = " and ".join(use.id for use in uses)
    why = [_why_silent(use, view) for use in uses]
    if len(set(why)) == 1:
        why = why[:1]
    else:
        why = [f"{use.id}, {reason}" for use, reason in zip(uses, why, strict=True)]
    verb = "is" if len(uses) == 1 else "are"
    text = f"{ids} {verb} on, and nothing is wrong in {steps}: {'; '.join(why)}"
    shows = "that shows it" if len(uses) == 1 else f"of {uses[-1].id}"
    words = f"Load the scenario {shows}"
    return Notice(text, offer=Offer(words, lambda: show_fault(uses[-1].id)), is_passing=True)


def _why_silent(use: FaultUse, view: RunView) -> str:
    return why_silent(use, view.records) if use.file is None else _NO_DIFFERENCE


def hint(try_fault: Callable[[str], None]) -> Notice:
    """What to try first."""
    fault = find_faults("mask-top-left")[0]
    title = fault.title[0].lower() + fault.title[1:]
    offer = Offer("Try: mask taken from row 0", lambda: try_fault(fault.id))
    return Notice(f"Nothing is wrong in this run. Break it: {title}.", offer=offer)
