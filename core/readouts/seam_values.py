"""What a seam was given and what it answered in a step, as far as the record keeps it.

Nothing is worked out anew: a value that no record holds is not shown. Each is written as the
code writes it. One method for each seam, so that this stays in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.compare import record_before
from core.outcome import Ok, Outcome, PositionLimit, Refused
from core.policy_oracle import Expected
from core.readouts.history import computed_tokens, newest_query
from core.readouts.mask_words import RightToSee
from core.readouts.words import outcome_words
from core.readouts.written_values import (
    Kind,
    Numbers,
    SeamValue,
    list_text,
    listed,
    mask_row,
    number,
    tokens_in,
)
from core.record import LayerRecord, StepRecord

if TYPE_CHECKING:
    from core.readouts.run_view import RunView


@dataclass(frozen=True, slots=True)
class SeamValues:
    """Values of a seam in a step.

    Attributes:
        values: in the order argument, answer, effect.
        why_none: why there are none, or why there is no answer; None: there is one.
    """

    values: tuple[SeamValue, ...]
    why_none: str | None


def seam_values(view: RunView, seam: str) -> SeamValues:
    """What a seam was given and answered in the step and layer that are looked at."""
    values = _Values(view)
    why_none = values.why_not_asked(seam)
    if why_none is not None:
        return SeamValues((), f"not asked in step {view.selection.step}: {why_none}")
    makers: Mapping[str, Callable[[], Iterator[SeamValue]]] = {
        "reset": values.of_reset,
        "overflow": values.of_overflow,
        "admit": values.of_admit,
        "past_len": values.of_past_len,
        "position_ids": values.of_position_ids,
        "layer_position_ids": values.of_layer_position_ids,
        "add_positions": lambda: values.of_given_positions("argument"),
        "next_slots": values.of_next_slots,
        "slot_mapping": values.of_slot_mapping,
        "store": values.of_store,
        "kv_view": values.of_kv_view,
        "rotate": values.of_rotate,
        "in_window": values.of_in_window,
        "causal_mask": values.of_causal_mask,
        "repeat_kv": values.of_repeat_kv,
        "join": values.of_tokens_held,
        "evict": values.of_evict,
        "crop": values.of_crop,
        "reported_length": values.of_reported_length,
    }
    if seam not in makers:
        return SeamValues((), "the record keeps none of its values")
    return SeamValues(tuple(makers[seam]()), None)


class _Values:
    """Looks the values up in the records of a step."""

    def __init__(self, view: RunView) -> None:
        step, layer = view.selection.step, view.selection.layer
        self._view = view
        self._record: StepRecord = view.records[step]
        before = record_before(view.records, step)
        self._before = None if before is None else before.ledger
        self._told: LayerRecord | None = None
        if self._record.layers:
            self._told = self._record.layers[layer]
        verdict = view.verdicts.get(step)
        self._verdict = verdict
        self._expected: Expected | None = None if verdict is None else verdict.expected

    @property
    def _evicts(self) -> bool:
        """Whether rows leave at commit, so that the ledger kept is not the one that was planned."""
        return self._view.spec.policy in ("window", "sinks")

    def why_not_asked(self, seam: str) -> str | None:
        """Why there is nothing to show of a seam in this step; None: there is something."""
        phase = self._record.phase
        if seam == "reset" and phase != "new_prompt":
            return "asked by a new prompt only"
        if seam == "crop":
            return self._why_nothing_was_cropped()
        if seam in ("overflow", "admit"):
            return "a rollback appends nothing" if phase == "rollback" else None
        if seam in ("reset", "crop", "reported_length") or self._told is not None:
            return None
        return "nothing was computed in this step"

    def _why_nothing_was_cropped(self) -> str | None:
        record, phase = self._record, self._record.phase
        if phase == "new_prompt" and record.prompt_ids:
            return "the record keeps none of its values"
        if phase not in ("rollback", "verify"):
            return "asked by a rollback, or where drafts are rejected"
        if not isinstance(record.outcome, Ok):
            return f"the {phase} was refused"
        return "no draft was rejected" if phase == "verify" and not record.n_rejected else None

    # What each seam was given and what it answered.

    def of_reset(self) -> Iterator[SeamValue]:
        yield from self._ledger_before()
        yield from self._past_len("effect")

    def of_overflow(self) -> Iterator[SeamValue]:
        record = self._record
        if record.phase != "new_prompt":
            yield from self._ledger_before()
        n_new = record.n_padding + len(record.token_ids)
        yield number("argument", "n_new", max(n_new, *record.n_probed))
        yield number("answer", "n_short", record.n_short, self._expected_n_short())
        yield self._outcome("effect")

    def of_admit(self) -> Iterator[SeamValue]:
        record, refuses = self._record, self._view.spec.policy == "refuse"
        if record.phase != "new_prompt" and record.n_recomputed == 0:
            yield from self._ledger_before()
        if refuses:
            n_new = record.n_padding + len(record.token_ids)
            n_keys, n_values = record.n_probed if record.phase == "probe" else (n_new, n_new)
            yield number("argument", "append.n_keys", n_keys)
            yield number("argument", "append.n_values", n_values)
            yield number("argument", "append.n_lacking", record.n_short)
        is_last_word = not self._evicts and not isinstance(record.outcome, PositionLimit)
        kind: Kind = "answer" if is_last_word else "effect"
        yield self._outcome(kind)
        yield from self._length_after(kind)

    def of_past_len(self) -> Iterator[SeamValue]:
        if self._record.phase != "new_prompt" and self._record.n_recomputed == 0:
            yield from self._ledger_before("seen", "origin")
        yield from self._past_len("answer")

    def of_position_ids(self) -> Iterator[SeamValue]:
        yield from self._past_len("argument")
        yield number("argument", "n_new", len(self._record.slots) - self._record.n_padding)
        yield from self.of_given_positions("answer")

    def of_layer_position_ids(self) -> Iterator[SeamValue]:
        """Of all computed tokens; queries and keys are to have the same."""
        if self._told is None:
            return
        plan = self._told.plan
        given: list[int] = plan.position_ids.tolist()
        yield listed("argument", "position_ids", given)
        yield number("argument", "layer", self._view.selection.layer)
        right = None if self._expected is None else given
        yield listed("answer", "queries at", plan.queries_at.tolist(), right)
        if plan.write_position_ids is not None:
            yield listed("answer", "keys at", plan.write_position_ids.tolist(), right)

    def of_next_slots(self) -> Iterator[SeamValue]:
        record, before = self._record, self._before
        if before is not None and record.phase != "new_prompt" and record.n_recomputed == 0:
            taken = before.counted_slots.tolist()
            yield listed("argument", "ledger.counted_slots", taken)
        yield number("argument", "n_new", len(record.slots))
        first = None if self._verdict is None else self._verdict.first_difference
        is_wrong = first is not None and first.field == "slots"
        slots: list[int] = record.slots.tolist()
        yield SeamValue(
            "answer",
            "slots",
            list_text(slots),
            list_text(slots, most=None),
            "free slots, one for each" if is_wrong else None,
            is_wrong,
        )

    def of_slot_mapping(self) -> Iterator[SeamValue]:
        if self._told is None:
            return
        plan = self._told.plan
        yield listed("argument", "slots", self._record.slots.tolist())
        yield listed("answer", "write_rows", plan.write_rows.tolist())
        yield listed("argument", "view_slots", plan.view_slots.tolist())
        yield listed("answer", "read_rows", plan.read_rows.tolist())

    def of_store(self) -> Iterator[SeamValue]:
        told = self._told
        if told is None:
            return
        yield listed("argument", "write_rows", told.plan.write_rows.tolist())
        shape = list(told.new_keys.shape)
        yield SeamValue("argument", "keys, values", f"{shape} each", f"{shape} each")
        yield listed("effect", "view_slots", told.plan.view_slots.tolist())
        found, claimed = tokens_in(told.row_token), tokens_in(told.plan.view_token_index)
        right = None if self._expected is None else claimed
        yield listed("effect", "row_token", found, right)

    def of_kv_view(self) -> Iterator[SeamValue]:
        told = self._told
        if told is None:
            return
        plan = told.plan
        if not self._evicts:
            yield number("argument", "ledger.length", self._record.ledger.length)
        yield listed("answer", "view_slots", plan.view_slots.tolist())
        claimed = tokens_in(plan.view_token_index)
        right = self._expected_view(claimed)
        yield listed("answer", "view_token_index", claimed, right)
        found = tokens_in(told.row_token)
        if found != claimed:
            yield listed("effect", "row_token", found)

    def of_rotate(self) -> Iterator[SeamValue]:
        told = self._told
        if told is None:
            return
        shape = list(told.queries.shape)
        scheme = self._view.model.config.scheme
        yield SeamValue("argument", "scheme", scheme, scheme)
        yield SeamValue("argument", "heads (queries)", f"{shape}", f"{shape}")
        yield from self.of_given_positions("argument")
        written = told.plan.write_position_ids
        if written is not None:
            yield listed("argument", "write_position_ids", written.tolist())

    def of_in_window(self) -> Iterator[SeamValue]:
        told, queries, place = self._told, *self._query()
        if told is None:
            return
        yield listed("argument", "query", _tokens_of(queries))
        yield listed("argument", "key", tokens_in(told.plan.view_token_index))
        right = RightToSee.of(self._record, self._expected).readable[place]
        yield listed("answer", f"readable[{place}]", self._record.readable[place].tolist(), right)

    def of_causal_mask(self) -> Iterator[SeamValue]:
        told, record = self._told, self._record
        if told is None:
            return
        queries, place = self._query()
        yield listed("argument", "query", _tokens_of(queries))
        yield listed("argument", "key", tokens_in(told.plan.view_token_index))
        yield listed("argument", f"readable[{place}]", record.readable[place].tolist())
        right, is_judged = RightToSee.of(record, self._expected).matrix(told.plan.view_token_index)
        used = told.plan.mask
        yield mask_row(place, used[place], right[place] if is_judged[place] else None)
        others = np.flatnonzero(is_judged & (used != right).any(axis=1)).tolist()
        others = [other for other in others if other != place]
        if others:
            text = list_text(others)
            yield SeamValue("answer", "also wrong: rows", text, text, "none", is_wrong=True)

    def of_repeat_kv(self) -> Iterator[SeamValue]:
        told, config = self._told, self._view.model.config
        if told is None:
            return
        shape = [config.n_kv_heads, len(told.plan.view_slots), config.d_head]
        yield SeamValue("argument", "heads", f"{shape}", f"{shape}")
        yield number("argument", "n_rep", config.n_rep)

    def of_evict(self) -> Iterator[SeamValue]:
        yield number("argument", "n_short", self._record.n_short)
        yield number("argument", "sinks", self._view.spec.sinks)
        yield from self.of_tokens_held()

    def of_tokens_held(self) -> Iterator[SeamValue]:
        """After the step; rows of no token left out."""
        held = [t for t in tokens_in(self._record.ledger.token_index) if t is not None]
        right = None
        if self._expected is not None:
            right = [token for token, _ in self._expected.live]
        yield listed("effect", "tokens held", held, right)

    def of_crop(self) -> Iterator[SeamValue]:
        """Of a ledger that still has the rejected drafts the record keeps nothing."""
        if self._record.phase == "rollback":
            yield from self._ledger_before("length", "seen")
        yield number("argument", "n", self._record.n_rolled_back + self._record.n_rejected)
        yield from self._length_after("answer")

    def of_reported_length(self) -> Iterator[SeamValue]:
        record, expected = self._record, self._expected
        yield number("argument", "ledger.length", record.ledger.length)
        yield number("argument", "ledger.seen", record.ledger.seen)
        right = None if expected is None else expected.length
        yield number("answer", "reported_length", record.reported_length, right)

    # Values that several seams share.

    def _query(self) -> tuple[range, int]:
        """The tokens computed, and the place among them of the one looked at, else the newest."""
        queries, chosen = computed_tokens(self._record), self._view.selection.token_index
        if chosen is not None and chosen in queries:
            return queries, queries.index(chosen)
        return queries, newest_query(self._record)

    def _ledger_before(self, *names: str) -> Iterator[SeamValue]:
        """The ledger that the step before left; of the first step none is kept."""
        if self._before is None:
            return
        for name in names or ("length", "capacity"):
            yield number("argument", f"ledger.{name}", getattr(self._before, name))

    def _length_after(self, kind: Kind) -> Iterator[SeamValue]:
        record, expected, before = self._record, self._expected, self._before
        length, text = record.ledger.length, str(record.ledger.length)
        if before is not None and record.phase != "new_prompt":
            text = f"{before.length} → {length} of {record.ledger.capacity}"
        right = None if expected is None else expected.length
        shown = None if right is None else str(right)
        yield SeamValue(kind, "length", text, text, shown, right not in (None, length))
        seen = None if expected is None else expected.seen
        yield number(kind, "seen", record.ledger.seen, seen)

    def _past_len(self, kind: Kind) -> Iterator[SeamValue]:
        if self._record.past_len is not None:
            yield number(kind, "past_len", self._record.past_len, self._expected_past_len())

    def of_given_positions(self, kind: Kind) -> Iterator[SeamValue]:
        """Of the new tokens; the oracle says nothing of those that are read again."""
        right = None
        if self._expected is not None and self._expected.position_ids:
            right = self._expected.position_ids
        yield listed(kind, "position_ids", self._record.position_ids, right)

    def _outcome(self, kind: Kind) -> SeamValue:
        record = self._record
        words = outcome_words(record.outcome, record)
        right: Outcome | None = None if self._expected is None else self._expected.outcome
        right_words = None if right is None else outcome_words(right, record)
        return SeamValue(
            kind, "outcome", words, words, right_words, right not in (None, record.outcome)
        )

    # What the oracles say of a value that they do not name themselves.

    def _expected_n_short(self) -> int | None:
        """Under refuse, the rows that the oracle found lacking."""
        if self._expected is None or self._view.spec.policy != "refuse":
            return None
        outcome = self._expected.outcome
        return max(0, outcome.needed - outcome.free) if isinstance(outcome, Refused) else 0

    def _expected_past_len(self) -> int | None:
        """The new tokens' first position counts on from it, if they are not numbered by rank."""
        if self._expected is None or self._view.spec.reassign_positions:
            return None
        given = [number for number in self._expected.position_ids if number is not None]
        return given[0] - self._expected.recomputed if given else None

    def _expected_view(self, claimed: Numbers) -> Numbers | None:
        """The tokens that some new query may read, where the view lacks one or has empty rows."""
        expected = self._expected
        if expected is None or not expected.readable:
            return None
        right = {token for tokens in expected.readable for token in tokens}
        n_empty = sum(token is None for token in claimed)
        if n_empty <= expected.length - len(expected.live) and right <= {*claimed}:
            return None
        return sorted(right)


def _tokens_of(queries: range) -> Numbers:
    """The token indices of queries; None: padding."""
    return [None if token < 0 else token for token in queries]
