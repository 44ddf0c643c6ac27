"""What a window shows of a trace from elsewhere: the readouts of our own runs, as far as it tells.

A step is one call. What the trace does not hold (slots, masks, attention) has no readout; token ids
stand for texts, since no tokenizer comes with it.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from core.arrays import known
from core.contract.model.verdict import Bands
from core.foreign.checks import facts
from core.foreign.trace import ForeignTrace
from core.readouts.next_token import NextTokenReadout, choice_words, logits_words, token_rows
from core.readouts.timeline import TimelinePoint, TimelineReadout
from core.readouts.tokens import TokenCell, TokenRow, TokensReadout
from core.selection import Selection
from core.verdict import Standing


def token_text(token_id: int) -> str:
    """What a token shows as where no tokenizer is known."""
    return f"#{token_id}"


@dataclass(frozen=True)
class ForeignRun:
    """A trace whose parts fit together, with what is worked out of it once.

    Attributes:
        trace: what was read.
    """

    trace: ForeignTrace

    @cached_property
    def points(self) -> tuple[TimelinePoint, ...]:
        """One a call."""
        trace, bands = self.trace, self.trace.bands
        errors: list[float] | list[None] = trace.errors or [None] * trace.n_calls
        return tuple(
            _point(trace, bands, call, standing, error)
            for call, (standing, error) in enumerate(zip(self._standings, errors, strict=True))
        )

    @cached_property
    def _standings(self) -> tuple[Standing | None, ...]:
        return tuple(self.trace.standings) or (None,) * self.trace.n_calls

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """[C] tokens read once each call is over."""
        return tuple(self.trace.ends)

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """What the numbers tell, one line each."""
        return tuple(facts(self.trace))

    @cached_property
    def first_wrong(self) -> int | None:
        """The first call with wrong logits; None: none, or nothing is judged."""
        return next((point.step for point in self.points if point.is_wrong), None)

    def line(self, step: int) -> str:
        """A call in one line: what it read, where, and what the cache said."""
        trace, first, end = self.trace, *self._tokens(step)
        told = "reads " + (
            f"‘{token_text(int(trace.token_ids[first]))}’ (token {first})"
            if end - first == 1
            else f"tokens {first}–{end - 1}"
        )
        parts = [f"step {step} of {trace.n_calls - 1}", told]
        if trace.position_ids is not None:
            given = [known(number) for number in trace.position_ids[first:end].tolist()]
            parts.append(_positions(given))
        length = self.points[step].length
        if length is not None:
            parts.append(f"cache length {length}")
        return " · ".join(parts)

    def timeline(self, selection: Selection) -> TimelineReadout:
        """Every call."""
        current, first_wrong = self.points[selection.step], self.first_wrong
        words = [f"step {current.step} of {self.points[-1].step}", self._verdict(current)]
        if self.trace.reference is not None:
            words.append(
                "no step is wrong" if first_wrong is None else f"first wrong step: {first_wrong}"
            )
        return TimelineReadout(
            points=self.points,
            current=current.step,
            capacity=None,
            first_wrong=first_wrong,
            n_pending=0,
            sentence="; ".join(words),
            selection=selection,
        )

    def next_token(self, selection: Selection) -> NextTokenReadout:
        """The best tokens after a call, of its logits and of the reference's."""
        trace, step = self.trace, selection.step
        reference = None if trace.reference is None else trace.reference[step]
        right = None if reference is None else (reference, int(reference.argmax()))
        rows = tuple(token_rows(trace.logits[step], right, self._read_next(step), token_text))
        standing, verdict = self.points[step].logits, self._verdict(self.points[step])
        is_choice_right = any(row.is_engine_choice and row.is_reference_choice for row in rows)
        words = list(choice_words(rows, None))
        other = next((row for row in rows if row.is_read_next and not row.is_engine_choice), None)
        if other is not None:
            words.append(f"read next is ‘{other.text}’")
        return NextTokenReadout(
            step=step,
            state="judged" if right is not None else "no reference",
            rows=rows,
            how=None,  # chosen, sampled or forced: the trace does not say
            standing=standing,
            is_wrong_choice=standing == "wrong" and not is_choice_right,
            verdict=verdict,
            sentence="; ".join([verdict, *words]),
            selection=selection,
        )

    def tokens(self, selection: Selection) -> TokensReadout:
        """The text up to a call, what was read next, and what would have been right."""
        step = selection.step
        first, end = self._tokens(step)
        nothing = TokenRow(0, lambda column: None)
        right = nothing if self.trace.reference is None else TokenRow(end + 1, self._right_cell)
        return TokensReadout(
            step=step,
            n_columns=end + 1,
            run=TokenRow(end + 1, lambda column: self._cell(column, step)),
            right=right,
            clean=nothing,
            clean_note="none: the trace holds one run",
            read_now=(first, end - 1),
            sentence=self._said_of_tokens(step),
            selection=selection,
        )

    def _said_of_tokens(self, step: int) -> str:
        """What a call chose, and what it should have."""
        chosen, read = int(self.trace.logits[step].argmax()), self._read_next(step)
        words = [f"largest logit: ‘{token_text(chosen)}’"]
        if self._is_wrong_choice(step) and self.trace.reference is not None:
            words.append(f"right would be ‘{token_text(int(self.trace.reference[step].argmax()))}’")
        if read is not None and read != chosen:
            words.append(f"read next is ‘{token_text(read)}’")
        return "; ".join(words)

    def _tokens(self, step: int) -> tuple[int, int]:
        """The first token that a call read, and one above its last."""
        return self.ends[step] - int(self.trace.n_tokens[step]), self.ends[step]

    def _read_next(self, step: int) -> int | None:
        """The token that the next call read first; None: there is no such call."""
        end = self.ends[step]
        return int(self.trace.token_ids[end]) if end < len(self.trace.token_ids) else None

    @cached_property
    def _call_at_end(self) -> dict[int, int]:
        """Tokens read before it -> the call that was over then."""
        return {end: call for call, end in enumerate(self.ends)}

    def _cell(self, column: int, step: int) -> TokenCell:
        """A token that was read, or the one that follows the call looked at."""
        call, end = self._call_at_end.get(column), self.ends[step]
        chosen = None if call is None else int(self.trace.logits[call].argmax())
        token_id = self._read_next(step) if column == end else int(self.trace.token_ids[column])
        if token_id is None:
            token_id = chosen if chosen is not None else 0
        return TokenCell(
            token_index=column,
            token_id=token_id,
            text=token_text(token_id),
            state="next" if column == end else "read",
            is_prompt=call is None,
            is_forced=False,
            step=bisect_right(self.ends, column) if column < end else step,
            is_wrong=call is not None and chosen == token_id and self._is_wrong_choice(call),
        )

    def _right_cell(self, column: int) -> TokenCell | None:
        call = self._call_at_end.get(column)
        if call is None or self.trace.reference is None:
            return None
        token_id = int(self.trace.reference[call].argmax())
        is_missed = self._is_wrong_choice(call) and self._read_next(call) not in (
            None,
            int(self.trace.logits[call].argmax()),
        )
        return TokenCell(
            token_index=column,
            token_id=token_id,
            text=token_text(token_id),
            state="next",
            is_prompt=False,
            is_forced=False,
            step=call,
            is_wrong=False,
            missed=token_text(int(self.trace.logits[call].argmax())) if is_missed else None,
        )

    def _is_wrong_choice(self, call: int) -> bool:
        """Whether wrong logits have another largest one than the reference."""
        reference = self.trace.reference
        return (
            reference is not None
            and self._standings[call] == "wrong"
            and self.trace.logits[call].argmax() != reference[call].argmax()
        )

    def _verdict(self, point: TimelinePoint) -> str:
        if point.logits is None or point.band is None or point.wrong_above is None:
            return f"no verdict: {self.trace.unjudged or 'the trace has no reference'}"
        error = float("nan") if point.max_abs_error is None else point.max_abs_error
        return logits_words(point.logits, error, point.band, point.wrong_above)


