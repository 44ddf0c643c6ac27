"""The text on one grid: what this run read, what was right to read next, and the clean run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.outcome import Ok
from core.readouts.history import ReadToken, text_after
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

TokenState = Literal["read", "next", "refused"]


@dataclass(frozen=True, slots=True)
class TokenCell:
    """One token of one row.

    Attributes:
        token_index: its column.
        token_id: which token.
        text: what it shows as.
        state: read by a step, to be read next, or offered and refused.
        is_prompt: whether a prompt brought it.
        is_forced: whether it was chosen from outside.
        step: the step that read it, or that chose it where it is not read yet.
        is_wrong: whether the engine's choice is not the right one, and the logits are wrong.
    """

    token_index: int
    token_id: int
    text: str
    state: TokenState
    is_prompt: bool
    is_forced: bool
    step: int
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class TokensReadout:
    """Three rows of tokens; a column is a token index.

    Attributes:
        step: the step looked at.
        n_columns: columns of the grid.
        run: this run's text after the step, and the token that comes next.
        right: at each column, the greedy choice of the reference for the text before it; only
            where the run had a choice and a verdict is there.
        pending: columns of `right` whose verdict is not there yet.
        clean: the same spec without a fault, after the same step; empty where there is no fault.
        read_now: first and last column that the step read; None: it read nothing.
        sentence: the step in words.
        selection: what is looked at.
    """

    step: int
    n_columns: int
    run: tuple[TokenCell, ...]
    right: tuple[TokenCell, ...]
    pending: tuple[int, ...]
    clean: tuple[TokenCell, ...]
    read_now: tuple[int, int] | None
    sentence: str
    selection: Selection


def tokens_readout(view: RunView) -> TokensReadout:
    """The tokens up to the step that is looked at."""
    step = view.selection.step
    record = view.records[step]
    text = text_after(view.records, step)
    chosen = dict(_choices(view, text))
    wrong = {column for column, at in chosen.items() if _is_wrong_choice(view, at)}
    run = _row(view, view.records, step, wrong)
    right = tuple(_right_row(view, chosen))
    pending = tuple(c for c, at in chosen.items() if view.verdicts.get(at) is None)
    clean = _row(view, view.clean, min(step, len(view.clean) - 1), set()) if view.clean else ()
    columns = [cell.token_index for row in (run, right, clean) for cell in row]
    return TokensReadout(
        step=step,
        n_columns=1 + max(columns, default=-1),
        run=run,
        right=right,
        pending=pending,
        clean=clean,
        read_now=_read_now(record),
        sentence=_sentence(view, record, run, right),
        selection=view.selection,
    )


def _read_now(record: StepRecord) -> tuple[int, int] | None:
    tokens = record.token_index
    if not tokens or not isinstance(record.outcome, Ok):
        return None
    return tokens[0], tokens[-1]


def _choices(view: RunView, text: dict[int, ReadToken]) -> Iterator[tuple[int, int]]:
    """(column, step that chose its token) wherever the text did not come from a prompt."""
    for token_index, token in text.items():
        following = text.get(token_index + 1)
        is_last_of_step = view.records[token.step].token_index[-1] == token_index
        if not is_last_of_step or (following is not None and following.is_prompt):
            continue
        if following is None and _is_inside_prompt(view, token.step, token_index + 1):
            continue
        yield token_index + 1, token.step


def _is_inside_prompt(view: RunView, step: int, column: int) -> bool:
    """Whether the token after a step is the prompt's next, not a choice."""
    record = view.records[step]
    if not record.is_forced or record.phase not in ("prefill", "new_prompt"):
        return False
    if step + 1 < len(view.records):
        return view.records[step + 1].phase == "prefill"
    return column < len(view.spec.prompt_ids)


def _row(
    view: RunView, records: Sequence[StepRecord], step: int, wrong: set[int]
) -> tuple[TokenCell, ...]:
    """The text after a step, and the token that comes next or was refused."""
    text = text_after(records, step)
    read = (
        TokenCell(
            token_index=token_index,
            token_id=token.token_id,
            text=view.token_text(token.token_id),
            state="read",
            is_prompt=token.is_prompt,
            is_forced=token.is_forced,
            step=token.step,
            is_wrong=token_index in wrong,
        )
        for token_index, token in text.items()
    )
    return (*read, *_coming(view, records[step], max(text, default=-1) + 1, wrong))


def _coming(
    view: RunView, record: StepRecord, next_index: int, wrong: set[int]
) -> Iterator[TokenCell]:
    """The tokens that a step refused, or the one that comes after it."""
    is_refused = not isinstance(record.outcome, Ok)
    following = () if record.next_token is None else (record.next_token,)
    is_prompt = record.phase != "decode"
    if not is_refused:
        is_prompt = _is_inside_prompt(view, record.step, next_index)
    for i, token_id in enumerate(record.token_ids if is_refused else following):
        yield TokenCell(
            token_index=next_index + i,
            token_id=token_id,
            text=view.token_text(token_id),
            state="refused" if is_refused else "next",
            is_prompt=is_prompt,
            is_forced=record.is_forced and not is_prompt,
            step=record.step,
            is_wrong=next_index + i in wrong,
        )


def _reference_token(view: RunView, step: int) -> int | None:
    verdict = view.verdicts.get(step)
    return None if verdict is None or verdict.logits is None else verdict.logits.reference_token


def _is_wrong_choice(view: RunView, step: int) -> bool:
    """Whether wrong logits led to another token than the reference's."""
    verdict, record = view.verdicts.get(step), view.records[step]
    if verdict is None or verdict.logits is None or record.logits is None:
        return False
    is_off = verdict.logits.standing == "wrong"
    own = record.predicted if view.spec.temperature == 0 else int(record.logits.argmax())
    return is_off and own != verdict.logits.reference_token and not record.is_forced


def _right_row(view: RunView, chosen: dict[int, int]) -> Iterator[TokenCell]:
    for column, step in chosen.items():
        token_id = _reference_token(view, step)
        if token_id is not None:
            text = view.token_text(token_id)
            yield TokenCell(
                token_index=column,
                token_id=token_id,
                text=text,
                state="next",
                is_prompt=False,
                is_forced=False,
                step=step,
                is_wrong=False,
            )


def _sentence(
    view: RunView,
    record: StepRecord,
    run: tuple[TokenCell, ...],
    right: tuple[TokenCell, ...],
) -> str:
    parts = [_doing(view, record)]
    following = next((cell for cell in run if cell.state == "next"), None)
    if following is not None:
        is_own = record.is_computed and not record.is_forced
        parts.append(f"{'predicts' if is_own else 'next is'} ‘{following.text}’")
        best = next((c for c in right if c.token_index == following.token_index), None)
        if following.is_wrong and best is not None:
            parts.append(f"right would be ‘{best.text}’")
    return "; ".join(parts)


def _doing(view: RunView, record: StepRecord) -> str:
    """What a step was asked, and whether it did it."""
    name = record.phase.replace("_", " ")
    if not record.token_ids:
        return f"{name}: reads no token"
    verb = "reads" if isinstance(record.outcome, Ok) else "refuses"
    if len(record.token_ids) == 1:
        what = f"‘{view.token_text(record.token_ids[0])}’ at token {record.token_index[0]}"
    else:
        what = f"tokens {record.token_index[0]}–{record.token_index[-1]}"
    return f"{name}: {verb} {what}"
