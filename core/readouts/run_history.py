"""What the records of a run say of any step, kept so that no readout has to walk the run.

A walk over the records has the same answers; a test holds both together.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from core.arrays import ABSENT, IntArray
from core.outcome import Ok
from core.readouts.attention_rows import AttentionRows
from core.readouts.demanded import Demanded
from core.readouts.diagnosed import Diagnosed
from core.readouts.history import PROMPT_PHASES, ReadToken, SlotHistory, n_kept_tokens
from core.readouts.numbering import Numbering
from core.readouts.per_step import Kept
from core.readouts.rows_read import RowsRead
from core.readouts.slot_order import SlotAxis
from core.readouts.slot_table import SlotTable
from core.record import StepRecord
from core.selection import Selection

_at_step = itemgetter(0)


class _TextSoFar:
    """What was read of one sequence.

    Attributes:
        tokens: token index to token, of the text as it is now.
        changes: token index to (step, what stands there from then on; None: nothing).
        reads: token index to (step, position id, token id) of each time that it was read.
        is_forced: whether the token to be read next was chosen from outside.
        end: one above the highest token index.
    """

    def __init__(self) -> None:
        self.tokens: dict[int, ReadToken] = {}
        self.changes: dict[int, list[tuple[int, ReadToken | None]]] = {}
        self.reads: dict[int, list[tuple[int, int | None, int]]] = {}
        self.is_forced = False
        self.end = 0

    def read(self, record: StepRecord) -> None:
        is_prompt = record.phase in PROMPT_PHASES
        is_forced = self.is_forced and not is_prompt
        for place in range(record.ledger.n_pads if record.n_padding else 0):
            pad = ReadToken(int(record.ledger.token_id[place]), record.step, is_prompt, is_forced)
            self.changes.setdefault(place - record.n_padding, []).append((record.step, pad))
        seen: set[int] = set()
        positions = record.position_ids or (None,) * len(record.token_ids)
        numbers = zip(record.token_index, positions, record.token_ids, strict=True)
        for token_index, position_id, token_id in numbers:
            token = ReadToken(token_id, record.step, is_prompt, is_forced)
            self.tokens[token_index] = token
            self.changes.setdefault(token_index, []).append((record.step, token))
            if token_index not in seen:
                seen.add(token_index)
                read = (record.step, position_id, token_id)
                self.reads.setdefault(token_index, []).append(read)

    def forget(self, tokens: list[int], step: int) -> None:
        for token_index in tokens:
            del self.tokens[token_index]
            self.changes[token_index].append((step, None))

    def become(self, tokens: dict[int, ReadToken], step: int) -> None:
        """Have these tokens from `step` on."""
        self.forget([token for token in self.tokens if token not in tokens], step)
        for token_index, token in tokens.items():
            if self.tokens.get(token_index) != token:
                self.changes.setdefault(token_index, []).append((step, token))
        self.tokens = tokens


class RunHistory:
    """Grows with the run, step by step. What it says of a step never changes.

    Only its owner appends, in the thread in which readouts are made.

    Attributes:
        rows_read: when rows were last read.
        numbering: whether position ids are token indices.
        attention_rows: rows of attention that were shown before.
        diagnosed: the mechanism behind what is wrong.
        demanded: the tokens that the policy demands.
        slot_axes: where the slots of what was looked at last stand.
    """

    def __init__(self, records: Iterable[StepRecord] = ()) -> None:
        """What these records say."""
        self._records: list[StepRecord] = []
        self._texts: dict[int, _TextSoFar] = {0: _TextSoFar()}
        self._text_ends: list[int] = []
        self._slot_ends: list[int] = []
        self._first_use: IntArray = np.empty(0, dtype=np.int64)
        self._work: list[tuple[int, int, int]] = []
        self._slot_tables: dict[tuple[int, int], SlotTable] = {}
        self.rows_read = RowsRead(self._records)
        self.numbering = Numbering(self._records)
        self.attention_rows = AttentionRows()
        self.kept: dict[Callable[..., object], Kept] = {}
        self.made_once: dict[Callable[..., object], tuple[tuple[object, ...], object]] = {}
        self.diagnosed = Diagnosed()
        self.demanded = Demanded()
        self.slot_axes: dict[tuple[Selection, int], SlotAxis] = {}
        self.extend(records)

    def extend(self, records: Iterable[StepRecord]) -> None:
        """Take the next steps."""
        for record in records:
            self._append(record)

    def text(self, step: int) -> "TextAt":
        """The text that was read when `step` ended."""
        changes = self._texts[self._records[step].request].changes
        return TextAt(changes, step, self._text_ends[step])

    def numbers(self, step: int) -> Callable[[int | None], tuple[int | None, int | None]]:
        """Finds position id and token id of a token index: as it is held, else as it was last read.

        None, the token index of a row of no token, has neither.
        """
        ledger = self._records[step].ledger

        def find(token_index: int | None) -> tuple[int | None, int | None]:
            if token_index is None:
                return None, None
            places = np.flatnonzero(ledger.token_index == token_index)
            if len(places):
                at = places[-1]
                return int(ledger.position_id[at]), int(ledger.token_id[at])
            return self._as_read(token_index, step)

        return find

    def slots(self, step: int) -> SlotHistory:
        """The slots used by the steps up to `step`, and those that it counted."""
        ledger = self._records[step].ledger
        counted = int(ledger.counted_slots.max(initial=-1)) + 1
        n_slots = max(ledger.capacity, self._slot_ends[step], counted)
        first_step = np.full(n_slots, ABSENT, dtype=np.int64)
        used = self._first_use[:n_slots]
        np.copyto(first_step[: len(used)], used, where=used <= step)
        return SlotHistory(n_slots, first_step)

    def work(self, step: int) -> tuple[int, int, int]:
        """Tokens computed up to a step; and without a cache, whole texts, and cut to the capacity.

        Without one each prediction reads its text anew; a prompt in chunks is read once.
        """
        return self._work[step]

    def slot_table(self, layer: int, which: int = 0) -> SlotTable:
        """What a layer found in each slot in each step of the sequence `which`."""
        if (layer, which) not in self._slot_tables:
            self._slot_tables.clear()  # one layer is looked at, at a time
            self._slot_tables[layer, which] = SlotTable(self._records, layer, which)
        return self._slot_tables[layer, which]

    def _append(self, record: StepRecord) -> None:
        self._records.append(record)
        self._note_slots(record)
        text = self._texts.setdefault(record.request, _TextSoFar())
        if record.phase == "new_prompt":
            text.end = n_kept_tokens(record)
            text.forget([token for token in text.tokens if token >= text.end], record.step)
        if isinstance(record.outcome, Ok):
            if record.phase == "rollback":
                text.forget([*text.tokens][-record.n_rolled_back :], record.step)
                text.end = max(text.tokens, default=-1) + 1
            self._reorder(record)
            text.read(record)
            text.end = max(text.end, max(record.token_index, default=-1) + 1)
            if record.n_rejected:
                text.forget([*text.tokens][-record.n_rejected :], record.step)
                text.end -= record.n_rejected
            if record.next_token is not None:
                text.is_forced = record.is_forced
        self._text_ends.append(text.end)
        self._work.append(self._work_with(record))

    def _work_with(self, record: StepRecord) -> tuple[int, int, int]:
        computed, whole, cut = self._work[-1] if self._work else (0, 0, 0)
        before = self._records[-2] if len(self._records) > 1 else None
        if (
            before is not None
            and before.request == record.request
            and before.phase in PROMPT_PHASES
            and before.is_computed
            and record.phase == "prefill"
        ):  # that was a chunk: nothing was predicted after it
            length = before.token_index[-1] + 1
            whole, cut = whole - length, cut - min(length, before.ledger.capacity)
        if not record.is_computed:
            return computed, whole, cut
        length = record.token_index[-1] + 1
        shorter = min(length, record.ledger.capacity)
        return computed + len(record.slots), whole + length, cut + shorter

    def _note_slots(self, record: StepRecord) -> None:
        end = self._slot_ends[-1] if self._slot_ends else 0
        slots = record.slots
        if len(slots):
            end = max(end, int(slots.max()) + 1)
            if end > len(self._first_use):
                more = np.full(max(end, 2 * len(self._first_use)) - len(self._first_use), ABSENT)
                self._first_use = np.concatenate((self._first_use, more))
            new = slots[self._first_use[slots] == ABSENT]
            self._first_use[new] = record.step
        self._slot_ends.append(end)

    def _reorder(self, record: StepRecord) -> None:
        """Each sequence goes on with its parent's tokens."""
        copies = [(dict(self._texts[p].tokens), self._texts[p]) for p in record.parents]
        forced = [parent.is_forced for _, parent in copies]
        for which, (tokens, parent) in enumerate(copies):
            self._texts[which].become(tokens, record.step)
            self._texts[which].end = parent.end
        for which, is_forced in enumerate(forced):
            self._texts[which].is_forced = is_forced

    def _as_read(self, token_index: int, step: int) -> tuple[int | None, int | None]:
        reads = self._texts[self._records[step].request].reads.get(token_index, ())
        place = bisect_right(reads, step, key=_at_step)
        return reads[place - 1][1:] if place else (None, None)


