"""What may come next: the engine's probabilities beside those of the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.arrays import FloatArray
from core.outcome import Ok
from core.readouts.words import outcome_name
from core.record import StepRecord
from core.selection import Selection
from core.verdict import LogitsVerdict, Standing, StepVerdict

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

N_BEST = 6
"""Tokens shown of each of the two; where they agree, that many rows."""

State = Literal["judged", "pending", "no reference", "nothing"]


@dataclass(frozen=True, slots=True)
class NextTokenRow:
    """A token that may come next.

    Attributes:
        token_id: which one.
        text: what it shows as.
        engine: its probability, the softmax of the engine's logits; NaN: they are no numbers.
        reference: likewise of the reference's; None: there is none, or not yet.
        is_engine_choice: whether the engine's logits are largest here.
        is_reference_choice: whether the reference's are.
        is_read_next: whether it is the token that is read next.
    """

    token_id: int
    text: str
    engine: float
    reference: float | None
    is_engine_choice: bool
    is_reference_choice: bool
    is_read_next: bool


@dataclass(frozen=True, slots=True)
class NextTokenReadout:
    """The best tokens of a step, of engine and reference.

    Attributes:
        step: the step looked at.
        state: judged; pending: not yet; no reference: there is nothing to compare with; nothing:
            no logits were computed.
        rows: by the engine's probability, largest first; empty where nothing was computed.
        how: what decides the token read next: "greedy", "forced", "sampled", "prompt" (the next
            one is the prompt's); None: nothing follows.
        standing: of the logits; None: no verdict.
        is_wrong_choice: whether the logits are wrong and their largest is not the right token.
        verdict: the comparison of the logits in words.
        sentence: all of it in words.
        selection: what is looked at.
    """

    step: int
    state: State
    rows: tuple[NextTokenRow, ...]
    how: Literal["greedy", "forced", "sampled", "prompt"] | None
    standing: Standing | None
    is_wrong_choice: bool
    verdict: str
    sentence: str
    selection: Selection


def next_token_readout(view: RunView) -> NextTokenReadout:
    """The step that is looked at."""
    step = view.selection.step
    record, verdict = view.records[step], view.verdicts.get(step)
    logits = None if verdict is None else verdict.logits
    state = _state(record, verdict)
    rows = _rows(view, record, logits)
    is_wrong_choice = (
        logits is not None
        and logits.standing == "wrong"
        and not any(row.is_engine_choice and row.is_reference_choice for row in rows)
    )
    words = _verdict_words(record, logits, state)
    how = _how(view, record)
    return NextTokenReadout(
        step=step,
        state=state,
        rows=rows,
        how=how,
        standing=None if logits is None else logits.standing,
        is_wrong_choice=is_wrong_choice,
        verdict=words,
        sentence="; ".join([words, *choice_words(rows, how)]),
        selection=view.selection,
    )


def probabilities(logits: FloatArray) -> FloatArray:
    """[V] softmax in float64; NaN where the logits are no numbers."""
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(wide - wide.max())
        return powers / powers.sum()


def _state(record: StepRecord, verdict: StepVerdict | None) -> State:
    if record.logits is None:
        return "nothing"
    if verdict is None:
        return "pending"
    return "judged" if verdict.logits is not None else "no reference"


def _rows(
    view: RunView, record: StepRecord, logits: LogitsVerdict | None
) -> tuple[NextTokenRow, ...]:
    if record.logits is None:
        return ()
    right = None if logits is None else (logits.reference, logits.reference_token)
    return tuple(token_rows(record.logits, right, record.next_token, view.token_text))


def token_rows(
    engine_logits: FloatArray,
    right: tuple[FloatArray, int] | None,
    read_next: int | None,
    token_text: Callable[[int], str],
) -> Iterator[NextTokenRow]:
    """The best tokens of both, by the engine's probability.

    Args:
        engine_logits: [V].
        right: [V] the reference's logits, and its choice; None: there is no reference.
        read_next: the token that is read next, in any case one of the rows; None: nothing is.
        token_text: what a token id shows as.
    """
    engine = probabilities(engine_logits)
    reference = None if right is None else probabilities(right[0])
    chosen = int(engine_logits.argmax())
    wanted = _best(engine) if reference is None else [*_best(engine), *_best(reference)]
    extra = [] if read_next is None else [read_next]
    token_ids = dict.fromkeys([*wanted, *extra])
    order = sorted(token_ids, key=lambda i: (-_rank(engine[i]), i))
    for token_id in order:
        yield NextTokenRow(
            token_id=token_id,
            text=token_text(token_id),
            engine=float(engine[token_id]),
            reference=None if reference is None else float(reference[token_id]),
            is_engine_choice=token_id == chosen,
            is_reference_choice=right is not None and token_id == right[1],
            is_read_next=token_id == read_next,
        )


def _best(shares: FloatArray) -> list[int]:
    """The tokens with the largest probability, largest first."""
    n = min(N_BEST, len(shares))
    known = np.where(np.isnan(shares), -1.0, shares)
    best = np.argpartition(-known, n - 1)[:n]
    return sorted(best.tolist(), key=lambda i: (-float(known[i]), i))


def _rank(share: float) -> float:
    return -1.0 if math.isnan(share) else share


def _how(
    view: RunView, record: StepRecord
) -> Literal["greedy", "forced", "sampled", "prompt"] | None:
    if record.next_token is None or not record.is_computed:
        return None
    if record.is_forced:
        return "prompt" if _is_prompt_next(view, record) else "forced"
    return "greedy" if view.spec.temperature == 0 else "sampled"


def _is_prompt_next(view: RunView, record: StepRecord) -> bool:
    """Whether the token after a step is the prompt's next: a prompt that is read in chunks."""
    if record.phase not in ("prefill", "new_prompt") or view.spec.n_sequences > 1:
        return False  # several sequences read their prompt at once
    if record.step + 1 < len(view.records):
        return view.records[record.step + 1].phase == "prefill"
    return record.token_index[-1] + 1 < len(view.spec.prompt_ids)


def _verdict_words(record: StepRecord, logits: LogitsVerdict | None, state: State) -> str:
    if state == "nothing":
        if not isinstance(record.outcome, Ok):
            return f"nothing was computed in this step: it was {outcome_name(record.outcome)}"
        return f"nothing was computed: a {record.phase.replace('_', ' ')} runs no model"
    if state == "pending":
        return "verdict pending: the reference has not been asked yet"
    if logits is None:
        return "there is no reference: the step should not have read this token"
    return logits_words(logits.standing, logits.max_abs_error, logits.band, logits.wrong_above)


def logits_words(standing: Standing, error: float, band: float, wrong_above: float) -> str:
    """A verdict on logits, with their largest error and both limits."""
    size = f"largest error {error:.3g}" if math.isfinite(error) else "not finite"
    return f"logits {standing}: {size}; right up to {band:.2g}; wrong above {wrong_above:.2g}"


def choice_words(rows: Sequence[NextTokenRow], how: str | None) -> Iterator[str]:
    """The engine's best token, the right one, and one that is read instead, in words."""
    engine = next((row for row in rows if row.is_engine_choice), None)
    if engine is None:
        return
    right = next((row for row in rows if row.is_reference_choice), None)
    best = f"best ‘{engine.text}’ {share_words(engine.engine)}"
    if math.isnan(engine.engine):
        best = f"the logits are no numbers: no token is best, out comes ‘{engine.text}’"
    if right is None:
        yield best
    elif right is engine:
        yield f"{best}, the reference agrees {share_words(right.reference)}"
    else:
        yield f"{best}, right would be ‘{right.text}’ {share_words(right.reference)}"
    read = next((row for row in rows if row.is_read_next), None)
    if read is not None and how in ("forced", "sampled", "prompt"):
        source = {"prompt": "the prompt goes on with", "forced": "forced"}.get(how, "sampled")
        yield f"{source} ‘{read.text}’"


def share_words(share: float | None) -> str:
    """A probability with four digits; none below one in ten thousand is written out."""
    if share is None:
        return "…"
    if math.isnan(share):
        return "NaN"
    if share == 0 or share >= 0.0001:
        return f"{share:.4f}"
    return "<1e-4"


def role_words(readout: NextTokenReadout, row: NextTokenRow) -> list[str]:
    """What a token is to the step: chosen, right, read next."""
    roles: list[str] = []
    if row.is_engine_choice:
        roles.append("the engine's choice")
    if row.is_reference_choice:
        roles.append("the right choice")
    if row.is_read_next:
        roles.append(
            "read next" if readout.how in (None, "greedy") else f"read next: {readout.how}"
        )
    return roles
