"""What `kvscope run` looks at beside the verdicts: dead rows always, the rest where it is asked."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from app.cli_values import FirstWrong
from core.engine.rehearsal import Rehearsal
from core.errors import SpecError
from core.judge import Judge
from core.liveness import MOST_LIVE, Liveness, is_tried, liveness_of
from core.readouts.error_table import ErrorTable, error_table, errors_json, table_lines
from core.readouts.words import plural, ranges
from core.sanitizer import DeadWeight, RowState, Sanitizer
from core.session import Session
from core.trace_json import finite_or_text
from core.verdict import StepVerdict

ErrorsOf = int | FirstWrong | None
"""The step whose errors are shown; None: none."""

_MOST_TOLD = 3


class Checks:
    """Follows a run, between its steps and after each batch of verdicts.

    Attributes:
        is_waiting: whether the newest step is to be judged before the next one is made.
    """

    def __init__(self, session: Session, judge: Judge, every: int | None, errors: ErrorsOf) -> None:
        """Look on.

        Args:
            session: the run.
            judge: of the run.
            every: in which decode steps rows are changed: those that it divides; None: in none.
            errors: the step whose errors are shown.
        """
        self.is_waiting = False
        self._session, self._judge = session, judge
        self._every, self._errors_of = every, errors
        self._rehearsal: Rehearsal | None = None
        self._liveness: dict[int, Liveness] = {}
        self._table: ErrorTable | None = None
        trace = session.trace
        self._sanitizer = Sanitizer(trace.model.config.n_layers, trace.spec.n_sequences)

    @property
    def missing(self) -> str | None:
        """Why the errors of the step that was named cannot be shown: the run has fewer steps."""
        n = len(self._session.trace.records)
        named = self._errors_of
        if not isinstance(named, int) or named < n:
            return None
        return _no_such_step(named, n)

    @property
    def is_wrong(self) -> bool:
        """Whether anything was found."""
        return bool(self._sanitizer.found) or any(one.is_wrong for one in self._liveness.values())

    def before_step(self) -> None:
        """The next step is about to be made."""
        number = len(self._session.trace.records)
        is_due = self._every is not None and number % self._every == 0
        self._rehearsal = self._session.rehearsal() if is_due else None

    def after_step(self) -> None:
        """It was made."""
        record = self._session.trace.records[-1]
        self.is_waiting = self._rehearsal is not None and is_tried(record, self._every or 1)

    def follow(self, verdicts: Sequence[StepVerdict]) -> None:
        """The next steps were judged."""
        trace = self._session.trace
        for verdict in verdicts:
            record = trace.records[verdict.step]
            rehearsal = self._rehearsal
            if self.is_waiting and rehearsal is not None and rehearsal.number == verdict.step:
                shadow = self._sanitizer.shadow(record.request)
                self._liveness[verdict.step] = liveness_of(
                    rehearsal, record, verdict.expected, shadow, trace.spec.seed
                )
            self._sanitizer.follow(trace.records, verdict)
            if self._is_shown(verdict):
                self._table = self._table_of(verdict)
        self.is_waiting, self._rehearsal = False, None

    def _is_shown(self, verdict: StepVerdict) -> bool:
        if self._errors_of is FirstWrong.STEP:
            return self._table is None and verdict.is_wrong
        return verdict.step == self._errors_of

    def _table_of(self, verdict: StepVerdict) -> ErrorTable | None:
        trace, detail = self._session.trace, self._judge.detail(verdict.step)
        if detail is None:
            return None
        return error_table(trace.records, verdict, detail, trace.spec.number_kind)

    def parts_of(self, step: int) -> dict[str, Any]:
        """What a step's line says of it."""
        found = self._sanitizer.found.get(step, ())
        parts: dict[str, Any] = {"not_live": [_weight_json(one) for one in found]}
        if step in self._liveness:
            parts["liveness"] = _liveness_json(self._liveness[step])
        if self._table is not None and self._table.step == step:
            parts["errors"] = errors_json(self._table)
        return parts

    def lines(self) -> Iterator[str]:
        """What is said of the run, for a person; nothing where nothing was found or asked."""
        yield from _weight_lines(self._sanitizer.found)
        if self._every is not None:
            yield from _liveness_lines(list(self._liveness.values()), self._every)
        if self._table is not None:
            yield from table_lines(self._table)
        elif self._errors_of is not None:
            yield self._no_table()

    def _no_table(self) -> str:
        if self.missing is not None:
            return f"Errors: step {self._errors_of} was not reached."
        if self._errors_of is not FirstWrong.STEP:
            return f"Errors: step {self._errors_of} has nothing that could be compared."
        if any(verdict.is_wrong for verdict in self._judge.verdicts):
            return "Errors: no step that is wrong computed what could be compared."
        return "Errors: no step is wrong; --errors N shows those of step N."


def check_errors_of(errors: ErrorsOf, most: int) -> None:
    """Raise SpecError where a run of at most `most` steps cannot have the step that is named."""
    if isinstance(errors, int) and errors >= most:
        raise SpecError(_no_such_step(errors, most))


