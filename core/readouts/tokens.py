"""The text on one grid: what this run read, what was right to read next, and the clean run.

A cell is made when it is looked at: of a long text only what is in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.outcome import Ok
from core.readouts.history import newest_token
from core.readouts.run_history import RunHistory
from core.readouts.words import are_no_numbers, doing_words
from core.record import StepRecord
from core.selection import Selection

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

NO_FAULT, NO_CLEAN = "no fault is on: the same as this run", "not run yet"
TokenState = Literal["read", "next", "refused", "pending"]


@dataclass(frozen=True, slots=True)
class TokenCell:
    """One token of one row.

    Attributes:
        token_index: its column.
        token_id: which token; None: pending.
        text: what it shows as.
        state: read by a step, to be read next, or offered and refused; pending: the verdict that
            says it is not there yet.
        is_prompt: whether a prompt brought it.
        is_forced: whether it was chosen from outside.
        step: the step that read it, or that chose it where it is not read yet.
        is_wrong: whether the engine's choice is not the right one, and the logits are wrong.
        rank: place among the best tokens, from 0, by which a beam took it; None: it was not taken
            by its place.
        missed: in the row of right tokens, the engine's own wrong choice where one was forced.
    """

    token_index: int
    token_id: int | None
    text: str
    state: TokenState
    is_prompt: bool
    is_forced: bool
    step: int
    is_wrong: bool
    rank: int | None = None
    missed: str | None = None


class TokenRow:
    """The cells of a row, by column.

    Attributes:
        end: one above its last column.
    """

    def __init__(self, end: int, make: Callable[[int], TokenCell | None]) -> None:
        """Takes what makes the cell of a column; None: there is none."""
        self.end = end
        self._make = make
        self._made: dict[int, TokenCell | None] = {}

    def at(self, column: int) -> TokenCell | None:
        """The cell of a column; None: there is none."""
        if not 0 <= column < self.end:
            return None
        if column not in self._made:
            self._made[column] = self._make(column)
        return self._made[column]

    def __iter__(self) -> Iterator[TokenCell]:
        """All cells, from the first column on."""
        cells = (self.at(column) for column in range(self.end))
        return (cell for cell in cells if cell is not None)


@dataclass(frozen=True, slots=True, eq=False)
class TokensReadout:
    """Three rows of tokens; a column is a token index.

    Attributes:
        step: the step looked at.
        n_columns: columns of the grid.
        run: this run's text after the step, and the token that comes next.
        right: at each column, the greedy choice of the reference for the text before it; only
            where the run had a choice. Pending where its verdict is not there yet.
        clean: the same spec without a fault, after the same step; no cells where there is no fault.
        clean_note: what stands in the place of a clean run that there is not.
        read_now: first and last column that the step read; None: it read nothing.
        sentence: the step in words.
        selection: what is looked at.
    """

    step: int
    n_columns: int
    run: TokenRow
    right: TokenRow
    clean: TokenRow
    clean_note: str
    read_now: tuple[int, int] | None
    sentence: str
    selection: Selection


def tokens_readout(view: RunView) -> TokensReadout:
    """The tokens up to the step that is looked at."""
    step = view.selection.step
    record = view.records[step]
    choices = _Choices(view, step)
    run = _row(view, view.records, view.history, step, choices.is_wrong)
    right = TokenRow(choices.end, choices.right)
    clean = TokenRow(0, lambda column: None)
    if view.clean:
        last = min(step, len(view.clean) - 1)
        clean = _row(view, view.clean, view.clean_history, last, lambda column: False)
    return TokensReadout(
        step=step,
        n_columns=max(run.end, right.end, clean.end),
        run=run,
        right=right,
        clean=clean,
        clean_note=NO_CLEAN if view.spec.faults else NO_FAULT,
        read_now=_read_now(record),
        sentence=_sentence(view, record, run, right),
        selection=view.selection,
    )


class _Choices:
    """Which step chose the token of a column, and what would have been right."""

    def __init__(self, view: RunView, step: int) -> None:
        self._view = view
        self._text = view.history.text(step)
        self._steps: dict[int, int | None] = {}
        self.end = self._text.end + 1

    def step_of(self, column: int) -> int | None:
        """The step that chose; None: a prompt brought the token, or nothing is there."""
        if column not in self._steps:  # two of the rows ask
            self._steps[column] = self._find_step(column)
        return self._steps[column]

    def _find_step(self, column: int) -> int | None:
        before, following = self._text.get(column - 1), self._text.get(column)
        if before is None or (following is not None and following.is_prompt):
            return None
        if newest_token(self._view.records[before.step]) != column - 1:
            return None
        if following is None and _is_inside_prompt(self._view, before.step, column):
            return None
        return before.step

    def is_wrong(self, column: int) -> bool:
        step = self.step_of(column)
        if step is None or self._view.records[step].is_forced:
            return False
        return _wrong_choice(self._view, step) is not None

    def right(self, column: int) -> TokenCell | None:
        step = self.step_of(column)
        if step is None:
            return None
        verdict = self._view.verdicts.get(step)
        logits = None if verdict is None else verdict.logits
        if verdict is not None and logits is None:
            return None
        token_id = None if logits is None else logits.reference_token
        own = _wrong_choice(self._view, step) if self._view.records[step].is_forced else None
        return TokenCell(
            token_index=column,
            token_id=token_id,
            text="…" if token_id is None else self._view.token_text(token_id),
            state="pending" if token_id is None else "next",
            is_prompt=False,
            is_forced=False,
            step=step,
            is_wrong=False,
            missed=None if own is None else self._view.token_text(own),
        )


def _read_now(record: StepRecord) -> tuple[int, int] | None:
    tokens = record.token_index
    if not tokens or not isinstance(record.outcome, Ok):
        return None
    return tokens[0], tokens[-1]


def _is_inside_prompt(view: RunView, step: int, column: int) -> bool:
    """Whether the token after a step is the prompt's next, not a choice."""
    record = view.records[step]
    if not record.is_forced or record.phase not in ("prefill", "new_prompt"):
        return False
    if view.spec.n_sequences > 1:
        return False  # several sequences read their prompt at once
    if step + 1 < len(view.records):
        return view.records[step + 1].phase == "prefill"
    return column < len(view.spec.prompt_ids)


