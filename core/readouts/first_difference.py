"""The diagnosis and the first difference of the run in words: what stands above the timeline.

The first difference says where the records first differ from what the oracles expect; the diagnosis
names the mechanism behind it, or the decision that went wrong where it fits none that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from core.arrays import ABSENT
from core.compare import held_of
from core.diagnose.finding import Diagnosis
from core.diagnose.words import UNKNOWN
from core.readouts.per_step import once
from core.readouts.verdict_words import difference_words
from core.readouts.words import plural
from core.record import StepRecord
from core.selection import Selection
from core.verdict import StepVerdict

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class FirstDifferenceReadout:
    """What is said of the run as a whole.

    Attributes:
        state: wrong: some step is; right: every step was judged and none is; pending: none is
            so far, and not every step is judged.
        step: the first wrong step; None: none so far.
        sentence: all of it in words: the mechanism, and the first difference.
        difference: the first difference alone.
        mechanism: what goes wrong, as the diagnosis has it; None: nothing can be said of it, or
            nothing is wrong.
        account: the whole diagnosis in sentences: what speaks for it, what is like it.
        target: what to look at to see it; None: nothing differs.
        n_pending: steps without a verdict.
        selection: what is looked at.
    """

    state: Literal["wrong", "right", "pending"]
    step: int | None
    sentence: str
    target: Selection | None
    n_pending: int
    selection: Selection
    difference: str = ""
    mechanism: str | None = None
    account: tuple[str, ...] = ()


def first_difference_readout(view: RunView) -> FirstDifferenceReadout:
    """The first step that is wrong, and where in it."""
    n_steps = len(view.records)
    n_pending = n_steps - len(view.verdicts)
    first = once(view, _first_wrong, view.verdicts)
    if first is None:
        return FirstDifferenceReadout(
            state="pending" if n_pending else "right",
            step=None,
            sentence=nothing_wrong_words(n_steps, n_pending),
            target=None,
            n_pending=n_pending,
            selection=view.selection,
        )
    record, verdict = view.records[first], view.verdicts[first]
    found = view.history.diagnosed.of(view.records, view.verdicts, first)
    told = [each for each in found if each.mechanism != UNKNOWN]
    mechanism = "; and ".join(each.mechanism for each in told)
    difference = first_difference_words(record, verdict)
    return FirstDifferenceReadout(
        state="wrong",
        step=first,
        sentence=f"{mechanism} · {difference}" if mechanism else difference,
        target=_target(view.selection, record, verdict),
        n_pending=n_pending,
        selection=view.selection,
        difference=difference,
        mechanism=mechanism or None,
        account=tuple(sentence for each in told for sentence in account_of(each)),
    )


def _first_wrong(view: RunView) -> int | None:
    return first_wrong_of(view.verdicts)


def account_of(found: Diagnosis) -> tuple[str, ...]:
    """A diagnosis in sentences."""
    like = "" if found.preset_like is None else f" (like {found.preset_like})"
    return (
        f"{found.mechanism}{like}",
        *(f"– {sentence}" for sentence in found.evidence),
        *(f"with {rival.preset_like}, {rival.separate_by}" for rival in found.rivals),
    )


def first_wrong_of(verdicts: Mapping[int, StepVerdict]) -> int | None:
    """The first step of which any verdict is wrong; steps that are pending are passed over."""
    return min((step for step, verdict in verdicts.items() if verdict.is_wrong), default=None)


def first_difference_words(record: StepRecord, verdict: StepVerdict) -> str:
    """The step, and where it first differs: "step 1: position ids: token 7 was given …"."""
    return f"step {record.step}: {difference_words(record, verdict) or _by_verdict(verdict)}"


def _by_verdict(verdict: StepVerdict) -> str:
    """For a step that is wrong though no recorded number differs beyond its band."""
    wrong = [name for name in ("policy", "mechanism") if getattr(verdict, name) == "wrong"]
    if verdict.logits is not None and verdict.logits.standing == "wrong":
        wrong.append("logits")
    return f"{', '.join(wrong)} wrong, and no recorded field differs beyond its band"


def nothing_wrong_words(n_steps: int, n_pending: int) -> str:
    """How many steps were judged, none of which is wrong, and how many were not."""
    if not n_pending:
        return f"nothing is wrong in {'step 0' if n_steps == 1 else f'steps 0–{n_steps - 1}'}"
    if n_pending == n_steps:
        return f"{plural(n_pending, 'step')} pending"
    n_judged = n_steps - n_pending
    return f"nothing is wrong in {plural(n_judged, 'step')}, {n_pending} pending"


def _target(selection: Selection, record: StepRecord, verdict: StepVerdict) -> Selection:
    """The step, and in it the layer, head, token or slot that the sentence speaks of."""
    difference = verdict.first_difference
    there = replace(selection, step=record.step, token_index=None, slot=None, position_id=None)
    if difference is None:
        return there
    if difference.layer is not None:
        there = replace(there, layer=difference.layer)
        if difference.field in ("keys", "values"):
            there = _with_odd_slot(there, record)
    if difference.head is not None and difference.field in ("scores", "weights"):
        there = replace(there, head=difference.head)
    if difference.field == "position_ids":
        right = verdict.expected.position_ids
        numbered = zip(record.token_index, record.position_ids, right, strict=False)
        odd = next((token for token, a, b in numbered if a != b), None)
        there = replace(there, token_index=odd)
    if difference.field == "contents":
        there = _with_odd_content(there, record, verdict)
    return there


def _with_odd_content(selection: Selection, record: StepRecord, verdict: StepVerdict) -> Selection:
    """The first token that is held and should not be, or not so; else the first that is lacking."""
    held, right = {*held_of(record)}, {*verdict.expected.live}
    odd = [*sorted(held - right), *sorted(right - held)]
    if not odd:
        return selection
    token, _ = odd[0]
    slots = record.ledger.slot[record.ledger.token_index == token].tolist()
    return replace(selection, token_index=token, slot=slots[0] if slots else None)


def _with_odd_slot(selection: Selection, record: StepRecord) -> Selection:
    told = record.layers[selection.layer]
    odd = (told.row_token != told.plan.view_token_index).nonzero()[0]
    if not len(odd):
        return selection
    found = int(told.row_token[odd[0]])
    slot = int(told.plan.view_slots[odd[0]])
    return replace(selection, slot=slot, token_index=None if found == ABSENT else found)