def _no_such_step(named: int, n: int) -> str:
    which = "that is step 0" if n == 1 else f"give one from 0 to {n - 1}"
    return f"--errors {named}: the run has {plural(n, 'step')}; {which}"


def _weight_json(found: DeadWeight) -> dict[str, Any]:
    return {
        "layer": found.layer,
        "state": found.state.words,
        "amount": finite_or_text(found.amount),
        "head": found.head,
        "by_head": [finite_or_text(amount) for amount in found.by_head],
        "rows": list(found.rows),
    }


def _weight_lines(found: dict[int, tuple[DeadWeight, ...]]) -> Iterator[str]:
    """Of the first step with any, the largest of each state."""
    if not found:
        return
    step = min(found)
    largest: dict[RowState, DeadWeight] = {}
    for one in found[step]:
        known = largest.get(one.state)
        if known is None or one.is_above(known):
            largest[one.state] = one
    n_steps = plural(len(found), "step")
    yield f"Weight on rows that are not live: in {n_steps}, first in step {step}."
    for state, one in largest.items():
        yield (
            f"  - {_amount(one.amount)} on rows {_STATES[state]} (layer {one.layer}, head "
            f"{one.head}; {_rows(one.rows)})"
        )


def _amount(amount: float) -> str:
    return "weight that is no number" if isnan(amount) else f"{100 * amount:.3g} %"


_STATES = {
    RowState.NEVER_WRITTEN: "never written",
    RowState.LIVE: "held, but not to be read",
    RowState.LOOSE: "of no token",
    RowState.PADDING: "of padding",
    RowState.EVICTED: "evicted",
    RowState.STALE: "taken back, or of an older text",
    RowState.FOREIGN: "holding another row than they should",
}


def _rows(rows: Sequence[int]) -> str:
    return f"{'row' if len(rows) == 1 else 'rows'} {ranges(rows)}"


def _liveness_json(found: Liveness) -> dict[str, Any]:
    return {
        "live": found.n_live,
        "tried": found.n_tried,
        "dead": found.n_dead,
        "blind": [
            {"layer": one.layer, "token_index": one.token_index, "row": one.row}
            for one in found.blind
        ],
        "leaks": [
            {"layer": one.layer, "row": one.row, "state": one.state.words} for one in found.leaks
        ],
        "forwards": found.n_forwards,
        "seconds": round(found.seconds, 3),
        "skipped": found.skipped,
    }


def _liveness_lines(tried: Sequence[Liveness], every: int) -> Iterator[str]:
    done = [one for one in tried if one.skipped is None]
    n_forwards, took_s = sum(one.n_forwards for one in done), sum(one.seconds for one in done)
    cost = f"{plural(n_forwards, 'forward')}, {took_s:.2f} s"
    wrong = [one for one in done if one.is_wrong]
    if wrong:
        first = wrong[0]
        yield f"Liveness: wrong in {len(wrong)} of {plural(len(done), 'step')} tried ({cost})."
        yield from _blind_lines(first)
        yield from _leak_lines(first)
    elif done:
        yield (
            f"Liveness: in {plural(len(done), 'step')} every live row that was changed changes the "
            f"logits, and no dead one does ({cost})."
        )
    elif not tried:
        yield f"Liveness: no decode step has a number that {every} divides, so none was tried."
    most = max((one.n_live for one in done), default=0)
    if most > MOST_LIVE:
        yield (
            f"  - of up to {most} live rows of a layer {MOST_LIVE} were tried: the first, the "
            "last, and others drawn by the seed"
        )
    for one in [one for one in tried if one.skipped is not None][:_MOST_TOLD]:
        yield f"  - step {one.step} was not tried: {one.skipped}"


def _blind_lines(found: Liveness) -> Iterator[str]:
    by_layer: dict[tuple[int, ...], list[int]] = {}
    for layer in sorted({one.layer for one in found.blind}):
        tokens = [
            one.token_index
            for one in found.blind
            if one.layer == layer and one.token_index is not None
        ]
        by_layer.setdefault(tuple(sorted(tokens)), []).append(layer)
    for tokens, layers in by_layer.items():
        what = f"{'token' if len(tokens) == 1 else 'tokens'} {ranges(tokens)}"
        what = what if tokens else "rows of no token"
        yield f"  - step {found.step} is blind to {what} in {_layers(layers)}"


def _leak_lines(found: Liveness) -> Iterator[str]:
    leaks: dict[tuple[RowState, tuple[int, ...]], list[int]] = {}
    by_state: dict[tuple[int, RowState], list[int]] = {}
    for one in found.leaks:
        by_state.setdefault((one.layer, one.state), []).append(one.row)
    for (layer, state), rows in by_state.items():
        leaks.setdefault((state, tuple(rows)), []).append(layer)
    for (state, rows), layers in leaks.items():
        what = f"{_rows(rows)}, {_STATES[state]},"
        yield f"  - step {found.step} changes with {what} in {_layers(layers)}"


def _layers(layers: Sequence[int]) -> str:
    return f"{'layer' if len(layers) == 1 else 'layers'} {ranges(layers)}"