def _row(
    view: RunView,
    records: Sequence[StepRecord],
    history: RunHistory,
    step: int,
    is_wrong: Callable[[int], bool],
) -> TokenRow:
    """The text after a step, and the token that comes next or was refused."""
    text = history.text(step)
    coming = tuple(_coming(view, records[step], text.end, is_wrong))

    def make(column: int) -> TokenCell | None:
        if column >= text.end:
            return coming[column - text.end]
        token = text.get(column)
        if token is None:
            return None
        before = text.get(column - 1) if token.is_forced else None
        rank = None if before is None else _rank(view, records[before.step])
        return TokenCell(
            token_index=column,
            token_id=token.token_id,
            text=view.token_text(token.token_id),
            state="read",
            is_prompt=token.is_prompt,
            is_forced=token.is_forced and rank is None,
            step=token.step,
            is_wrong=is_wrong(column),
            rank=rank,
        )

    return TokenRow(text.end + len(coming), make)


def _coming(
    view: RunView, record: StepRecord, next_index: int, is_wrong: Callable[[int], bool]
) -> Iterator[TokenCell]:
    """The tokens that a step refused, or the one that comes after it."""
    is_refused = not isinstance(record.outcome, Ok)
    following = () if record.next_token is None else (record.next_token,)
    is_inside = _is_inside_prompt(view, record.step, next_index)
    is_prompt = record.phase != "decode" if is_refused else is_inside
    rank = None if is_refused or is_prompt else _rank(view, record)
    for i, token_id in enumerate(record.token_ids if is_refused else following):
        yield TokenCell(
            token_index=next_index + i,
            token_id=token_id,
            text=view.token_text(token_id),
            state="refused" if is_refused else "next",
            is_prompt=is_prompt,
            is_forced=record.is_forced and not is_prompt and rank is None,
            step=record.step,
            is_wrong=is_wrong(next_index + i),
            rank=rank,
        )


def _rank(view: RunView, record: StepRecord) -> int | None:
    """The place by which a beam other than the first took its first token; None: none did."""
    is_first = record.phase == "prefill" and record.next_token is not None
    is_beam = view.spec.n_sequences > 1 and record.request > 0
    is_forced = any(token is not None for token in view.spec.force_ids)
    return record.request if is_first and is_beam and not is_forced else None


def _wrong_choice(view: RunView, step: int) -> int | None:
    """The engine's own choice where wrong logits led to another token than the reference's."""
    verdict, record = view.verdicts.get(step), view.records[step]
    if verdict is None or verdict.logits is None or record.logits is None:
        return None
    is_off = verdict.logits.standing == "wrong"
    own = record.predicted if view.spec.temperature == 0 else int(record.logits.argmax())
    return own if is_off and own != verdict.logits.reference_token else None


def _sentence(view: RunView, record: StepRecord, run: TokenRow, right: TokenRow) -> str:
    parts = [doing_words(record, view.token_text)]
    following = run.at(view.history.text(record.step).end)
    if following is not None and following.state == "next":
        best = right.at(following.token_index)
        if best is not None and best.missed is not None:
            parts.append(f"would say ‘{best.missed}’, right is ‘{best.text}’")
        verb = "predicts" if record.is_computed and not record.is_forced else "next is"
        if verb == "predicts" and are_no_numbers(record):
            verb = "the logits are no numbers, out comes"
        forced = ", forced" if following.is_forced else ""
        parts.append(f"{verb} ‘{following.text}’{forced}")
        if following.is_wrong and best is not None:
            parts.append(f"right would be ‘{best.text}’")
    return "; ".join(parts)