@dataclass(frozen=True, slots=True)
class TextAt:
    """The text that was read when a step ended, to be asked token by token.

    Attributes:
        step: which step.
        end: one above the highest token index.
    """

    _changes: dict[int, list[tuple[int, ReadToken | None]]]
    step: int
    end: int

    def get(self, token_index: int) -> ReadToken | None:
        """A token; None: it is no part of the text."""
        changes = self._changes.get(token_index, ())
        place = bisect_right(changes, self.step, key=_at_step)
        return changes[place - 1][1] if place else None

    def __getitem__(self, token_index: int) -> ReadToken:
        """A token that is there, or the one that was there last."""
        token = self.get(token_index)
        if token is not None:
            return token
        for step, read in reversed(self._changes.get(token_index, ())):
            if step <= self.step and read is not None:
                return read
        raise KeyError(token_index)

    def __contains__(self, token_index: int) -> bool:
        """Whether a token index is in the text."""
        return self.get(token_index) is not None

    def items(self, first: int = 0) -> Iterator[tuple[int, ReadToken]]:
        """(token index, token) from `first` on, in ascending order."""
        for token_index in range(first, self.end):
            token = self.get(token_index)
            if token is not None:
                yield token_index, token


@dataclass(frozen=True, slots=True)
class WordsAt(Mapping[int, str]):
    """Token index to what the token shows as, for a text.

    Attributes:
        text: the text.
        token_text: what a token id shows as.
    """

    text: TextAt
    token_text: Callable[[int], str]

    def __getitem__(self, token_index: int) -> str:
        """What a token shows as; padding, below 0, shows as nothing."""
        return "" if token_index < 0 else self.token_text(self.text[token_index].token_id)

    def __iter__(self) -> Iterator[int]:
        """The token indices, ascending."""
        return (token_index for token_index, _ in self.text.items())

    def __len__(self) -> int:
        """How many tokens there are."""
        return sum(1 for _ in self)
