"""One tensor of a step as rows and columns, as the record holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray, frozen
from core.readouts.history import computed_tokens, newest_query
from core.readouts.tensor_axis import Axis
from core.record import LayerRecord, StepRecord
from core.trace import head_as_read

if TYPE_CHECKING:
    from core.readouts.run_view import RunView

Kind = Literal["signed", "weights", "mask"]


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor that can be looked at.

    Attributes:
        id: its name, as the field writes it.
        shape: its shape, as the field writes it, with the axis of sequences.
        meaning: what it is, in words.
    """

    id: str
    shape: tuple[int, ...]
    meaning: str


@dataclass(frozen=True, slots=True, eq=False)
class TensorSheet:
    """A head of a tensor, or a tensor without heads.

    Attributes:
        id: the tensor's name.
        title: what is shown of it, in words.
        kind: signed numbers, weights from 0 to 1, or a mask of zeros and ones.
        place: letters in front of the two last axes when an entry is named: "q[0, 2, ".
        values: [R, C] as recorded, in the engine's number type.
        rows: what the rows stand for.
        columns: what the columns stand for.
        scale: largest finite magnitude shown; 0.0: there is none.
        least: smallest number shown; None: none is finite.
        most: largest number shown; None: none is finite.
        n_not_finite: numbers shown that are not finite.
        is_masked: [R, C] where the mask lets nothing through; None: it has no part in this.
    """

    id: str
    title: str
    kind: Kind
    place: str
    values: FloatArray
    rows: Axis
    columns: Axis
    scale: float
    least: float | None
    most: float | None
    n_not_finite: int
    is_masked: BoolArray | None = None

    def name(self, row: int, column: int) -> str:
        """An entry as the field writes it."""
        return f"{self.place}{row}, {column}]"

    def exact(self, row: int, column: int) -> str:
        """A number with all its digits."""
        return str(self.values[row, column])


