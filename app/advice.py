"""What a person is told when a run goes no further, or shows nothing, and the ways out."""

from collections.abc import Callable
from dataclasses import replace

from app.draft import Draft
from app.notice import Notice, Offer
from core.faults.catalog import find_faults
from core.faults.why_silent import why_silent
from core.outcome import EndReason, PositionLimit, Refused
from core.readouts.run_view import RunView
from core.record import StepRecord

_NO_DIFFERENCE = "what its function answered made no difference there"
_MORE = 2
"""A capacity that turned out too small is doubled."""


def end_words(end: EndReason, last: StepRecord) -> str:
    """Why a run is over, as a sentence, with the numbers of its last step."""
    match last.outcome:
        case Refused(needed, free) if end == "refused" and last.phase != "rollback":
            return (
                f"Run ended: cache full, needs {needed}, {free} free of {last.ledger.capacity}. "
                "Raise the capacity or choose window"
            )
        case PositionLimit(n_ctx):
            return (
                f"Run ended: the model has {n_ctx} positions. Choose the policy reprefill, or a "
                "model without learned positions"
            )
        case _:
            return _PLAIN_ENDS.get(end, "Run ended")


_PLAIN_ENDS: dict[EndReason, str] = {
    "refused": "Run ended: the last step was refused, and there is no token to read next",
    "end_of_text": "Run ended: the model ended its text. Change the prompt to go on",
    "steps": "Run ended: all its steps are done",
}


def run_ended(
    end: EndReason, last: StepRecord, draft: Draft, set_up: Callable[[Draft], None]
) -> Notice:
    """That a run is over, with the two ways on where the cache was full."""
    words = end_words(end, last)
    is_full = isinstance(last.outcome, Refused) and end == "refused" and last.phase != "rollback"
    if not is_full:
        return Notice(words, is_passing=True)
    larger = replace(draft, capacity=_MORE * draft.capacity)
    window = replace(draft, policy="window")
    return Notice(
        words,
        offer=Offer(f"Capacity {larger.capacity}", lambda: set_up(larger)),
        second_offer=Offer("Policy window", lambda: set_up(window)),
        is_passing=True,
    )


def nothing_shows(view: RunView, show_fault: Callable[[str], None]) -> Notice:
    """That a fault is on and nothing is wrong, why that is so, and what shows it."""
    use = view.spec.faults[-1]
    fault_id = use.id
    n = len(view.records)
    steps = "its one step" if n == 1 else f"its {n} steps"
    why = why_silent(use, view.records) if use.file is None else _NO_DIFFERENCE
    text = f"{fault_id} is on, and nothing is wrong in {steps}: {why}"
    offer = Offer("Load the scenario that shows it", lambda: show_fault(fault_id))
    return Notice(text, offer=offer, is_passing=True)


def hint(try_fault: Callable[[str], None]) -> Notice:
    """What to try first."""
    fault = find_faults("mask-top-left")[0]
    title = fault.title[0].lower() + fault.title[1:]
    offer = Offer("Try: mask taken from row 0", lambda: try_fault(fault.id))
    return Notice(f"Nothing is wrong in this run. Break it: {title}.", offer=offer)
