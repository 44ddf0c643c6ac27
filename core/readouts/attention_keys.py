"""What the columns of an attention image were, step by step: slots are used again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, BoolArray, IntArray, frozen, known
from core.blank_rows import rows_unwritten
from core.readouts.attention_image import ReadSpan, Take
from core.readouts.attention_orders import Order
from core.record import StepRecord


@dataclass(frozen=True, slots=True)
class KeyLabel:
    """A column of the image, as one step found it.

    Attributes:
        slot: the slot of the row; None: a column of a token whose row was not read.
        token_index: token whose row was really there; None: none, or not read.
        claimed_token_index: token that the ledger claimed for it; where it was not read, the
            token that the column stands for; None: none.
        text: text of the token that was really there; None: none.
        n_read: how many of the rows that the step read belong to it; 0: none.
        is_unwritten: whether the row was never written.
    """

    slot: int | None
    token_index: int | None
    claimed_token_index: int | None
    text: str | None
    n_read: int
    is_unwritten: bool

    @property
    def is_read(self) -> bool:
        """Whether the step read it."""
        return self.n_read > 0

    @property
    def is_foreign(self) -> bool:
        """Whether another token's row was there than the ledger claimed."""
        return self.token_index is not None and self.token_index != self.claimed_token_index


@dataclass(frozen=True, slots=True, eq=False)
class KeysRead:
    """What one step found in the C columns. ABSENT: nothing.

    Attributes:
        slot: [C] slot of the row read; where none was, the slot that the column stands for.
        token_index: [C] token whose row was really there.
        claimed_token_index: [C] token that the ledger claimed; where no row was read, the token
            that the column stands for.
        n_read: [C] how many rows were read.
        is_unwritten: [C] whether it was read and never written.
        text: token index to text.
    """

    slot: IntArray
    token_index: IntArray
    claimed_token_index: IntArray
    n_read: IntArray
    is_unwritten: BoolArray
    text: Mapping[int, str]

    @property
    def is_read(self) -> BoolArray:
        """[C] whether a row was read."""
        return self.n_read > 0

    def label(self, column: int) -> KeyLabel:
        """The label of a column."""
        token = int(self.token_index[column])
        return KeyLabel(
            slot=known(int(self.slot[column])),
            token_index=known(token),
            claimed_token_index=known(int(self.claimed_token_index[column])),
            text=self.text.get(token),
            n_read=int(self.n_read[column]),
            is_unwritten=bool(self.is_unwritten[column]),
        )


def keys_of_take(
    records: Sequence[StepRecord],
    take: Take,
    order: Order,
    layer: int,
    span: ReadSpan,
    text: Mapping[int, str],
) -> KeysRead:
    """What a take's step found in the columns; `span` is of its plan."""
    told, plan = take.record.layers[layer], span.plan
    columns = order.columns(span)
    slot, claimed = order.slots.copy(), order.tokens.copy()
    token = np.full(order.n_columns, ABSENT, dtype=np.int64)
    n_read = np.zeros(order.n_columns, dtype=np.int64)
    is_unwritten = np.zeros(order.n_columns, dtype=np.bool_)
    slot[columns], claimed[columns] = plan.view_slots, plan.view_token_index
    token[columns], n_read[columns] = told.row_token, 1
    if span.has_repeats and not isinstance(columns, slice):
        n_read = np.bincount(columns, minlength=order.n_columns)
    is_unwritten[columns] = rows_unwritten(records, layer, told)
    return KeysRead(
        slot=frozen(slot),
        token_index=frozen(token),
        claimed_token_index=frozen(claimed),
        n_read=frozen(n_read),
        is_unwritten=frozen(is_unwritten),
        text=text,
    )
