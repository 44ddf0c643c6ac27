"""What a person is told when a run goes no further, or shows nothing, and the ways out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from app.draft import Draft
from app.notice import Notice, Offer
from core.faults.catalog import find_faults
from core.faults.why_silent import silence_words
from core.outcome import EndReason, Ok, PositionLimit, Refused
from core.readouts.run_view import RunView
from core.readouts.words import are_no_numbers
from core.record import StepRecord
from core.verdict import StepVerdict

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


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run, and what decides which ways there are out of it.

    Attributes:
        reason: why it is over.
        last: its last step.
        verdict: of that step; None: pending.
        limit: positions that the model has; None: no end of them.
    """

    reason: EndReason
    last: StepRecord
    verdict: StepVerdict | None
    limit: int | None

    @property
    def is_owed(self) -> bool:
        """Whether the last step was not carried out and should have been."""
        should = None if self.verdict is None else self.verdict.expected.outcome
        return isinstance(should, Ok) and not isinstance(self.last.outcome, Ok)


def end_words(end: RunEnd, draft: Draft) -> str:
    """Why a run is over, as a sentence, with the numbers of its last step."""
    if end.is_owed:
        return f"Run ended: {_owed_words(end.last)}: see the diagnosis"
    advice = " or ".join(way.words for way in _ways_on(end, draft))
    advice = advice[:1].upper() + advice[1:]
    match end.last.outcome:
        case Refused() as refused if advice:
            return f"Run ended: {_full_words(refused, end.last, draft)}. {advice}"
        case PositionLimit(n_ctx):
            return f"Run ended: the model has {n_ctx} positions. {advice}"
        case _ if end.reason == "end_of_text" and are_no_numbers(end.last):
            return _NO_NUMBERS_END
        case _:
            return _PLAIN_ENDS.get(end.reason, "Run ended")


def _owed_words(last: StepRecord) -> str:
    """That a step was refused which should have been carried out, with what it was refused for."""
    match last.outcome:
        case Refused(needed, free):
            capacity = last.ledger.capacity
            if needed <= free:
                return f"refused though {free} of {capacity} {'is' if free == 1 else 'are'} free"
            return f"refused though there is room, needs {needed}, {free} free of {capacity}"
        case PositionLimit(n_ctx):
            return f"refused though its positions are below the model's {n_ctx}"
        case Ok():
            raise AssertionError("nothing was refused")


def _full_words(refused: Refused, last: StepRecord, draft: Draft) -> str:
    """What had no room; in an empty cache, all that was to be read at once."""
    needed, free, capacity = refused.needed, refused.free, last.ledger.capacity
    if free < capacity:
        how = "too small" if free else "full"
        return f"cache {how}, needs {needed}, {free} free of {capacity}"
    if last.step == 0 and draft.chunk is None and not draft.n_pad:
        return f"the prompt of {needed} tokens does not fit {capacity} slots"
    return f"{needed} rows at once do not fit {capacity} slots"


_PLAIN_ENDS: dict[EndReason, str] = {
    "refused": "Run ended: the last step was refused, and there is no token to read next",
    "end_of_text": "Run ended: the model ended its text. Change the prompt to go on",
    "steps": "Run ended: all its steps are done",
}


_NO_NUMBERS_END = (
    "Run ended: the logits of the last step are no numbers, and what comes out as the best token "
    "ends a text: see the diagnosis"
)


def _ways_on(end: RunEnd, draft: Draft) -> tuple[_Way, ...]:
    """What lets the step through that ended the run, the least change first.

    None where it was not for lack of room that it was refused.
    """
    if end.is_owed:
        return ()
    last, limit = end.last, end.limit
    reprefill = _Way(
        "choose the policy reprefill", "Policy reprefill", replace(draft, policy="reprefill")
    )
    match last.outcome:
        case Refused(needed, free) if (
            end.reason == "refused" and last.phase != "rollback" and free < needed
        ):
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


def run_ended(end: RunEnd, draft: Draft, set_up: Callable[[Draft], None]) -> Notice:
    """That a run is over, with the ways on where the cache was full or the positions used up."""
    ways = _ways_on(end, draft)
    offers = [Offer(way.label, partial(set_up, way.draft)) for way in ways]
    first, second = (*offers, None, None)[:2]
    is_prompt = bool(ways) and end.last.step == 0 and isinstance(end.last.outcome, Refused)
    return Notice(
        end_words(end, draft),
        offer=first,
        second_offer=second,
        is_passing=True,
        place="prompt" if is_prompt else None,
    )


def nothing_shows(view: RunView, show_fault: Callable[[str], None]) -> Notice:
    """That faults are on and nothing is wrong, why that is so, and what shows the last one."""
    uses = view.spec.faults
    text = silence_words(view.spec, view.model.config.scheme, view.records)
    shows = "that shows it" if len(uses) == 1 else f"of {uses[-1].id}"
    words = f"Load the scenario {shows}"
    return Notice(text, offer=Offer(words, lambda: show_fault(uses[-1].id)), is_passing=True)


def hint(try_fault: Callable[[str], None]) -> Notice:
    """What to try first."""
    fault = find_faults("mask-top-left")[0]
    title = fault.title[0].lower() + fault.title[1:]
    offer = Offer("Try: mask taken from row 0", lambda: try_fault(fault.id))
    return Notice(f"Nothing is wrong in this run. Break it: {title}.", offer=offer)