class SheetMaker:
    """Finds the tensors of a step; a tensor is converted when it is asked for."""

    def __init__(self, view: RunView) -> None:
        """Of the step and layer that are looked at."""
        self._view = view
        self._record: StepRecord = view.records[view.selection.step]
        self._told: LayerRecord | None = None
        if self._record.layers:
            self._told = self._record.layers[view.selection.layer]

    def entries(self) -> tuple[TensorEntry, ...]:
        """The tensors that the record holds, in the order in which a layer uses them."""
        told, logits = self._told, self._record.logits
        if told is None or logits is None:
            return ()
        read = (1, len(told.new_keys), len(told.row_token), told.new_keys.shape[-1])
        entries = [
            TensorEntry("q", (1, *told.queries.shape), "queries, as used in the scores"),
            TensorEntry("k", read, "keys, as read back from the buffer"),
            TensorEntry("v", read, "values, as read back from the buffer"),
            TensorEntry("scores", (1, *told.scores.shape), "scaled and biased, before the mask"),
            TensorEntry("mask", (1, 1, *told.plan.mask.shape), "1 where the query sees the row"),
            TensorEntry("weights", (1, *told.weights.shape), "softmax of the visible scores"),
            TensorEntry("output", (1, *told.output.shape), "attention after its projection"),
            TensorEntry("residual", (1, *told.residual.shape), "the stream after the layer"),
            TensorEntry("logits", (1, *logits.shape), "of the last token, after all layers"),
            TensorEntry("k new", (1, *told.new_keys.shape), "keys, as handed to the store"),
            TensorEntry("v new", (1, *told.new_values.shape), "values, as handed to the store"),
        ]
        if told.used_keys is not None:
            used = told.used_keys.shape
            shape = used if len(used) == 4 else (1, *used)
            entries.append(TensorEntry("k used", shape, "keys, rotated as the scores used them"))
        return tuple(entries)

    def sheet(self, tensor_id: str) -> TensorSheet | None:
        """A tensor's rows and columns, of the head looked at; None: the record holds none."""
        told = self._told
        makers: dict[str, Callable[[LayerRecord], TensorSheet | None]] = {
            "q": self._q,
            "k": lambda told: self._read(told, "k"),
            "v": lambda told: self._read(told, "v"),
            "scores": lambda told: self._of_pairs(told, "scores", told.scores),
            "mask": self._mask,
            "weights": self._weights,
            "output": lambda told: self._stream("output", told.output),
            "residual": lambda told: self._stream("residual", told.residual),
            "logits": lambda _: self._logits(),
            "k new": lambda told: self._new("k new", told.new_keys),
            "v new": lambda told: self._new("v new", told.new_values),
            "k used": self._used_keys,
        }
        if told is None or tensor_id not in makers:
            return None
        return makers[tensor_id](told)

    def _q(self, told: LayerRecord) -> TensorSheet:
        return self._of_head("q", told.queries, self._queries(), _dims(told.queries))

    def _read(self, told: LayerRecord, name: str) -> TensorSheet:
        step, layer, (head, title) = self._record.step, self._view.selection.layer, self._kv_head()
        rows = head_as_read(self._view.records, step, layer, int(name == "v"), head)
        slots = self._slots(told)
        return self._made(name, rows, title, f"{name}[0, {head}, ", slots, _dims(rows))

    def _new(self, name: str, rows: FloatArray) -> TensorSheet:
        return self._of_kv_head(name, rows, self._queries(), _dims(rows))

    def _of_pairs(self, told: LayerRecord, name: str, pairs: FloatArray) -> TensorSheet:
        return self._of_head(name, pairs, self._queries(), self._slots(told))

    def _weights(self, told: LayerRecord) -> TensorSheet:
        weights = self._of_pairs(told, "weights", told.weights)
        return replace(weights, is_masked=~told.plan.mask)

    def _mask(self, told: LayerRecord) -> TensorSheet:
        mask = told.plan.mask.astype(np.float32)
        return self._made("mask", mask, "", "mask[0, 0, ", self._queries(), self._slots(told))

    def _stream(self, name: str, rows: FloatArray) -> TensorSheet:
        return self._made(name, rows, "", f"{name}[0, ", self._queries(), _dims(rows))

    def _logits(self) -> TensorSheet | None:
        logits = self._record.logits
        if logits is None:
            return None
        ids = Axis("id", len(logits), None, None, self._view.token_text)
        query = _entry(self._queries(), newest_query(self._record))
        return self._made("logits", logits[None], "", "logits[", query, ids)

    def _of_head(self, name: str, tensor: FloatArray, rows: Axis, columns: Axis) -> TensorSheet:
        head = self._view.selection.head
        title, place = f"head {head}", f"{name}[0, {head}, "
        return self._made(name, tensor[head], title, place, rows, columns)

    def _of_kv_head(self, name: str, tensor: FloatArray, rows: Axis, columns: Axis) -> TensorSheet:
        head, title = self._kv_head()
        return self._made(name, tensor[head], title, f"{name}[0, {head}, ", rows, columns)

    def _used_keys(self, told: LayerRecord) -> TensorSheet | None:
        """Where each query rotates the keys anew, those of the query looked at, else the newest."""
        used, (head, title) = told.used_keys, self._kv_head()
        if used is None:
            return None
        slots, dims = self._slots(told), _dims(used)
        if used.ndim == 3:
            place = f"k used[0, {head}, "
            return self._made("k used", used[head], title, place, slots, dims)
        queries = self._queries()
        chosen = queries.places_of(self._view.selection)
        query = chosen[0] if chosen else newest_query(self._record)
        title, place = f"{title}, {queries.label(query)}", f"k used[{query}, {head}, "
        return self._made("k used", used[query, head], title, place, slots, dims)

    def _kv_head(self) -> tuple[int, str]:
        config, head = self._view.model.config, self._view.selection.head
        kv_head = head // config.n_rep
        if config.n_rep == 1:
            return kv_head, f"head {head}"
        return kv_head, f"KV head {kv_head}, query head {head}"

    def _made(
        self, name: str, values: FloatArray, title: str, place: str, rows: Axis, columns: Axis
    ) -> TensorSheet:
        kinds: dict[str, Kind] = {"weights": "weights", "mask": "mask"}
        finite = values[np.isfinite(values)]
        least, most = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        return TensorSheet(
            id=name,
            title=title,
            kind=kinds.get(name, "signed"),
            place=place,
            values=values,
            rows=rows,
            columns=columns,
            scale=max(abs(least or 0.0), abs(most or 0.0)),
            least=least,
            most=most,
            n_not_finite=values.size - finite.size,
        )

    def _queries(self) -> Axis:
        tokens = computed_tokens(self._record)
        numbers = frozen(np.arange(tokens.start, tokens.stop))
        return Axis("token", len(tokens), numbers, None, self._text_of(numbers))

    def _slots(self, told: LayerRecord) -> Axis:
        numbers = told.row_token
        view = told.plan.view_slots
        return Axis("slot", len(view), numbers, view, self._text_of(numbers))

    def _text_of(self, numbers: IntArray) -> Callable[[int], str]:
        text, shown = self._view.history.text(self._record.step), self._view.token_text

        def text_of(place: int) -> str:
            token = text.get(int(numbers[place]))
            return "" if token is None else shown(token.token_id)

        return text_of


def _dims(tensor: FloatArray) -> Axis:
    """The last axis of a tensor."""
    return Axis("dim", tensor.shape[-1], None, None, lambda _: "")


def _entry(axis: Axis, place: int) -> Axis:
    """One entry of an axis."""
    tokens = axis.token_index
    token = None if tokens is None else tokens[place : place + 1]
    return Axis(axis.name, 1, token, None, lambda _: axis.text(place))
