"""What the step looked at is, in one line, and its three verdicts, in signs."""

from collections.abc import Callable
from dataclasses import dataclass

from core.outcome import EndReason, Ok
from core.readouts.places import place_account, place_words
from core.readouts.run_view import RunView
from core.readouts.verdict_words import rests_on
from core.readouts.words import are_no_numbers, outcome_words
from core.record import StepRecord
from core.spec import RunSpec
from core.verdict import LogitsVerdict, Standing, StepVerdict

SIGNS: dict[Standing | None, str] = {"right": "✓", "rounding": "≈", "wrong": "✕", None: "–"}
PENDING = "…"
TOKENS_IN_FULL = 1


@dataclass(frozen=True, slots=True)
class Sign:
    """One verdict.

    Attributes:
        name: what is judged.
        standing: the verdict; None: nothing to judge, or pending.
        mark: its sign.
        tooltip: what it rests on.
    """

    name: str
    standing: Standing | None
    mark: str
    tooltip: str


@dataclass(frozen=True, slots=True)
class StepLine:
    """What stands beside the transport.

    Attributes:
        text: the sentence.
        signs: policy, mechanism, logits.
        where: where the step first differs, and the dock that shows it; empty where it does not.
        where_tooltip: what that is, and where else it is seen.
    """

    text: str
    signs: tuple[Sign, ...]
    where: str
    where_tooltip: str


def step_line(view: RunView, end: EndReason | None) -> StepLine:
    """The line of the step that `view.selection` names; `end`: why the run is over, if it is."""
    step = view.selection.step
    record = view.records[step]
    parts = [f"step {step} of {len(view.records) - 1}", _phase(view, step)]
    parts += _happening(record, view.token_text)
    if end == "end_of_text" and record is view.records[-1]:
        parts.append("the text ends here")
    verdict = view.verdicts.get(step)
    first = None if verdict is None else verdict.first_difference
    return StepLine(
        text=" · ".join(parts),
        signs=_signs(verdict, view.spec),
        where="" if first is None else f"first in {place_words(first)}",
        where_tooltip="" if first is None else place_account(first),
    )


def _phase(view: RunView, step: int) -> str:
    """What was asked; of which of several beams; of a prompt in parts, also which part."""
    words = view.records[step].phase.replace("_", " ")
    if view.spec.n_sequences > 1 and not view.records[step].parents:
        return f"{words} of beam {view.records[step].request}"
    if view.spec.chunk is None or words not in ("prefill", "new prompt"):
        return words
    records, number = view.records, 1
    while step and records[step].phase == "prefill" and _is_prompt(records[step - 1]):
        step, number = step - 1, number + 1
    return f"{words}, chunk {number}"


def _is_prompt(record: StepRecord) -> bool:
    return record.phase in ("prefill", "new_prompt")


def _happening(record: StepRecord, token_text: Callable[[int], str]) -> list[str]:
    if not isinstance(record.outcome, Ok):
        offered = _tokens(record.token_ids, token_text)
        ending = outcome_words(record.outcome, record)
        return [*([f"offers {offered}"] if offered else []), ending]
    if record.phase == "rollback":
        return ["takes the newest tokens back", *_next(record, token_text)]
    if record.phase == "probe":
        return ["the append was let in; its rows hold no token"]
    if record.phase == "reorder":
        return [f"beams go on from the texts of beams {', '.join(map(str, record.parents))}"]
    feeds = f"feeds {_tokens(record.token_ids, token_text)} {_positions(record.position_ids)}"
    rejects = f", rejects the last {record.n_rejected}" if record.n_rejected else ""
    return [feeds.strip() + rejects, *_next(record, token_text)]


def _tokens(token_ids: tuple[int, ...], token_text: Callable[[int], str]) -> str:
    if not token_ids:
        return ""
    if len(token_ids) > TOKENS_IN_FULL:
        return f"{len(token_ids)} tokens"
    return f"'{token_text(token_ids[0])}'"


def _positions(position_ids: tuple[int | None, ...]) -> str:
    """Where the tokens stand; those that fell out before they were computed have no position."""
    known = [position for position in position_ids if position is not None]
    if not known:
        return ""
    if len(known) == 1:
        return f"at position {known[0]}"
    if known == list(range(known[0], known[-1] + 1)):
        return f"at positions {known[0]}–{known[-1]}"
    return "at positions " + ", ".join(str(position) for position in known)


def _next(record: StepRecord, token_text: Callable[[int], str]) -> list[str]:
    said = []
    if record.predicted is not None and are_no_numbers(record):
        said.append(f"its logits are no numbers, out comes '{token_text(record.predicted)}'")
    elif record.predicted is not None:
        said.append(f"predicts '{token_text(record.predicted)}'")
    if record.next_token is not None and record.next_token != record.predicted:
        said.append(f"reads '{token_text(record.next_token)}' next")
    return said


def _signs(verdict: StepVerdict | None, spec: RunSpec) -> tuple[Sign, ...]:
    if verdict is None:
        text = "pending: judged as soon as the engine rests"
        return tuple(Sign(name, None, PENDING, text) for name in ("policy", "mechanism", "logits"))
    return (
        Sign("policy", verdict.policy, SIGNS[verdict.policy], _policy_words(verdict, spec)),
        Sign(
            "mechanism",
            verdict.mechanism,
            SIGNS[verdict.mechanism],
            _MECHANISM_WORDS[verdict.mechanism],
        ),
        _logits_sign(verdict.logits, rests_on(verdict)),
    )


def _policy_words(verdict: StepVerdict, spec: RunSpec) -> str:
    """The verdict has the name of a setting: say how the two are related."""
    is_right = verdict.policy == "right"
    asked = f"does the engine do what the policy set in Setup ({spec.policy}) says? "
    what = "outcome, length, seen, positions, readable tokens"
    held = "the tokens held after the step"
    if is_right:
        return f"{asked}Yes: {what} and {held} are as it says"
    return f"{asked}No: {what} or {held} are not as it says"


_MECHANISM_WORDS = {
    "right": "did the engine do what it planned? Yes: every row it read is the row that it "
    "stands for",
    "wrong": "did the engine do what it planned? No: rows or logits are not what its own "
    "positions and readable tokens demand",
}


def _logits_sign(logits: LogitsVerdict | None, basis: str) -> Sign:
    if logits is None:
        return Sign("logits", None, SIGNS[None], "nothing was computed in this step")
    text = (
        f"largest error {logits.max_abs_error:.2g}, KL {logits.kl:.2g} nats against the reference "
        f"that keeps no cache; right up to {logits.band:.2g}, wrong above {logits.wrong_above:.2g}"
    )
    if basis:
        text += f"; {basis}"
    return Sign("logits", logits.standing, SIGNS[logits.standing], text)