def _point(
    trace: ForeignTrace,
    bands: Bands | None,
    call: int,
    standing: Standing | None,
    error: float | None,
) -> TimelinePoint:
    n_tokens = int(trace.n_tokens[call])
    told = None if trace.cache_length is None else known(int(trace.cache_length[call]))
    is_finite = error is None or error < float("inf")
    return TimelinePoint(
        step=call,
        phase="prefill" if call == 0 or n_tokens > 1 else "decode",
        n_tokens=n_tokens,
        length=told,
        is_refused=False,
        outcome="ok",
        is_pending=False,
        policy=None,
        mechanism=None,
        logits=standing,
        max_abs_error=error if is_finite else None,
        is_finite=is_finite,
        band=None if bands is None else bands.right,
        wrong_above=None if bands is None else bands.wrong,
        difference=None,
    )


def _positions(given: list[int | None]) -> str:
    """Position ids of the tokens of a call, in words."""
    if all(number is None for number in given):
        return "no position id given"
    numbers = [number for number in given if number is not None]
    is_run = len(numbers) == len(given) and all(b == a + 1 for a, b in pairwise(numbers))
    if len(given) == 1:
        return f"position {given[0]}"
    if is_run:
        return f"positions {numbers[0]}–{numbers[-1]}"
    shown = ", ".join("none" if number is None else str(number) for number in given[:8])
    return f"positions {shown}" + (", …" if len(given) > 8 else "")
