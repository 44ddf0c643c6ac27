"""Codes of recorded weights, kept from one step looked at to the next.

What was recorded never changes, so a picture of many steps is put together from rows that are
made into codes once, when they are first shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.arrays import ABSENT, FloatArray, IntArray
from core.engine.types import LayerPlan
from core.readouts.attention_image import (
    HIDDEN,
    Codes,
    ReadSpan,
    Take,
    folded,
    weight_codes,
)
from core.readouts.attention_lines import KeptLines
from core.readouts.attention_texts import TextTakes
from core.record import LayerRecord, StepRecord

_BLOCK = 16
_MOST_BYTES = 4_000_000
_ENTRY_BYTES = 500
_HEAD_BYTES, _ATLAS_BYTES = 1_000_000, 2_000_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class PooledRows:
    """Queries of a step in all heads of some layers, of neighbouring columns the highest code.

    Attributes:
        layers: which layers.
        token_bins: [n] which neighbours: token index divided by their number.
        slot_bins: [m] likewise of the rows for which no token is claimed, by slot.
        codes: [rows, layers, H, n + m].
    """

    layers: list[int]
    token_bins: IntArray
    slot_bins: IntArray
    codes: Codes


Groups = tuple[PooledRows, ...]


class AttentionRows:
    """Remembers rows that were shown, up to a number of bytes; the first ones go first.

    Attributes:
        texts: which queries are a text's.
        by_token: lines of the head that was looked at last, their columns by token.
        by_slot: the same by slot.
        atlas: lines of all heads.
    """

    def __init__(self) -> None:
        """Remembers nothing yet."""
        self.texts = TextTakes()
        self.by_token, self.by_slot = KeptLines(_HEAD_BYTES), KeptLines(_HEAD_BYTES)
        self.atlas = KeptLines(_ATLAS_BYTES)
        self._spans_of: dict[int, tuple[ReadSpan, ...]] = {}
        self._heads: dict[tuple[int, ...], Codes] = {}
        self._groups: dict[tuple[int, ...], Groups] = {}
        self._spans: dict[int, ReadSpan] = {}
        self._n_bytes = {id(self._heads): 0, id(self._groups): 0}

    def span(self, plan: LayerPlan) -> ReadSpan:
        """Which tokens a plan reads."""
        found = self._spans.get(id(plan))
        if found is None:
            found = self._spans[id(plan)] = ReadSpan.of(plan)  # the span keeps the plan alive
        return found

    def spans_in(self, takes: Sequence[Take], layer: int) -> list[ReadSpan]:
        """Which tokens the plan of a layer reads in each of some takes."""
        plans = [take.record.layers[layer].plan for take in takes]
        known = self._spans.get
        return [known(id(plan)) or self.span(plan) for plan in plans]

    def spans(self, record: StepRecord) -> tuple[ReadSpan, ...]:
        """Which tokens the plans of a step read, each plan once."""
        found = self._spans_of.get(record.step)
        if found is None:
            plans = {id(told.plan): told.plan for told in record.layers}
            found = self._spans_of[record.step] = tuple(map(self.span, plans.values()))
        return found

    def head(self, take: Take, layer: int, head: int) -> Sequence[Codes]:
        """[rows, S] each: codes of the take's queries in one head, as the rows were read."""
        step = take.record.step
        if len(take.record.slots) == 1:
            kept = self._heads.get((step, layer, head, 0))
            if kept is not None:
                return (kept,)
        return [
            self._head_block(take.record.layers[layer], (step, layer, head, rows.start), rows)[part]
            for rows, part in _blocks(take)
        ]

    def all_heads(self, take: Take, n_pooled: int) -> Sequence[Groups]:
        """Codes of the take's queries in all heads of all layers, `n_pooled` neighbours in one."""
        record = take.record
        if len(record.slots) == 1:
            kept = self._groups.get((record.step, n_pooled, 0))
            if kept is not None:
                return (kept,)
        return [
            tuple(
                PooledRows(g.layers, g.token_bins, g.slot_bins, g.codes[part])
                for g in self._group_block(record, (record.step, n_pooled, rows.start), rows)
            )
            for rows, part in _blocks(take)
        ]

    def _head_block(self, told: LayerRecord, key: tuple[int, ...], rows: slice) -> Codes:
        kept = self._heads.get(key)
        if kept is None:
            _, _, head, _ = key
            kept = weight_codes(seen_weights(told, slice(head, head + 1), rows)[0])
            self._keep(self._heads, key, kept, lambda codes: codes.nbytes)
        return kept

    def _group_block(self, record: StepRecord, key: tuple[int, ...], rows: slice) -> Groups:
        kept = self._groups.get(key)
        if kept is None:
            _, n_pooled, _ = key
            kept = tuple(
                _pooled_rows(record.layers, layers, self.span(plan), rows, n_pooled)
                for plan, layers in _layers_by_plan(record.layers)
            )
            self._keep(self._groups, key, kept, lambda groups: sum(g.codes.nbytes for g in groups))
        return kept

    def _keep(
        self,
        shelf: dict[tuple[int, ...], T],
        key: tuple[int, ...],
        value: T,
        n_bytes_of: Callable[[T], int],
    ) -> None:
        n_bytes = self._n_bytes[id(shelf)] + n_bytes_of(value) + _ENTRY_BYTES
        while n_bytes > _MOST_BYTES and shelf:
            oldest = shelf.pop(next(iter(shelf)))
            n_bytes -= n_bytes_of(oldest) + _ENTRY_BYTES
        self._n_bytes[id(shelf)] = n_bytes
        shelf[key] = value


