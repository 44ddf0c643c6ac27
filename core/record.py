"""The frozen account of one step: what every seam answered and every tensor that was used.

T is the number of tokens computed in the step, S the rows read, Hq and Hkv the query and
key-value heads, D the head size, V the vocabulary. Arrays are read only. Integer arrays say
ABSENT where there is nothing.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, cast

import numpy as np

from core.arrays import LATER, FloatArray, IntArray
from core.engine.types import LayerPlan, Ledger
from core.outcome import Outcome

Phase = Literal["prefill", "decode", "verify", "rollback", "reorder", "new_prompt", "probe"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Cache rows whose bytes were first read in this step: new ones, or changed ones.

    Attributes:
        row: [n] physical rows.
        kv: [2, Hkv, n, D] their keys and values as read back from the buffer.
    """

    row: IntArray
    kv: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LayerRecord:
    """What one layer consumed and produced in a step.

    Attributes:
        plan: what the layer was told; shared between layers that were told the same.
        queries: [Hq, T, D] as used in the scores.
        new_keys: [Hkv, T, D] as handed to the store.
        new_values: [Hkv, T, D] as handed to the store.
        row_token: [S] token index whose row was really read there, found from the bytes.
        row_version: [S] step in which those bytes were first read at that row.
        first_read: the rows whose version is this step.
        used_keys: keys as used in the scores, [Hkv, S, D] or, where each query gives them its
            own positions, [T, Hkv, S, D]; None: exactly the rows as read.
        scores: [Hq, T, S] scaled and biased, before the mask.
        weights: [Hq, T, S] softmax of the visible scores.
        output: [T, d_model] of attention, after its projection.
        residual: [T, d_model] after the layer.
    """

    plan: LayerPlan
    queries: FloatArray
    new_keys: FloatArray
    new_values: FloatArray
    row_token: IntArray
    row_version: IntArray
    first_read: Rows
    used_keys: FloatArray | None
    scores: FloatArray
    weights: FloatArray
    output: FloatArray
    residual: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LiveRows:
    """What is really in the slots that the ledger counts, after commit, in slot order.

    Attributes:
        slot: [n] counted slots.
        row: [n] their physical rows; ABSENT outside the buffer.
        token_index: [n] token whose row is there, found from what was written; ABSENT: none.
    """

    slot: IntArray
    row: IntArray
    token_index: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class StepRecord:
    """One request to the engine.

    Attributes:
        step: its place in the run.
        request: which of several requests; 0 in plain decoding.
        phase: what was asked.
        token_ids: [n] the new tokens that were read (or offered, in a refused step).
        token_index: [n] their token indices.
        outcome: how it ended.
        ledger: what the cache is said to hold after commit.
        reported_length: the length that the cache tells the outside.
        n_short: rows by which the append passed the capacity.
        past_len: tokens read before, as the engine counted them; None where nothing was computed.
        n_skipped: first new tokens that fell out before they were computed.
        n_recomputed: older tokens that were read again; the T computed tokens are these, then
            the new ones that were not skipped.
        slots: [T] slots that the computed tokens went to.
        readable: for each of the T computed tokens, the token indices that the policy lets it
            see, ascending.
        layers: one record a layer; empty where nothing was computed.
        live: what is really in the counted slots; one per layer, the same object where equal.
        logits: [V] of the last token that is kept; None where nothing was computed.
        predicted: the engine's own choice after it.
        next_token: the token to be read next; None: nothing follows from this step.
        is_forced: whether `next_token` was chosen from outside.
        n_rolled_back: tokens that a rollback asked to take back; 0 in other steps.
        n_rejected: drafts at the end of `token_ids` that were read and taken back in the step.
        prompt_ids: the whole new prompt where rows of an older text were to be used again; what
            was read of it is `token_ids`, the last of it. Empty in other steps.
        parents: for each sequence, the one whose text it goes on from; empty but in a reorder.
        n_padding: rows of padding that came before the new tokens; the first of the T computed.
        n_allocated: rows that each buffer has room for, where it grows; 0: for all of them at once.
        n_probed: key rows and value rows that a probe asked to append; (0, 0) in other steps.
    """

    step: int
    request: int
    phase: Phase
    token_ids: tuple[int, ...]
    token_index: tuple[int, ...]
    outcome: Outcome
    ledger: Ledger
    reported_length: int
    n_short: int
    past_len: int | None
    n_skipped: int
    n_recomputed: int
    slots: IntArray
    readable: tuple[IntArray, ...]
    layers: tuple[LayerRecord, ...]
    live: tuple[LiveRows, ...]
    logits: FloatArray | None
    predicted: int | None
    next_token: int | None
    is_forced: bool
    n_rolled_back: int = 0
    n_probed: tuple[int, int] = (0, 0)
    parents: tuple[int, ...] = field(default=(), metadata=LATER)
    n_padding: int = field(default=0, metadata=LATER)
    n_allocated: int = field(default=0, metadata=LATER)
    n_rejected: int = field(default=0, metadata=LATER)
    prompt_ids: tuple[int, ...] = field(default=(), metadata=LATER)

    @property
    def is_computed(self) -> bool:
        """Whether the model ran in this step."""
        return self.logits is not None

    @property
    def position_ids(self) -> tuple[int | None, ...]:
        """Position id of each new token (layer 0); None: fell out before it was computed."""
        if not self.layers:
            return ()
        first = self.n_recomputed + self.n_padding
        computed = self.layers[0].plan.position_ids[first:].tolist()
        return (*(None for _ in range(self.n_skipped)), *computed)

    def digest(self) -> str:
        """Hash of everything in the record; equal records have equal digests."""
        state = hashlib.sha256()
        for part in _bytes_of(self):
            state.update(part)
        return state.hexdigest()


def _is_left_out(metadata: Mapping[str, str], item: object, default: object) -> bool:
    """Whether a field says that it has no part in the digest; see `core.arrays.LATER`."""
    in_digest = metadata.get("in_digest")
    if in_digest is None or isinstance(item, np.ndarray):
        return False
    return in_digest == "never" or item is default or item == default


def _bytes_of(value: object) -> Iterator[bytes]:
    """The bytes of a frozen value, field by field, each with its type and shape and an end."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(cast("FloatArray", value))
        yield f"{array.dtype.str}{array.shape};".encode()
        yield array.tobytes()
    elif isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        yield f"tuple{len(items)};".encode()
        for item in items:
            yield from _bytes_of(item)
    elif is_dataclass(value):
        yield f"{type(value).__name__};".encode()
        for part in fields(value):
            item = getattr(value, part.name)
            if not _is_left_out(part.metadata, item, part.default):
                yield from _bytes_of(item)
    else:
        yield f"{value!r};".encode()