def _blocks(take: Take) -> list[tuple[slice, slice]]:
    """The blocks of queries that a take is in, and its part of each."""
    n_rows = len(take.record.slots)
    found: list[tuple[slice, slice]] = []
    for start in range(take.first // _BLOCK * _BLOCK, take.stop, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        part = slice(max(0, take.first - start), min(stop, take.stop) - start)
        found.append((slice(start, stop), part))
    return found


def seen_weights(told: LayerRecord, heads: slice, rows: slice) -> FloatArray:
    """[heads, rows, S] as recorded; HIDDEN where the mask did not let them through."""
    weights, mask = told.weights[heads, rows], told.plan.mask[rows]
    # Half precision would do for the numbers, not for their square roots.
    weights = weights.astype(np.result_type(weights.dtype, np.float32), copy=False)
    return weights if mask.all() else np.where(mask, weights, weights.dtype.type(HIDDEN))


def _layers_by_plan(layers: Sequence[LayerRecord]) -> list[tuple[LayerPlan, list[int]]]:
    found: dict[int, tuple[LayerPlan, list[int]]] = {}
    for layer, told in enumerate(layers):
        found.setdefault(id(told.plan), (told.plan, []))[1].append(layer)
    return list(found.values())


def _pooled_rows(
    told: Sequence[LayerRecord], layers: list[int], span: ReadSpan, rows: slice, n_pooled: int
) -> PooledRows:
    weights = np.stack([seen_weights(told[layer], slice(None), rows) for layer in layers])
    if span.is_run:
        token_bins = np.arange(span.first // n_pooled, (span.stop - 1) // n_pooled + 1)
        none = np.empty(0, dtype=np.int64)
        pooled = _pooled_run(weights, span.first % n_pooled, len(token_bins), n_pooled)
        return PooledRows(layers, token_bins, none, _rows_first(weight_codes(pooled)))
    claimed, slots = span.plan.view_token_index, span.plan.view_slots
    if span.has_repeats:
        weights, firsts = folded(weights, np.where(claimed == ABSENT, span.stop + slots, claimed))
        claimed, slots = claimed[firsts], slots[firsts]
    is_loose = claimed == ABSENT
    order = np.lexsort((np.where(is_loose, slots, claimed), is_loose))
    bins = np.where(is_loose, slots, claimed)[order] // n_pooled
    is_loose = is_loose[order]
    is_first = np.ones(len(bins), dtype=np.bool_)
    is_first[1:] = (bins[1:] != bins[:-1]) | (is_loose[1:] != is_loose[:-1])
    starts = np.flatnonzero(is_first)
    pooled = np.maximum.reduceat(weights[..., order], starts, axis=-1)
    n_tokens = int((~is_loose[starts]).sum())
    found = bins[starts]
    codes = _rows_first(weight_codes(pooled))
    return PooledRows(layers, found[:n_tokens], found[n_tokens:], codes)


def _rows_first(codes: Codes) -> Codes:
    """[rows, layers, H, n] from [layers, H, rows, n]."""
    return np.ascontiguousarray(codes.transpose(2, 0, 1, 3))


def _pooled_run(weights: FloatArray, n_before: int, n_bins: int, n_pooled: int) -> FloatArray:
    """[..., n_bins] the maximum of each `n_pooled` (a power of two) neighbours."""
    if n_pooled == 1:
        return weights
    pooled = np.full((*weights.shape[:-1], n_bins * n_pooled), HIDDEN, dtype=weights.dtype)
    pooled[..., n_before : n_before + weights.shape[-1]] = weights
    while pooled.shape[-1] > n_bins:
        pooled = np.maximum(pooled[..., 0::2], pooled[..., 1::2])
    return pooled
