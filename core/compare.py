"""Where a step first differs from what was expected, in the order in which it uses things.

The file is long because one account of the fields serves both questions: which is the first that
differs, and how far is each off.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import ABSENT, BoolArray, FloatArray, IntArray
from core.policy_oracle import Expected
from core.record import LayerRecord, StepRecord
from core.reference import LayerDetail, ReferenceRun
from core.tolerance import NOISE_FACTOR, FieldNoise, beyond, field_band, gap, row_bands
from core.trace import rows_as_read
from core.verdict import Difference


@dataclass(frozen=True, slots=True, eq=False)
class Detail:
    """A detailed reference run that covers the new tokens of a step.

    Attributes:
        run: the run; N tokens of its passage are keys.
        start: token index of the passage's row 0.
        n_loose: rows without a token that are rightly read.
        noise: what rounding alone does to each tensor, of one layer and the next.
    """

    run: ReferenceRun
    start: int
    n_loose: int
    noise: FieldNoise


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step, with what stands around it.

    Attributes:
        records: the records of the run up to this step, the last one.
        expected: what the specification says of it.
        dtype: number type of the engine.
    """

    records: Sequence[StepRecord]
    expected: Expected
    dtype: str

    @property
    def record(self) -> StepRecord:
        """The step's record."""
        return self.records[-1]

    @property
    def n_compared(self) -> int:
        """New tokens that were computed: the last rows of the step's tensors."""
        return len(self.record.token_ids) - self.record.n_skipped


@dataclass(frozen=True, slots=True, eq=False)
class FieldGap:
    """How far a tensor of a layer is from the reference's.

    Attributes:
        field: one of `core.verdict.FIELDS`.
        off_by: [heads, ...] absolute differences; one head where the field belongs to none.
        bands: up to which they count as equal; broadcasts to one head.
        has_heads: whether it belongs to heads.
    """

    field: str
    off_by: FloatArray
    bands: FloatArray
    has_heads: bool = True


def gaps_of_layer(step: Step, layer: int, reference: Detail) -> Iterator[FieldGap]:
    """How far each tensor of a layer is off, also after the first that is, and where rows lack.

    Rows that are not read at all are left out. Where the specification has no answer for the new
    tokens, only what follows from attention can be compared.
    """
    yield from _LayerFields(step, layer, reference).gaps()


def agrees_with_policy(record: StepRecord, expected: Expected) -> bool:
    """Whether outcome, length, seen, position ids, readable sets and contents are as specified."""
    is_decided_right = next(_policy_fields(record, expected), None) is None
    return is_decided_right and has_right_contents(record, expected)


def has_right_contents(record: StepRecord, expected: Expected) -> bool:
    """Whether the tokens held after the step, and their position ids, are those specified."""
    return held_of(record) == expected.live


def held_of(record: StepRecord) -> tuple[tuple[int, int], ...]:
    """(token index, position id) of each token that the ledger counts as held, in token order.

    That is what was decided, in whatever slots. Whose row is really there is the mechanism's part,
    and a row that stands for no token is counted by the length.
    """
    ledger = record.ledger
    tokens, position_ids = (a[: ledger.length] for a in (ledger.token_index, ledger.position_id))
    is_token = tokens != ABSENT
    pairs = zip(tokens[is_token].tolist(), position_ids[is_token].tolist(), strict=True)
    return tuple(sorted(pairs))


def first_difference(
    step: Step, detail: Callable[[], Detail | None], *, logits_differ: bool
) -> Difference | None:
    """The first field of `core.verdict.FIELDS` that differs, with layer and head; None: none.

    Args:
        step: the step.
        detail: gives the reference's own values; only asked where the integers agree. None: there
            is nothing to compare with.
        logits_differ: whether the logits are wrong.
    """
    for field in _decided_fields(step):
        return Difference(None, None, field)
    for difference in _computed_fields(step, detail, logits_differ=logits_differ):
        return difference
    if not has_right_contents(step.record, step.expected):
        return Difference(None, None, "contents")
    return None


def _computed_fields(
    step: Step, detail: Callable[[], Detail | None], *, logits_differ: bool
) -> Iterator[Difference]:
    """What differs of what is computed: layer by layer, then the logits."""
    reference = detail() if step.record.layers else None
    if reference is None:
        return
    for layer in range(len(step.record.layers)):
        yield from _LayerFields(step, layer, reference).differing()
    if logits_differ:
        yield Difference(None, None, "logits")
    yield from _unused_differences(step.record, step.expected)


def _unused_differences(record: StepRecord, expected: Expected) -> Iterator[Difference]:
    """Rows read that are not what the view names, though no query made anything of them."""
    n_without = expected.n_loose + expected.n_pads
    for number, layer in enumerate(record.layers):
        is_other = layer.row_token != layer.plan.view_token_index
        if is_other.any() or int((layer.row_token == ABSENT).sum()) != n_without:
            yield Difference(number, None, "keys")


def _policy_fields(record: StepRecord, expected: Expected) -> Iterator[str]:
    if record.outcome != expected.outcome:
        yield "outcome"
    if record.reported_length != expected.length:
        yield "length"
    if record.ledger.seen != expected.seen:
        yield "seen"
    if record.position_ids != expected.position_ids:
        yield "position_ids"
    if readable_of(record) != expected.readable:
        yield "readable"


def readable_of(record: StepRecord) -> tuple[tuple[int, ...], ...]:
    """For each new token, the token indices that the engine's policy let it see."""
    if not record.readable:
        return ()
    computed = record.readable[record.n_recomputed + record.n_padding :]
    return (
        *(() for _ in range(record.n_skipped)),
        *(tuple(tokens.tolist()) for tokens in computed),
    )


def _decided_fields(step: Step) -> Iterator[str]:
    """Fields that are decided once per step, in order."""
    fields = list(_policy_fields(step.record, step.expected))
    before = record_before(step.records, step.record.step)
    if not has_good_slots(step.record, before):
        where = len(fields) - ("readable" in fields)
        fields.insert(where, "slots")
    yield from fields


def record_before(records: Sequence[StepRecord], step: int) -> StepRecord | None:
    """The last step before `step` that was of the same sequence; None: there is none."""
    which = records[step].request
    earlier = (records[number] for number in range(step - 1, -1, -1))
    return next((record for record in earlier if record.request == which), None)


def has_good_slots(record: StepRecord, before: StepRecord | None) -> bool:
    """Whether each new row has a slot of its own that was not in use after the step before."""
    slots = record.slots.tolist()
    if len(set(slots)) != len(slots):
        return False
    if record.phase == "new_prompt" or record.n_recomputed > 0 or before is None:
        return True
    is_refilled = before.ledger.origin != record.ledger.origin
    return is_refilled or not set(slots) & set(before.ledger.counted_slots.tolist())


class _LayerFields:
    """The fields of one layer, in order, lazily."""

    def __init__(self, step: Step, layer: int, reference: Detail) -> None:
        self._step = step
        self._record: LayerRecord = step.record.layers[layer]
        self._layer = layer
        self._reference = reference
        self._run = reference.run
        self._detail: LayerDetail = reference.run.layers[layer]
        n_new = step.n_compared
        first = step.record.token_index[-1] - n_new + 1 - reference.start
        self._rows = np.arange(first, first + n_new) - reference.run.first_row
        self._new = slice(len(self._record.plan.position_ids) - n_new, None)
        self._readable = step.expected.readable[len(step.expected.readable) - n_new :]
        readable = {token for tokens in self._readable for token in tokens}
        self._tokens = np.array(sorted(readable), dtype=np.int64)

    def differing(self) -> Iterator[Difference]:
        """Each field that differs."""
        columns = self._columns()
        if (columns == ABSENT).any():
            yield Difference(self._layer, None, "keys")
            return
        yield from self._off(self._row_gaps(columns))
        if not self._is_visible_right():
            yield Difference(self._layer, None, "visible")
        yield from self._off(self._score_gaps(columns))
        yield from self._off(self._result_gaps())

    def gaps(self) -> Iterator[FieldGap]:
        """Each tensor, whether it differs or not."""
        columns = self._columns()
        self._tokens, columns = self._tokens[columns != ABSENT], columns[columns != ABSENT]
        if len(columns) and len(self._readable) == self._step.n_compared:
            yield from self._row_gaps(columns)
            yield from self._score_gaps(columns)
        yield from self._result_gaps()

    def _row_gaps(self, columns: IntArray) -> Iterator[FieldGap]:
        key_rows = self._tokens - self._reference.start
        read = rows_as_read(self._step.records, self._step.record.step, self._layer)
        stored, values = self._run.stored_keys[self._layer], self._run.values[self._layer]
        yield self._rows_of_heads("keys", read[0][:, columns], stored, key_rows)
        yield self._rows_of_heads("values", read[1][:, columns], values, key_rows)
        yield self._heads("rotated_keys", *self._used_keys(read[0], columns, key_rows))

    def _score_gaps(self, columns: IntArray) -> Iterator[FieldGap]:
        key_rows = self._tokens - self._reference.start
        is_readable = self._is_readable()
        record, detail = self._record, self._detail
        for name, used, right in (
            ("scores", record.scores, detail.scores),
            ("weights", record.weights, detail.weights),
        ):
            mine = np.where(is_readable, used[:, self._new][:, :, columns], 0)
            yield self._heads(
                name, mine, np.where(is_readable, right[:, self._rows][:, :, key_rows], 0)
            )

    def _result_gaps(self) -> Iterator[FieldGap]:
        record, detail = self._record, self._detail
        for name, used, right in (
            ("output", record.output, detail.output),
            ("residual", record.residual, detail.residual),
        ):
            compared = self._heads(name, used[self._new][None], right[self._rows][None])
            yield FieldGap(name, compared.off_by, compared.bands, has_heads=False)

    def _columns(self) -> IntArray:
        """For each expected token the column of the view that is said to hold it."""
        view = self._record.plan.view_token_index
        place = {token: column for column, token in enumerate(view.tolist())}
        return np.array([place.get(token, ABSENT) for token in self._tokens.tolist()])

    def _used_keys(
        self, read_keys: FloatArray, columns: IntArray, key_rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Used keys of engine and reference, heads first."""
        used, right = self._record.used_keys, self._detail.used_keys
        if used is None:
            return read_keys[:, columns], right[:, key_rows]
        if used.ndim == right.ndim == read_keys.ndim:
            return used[:, columns], right[:, key_rows]
        # [T, Hkv, S, D] against [Hkv, T, N, D], or [Hkv, N, D] where each query uses the same
        # keys; a key counts where its query may read it.
        mine = used[self._new].swapaxes(0, 1)[:, :, columns]
        by_query = right[:, None] if right.ndim == mine.ndim - 1 else right[:, self._rows]
        theirs = by_query[:, :, key_rows]
        is_readable = self._is_readable()[None, :, :, None]
        return np.where(is_readable, mine, 0), np.where(is_readable, theirs, 0)

    def _is_readable(self) -> BoolArray:
        """[new tokens, expected tokens] whether the first may read the second."""
        return np.array([np.isin(self._tokens, tokens) for tokens in self._readable])

    def _is_visible_right(self) -> bool:
        mask = self._record.plan.mask[self._new]
        for seen, right in zip(mask, self._readable, strict=True):
            rows = self._record.row_token[seen]
            tokens = rows[rows != ABSENT]
            n_without = len(rows) - len(tokens)
            if n_without != self._reference.n_loose or tuple(tokens.tolist()) != right:
                return False
        return True

    def _rows_of_heads(
        self, name: str, used: FloatArray, reference: FloatArray, key_rows: IntArray
    ) -> FieldGap:
        """Rows [Hkv, n, D] against the reference's [Hkv, N, D], as the judge does."""
        bands = np.maximum(row_bands(self._step.dtype, reference)[key_rows], self._noise(name))
        return FieldGap(name, gap(used, reference[:, key_rows]), bands[:, None])

    def _heads(self, name: str, used: FloatArray, right: FloatArray) -> FieldGap:
        """A tensor against the reference's; heads are the first axis."""
        band = np.array(max(field_band(self._step.dtype, right), self._noise(name)))
        return FieldGap(name, gap(used, right), band)

    def _noise(self, name: str) -> float:
        """Error of a tensor of this layer that may well be rounding."""
        return NOISE_FACTOR * float(self._reference.noise[name][self._layer])

    def _off(self, gaps: Iterable[FieldGap]) -> Iterator[Difference]:
        """Each field that has a head that is off, with the first of them."""
        for found in gaps:
            off_by, bands = found.off_by, found.bands
            is_off = beyond(off_by, bands)
            is_off_head = is_off.reshape(len(is_off), -1).any(axis=1)
            if is_off_head.any():
                head = int(np.argmax(is_off_head))
                error, band = _largest(off_by[head], np.broadcast_to(bands, off_by.shape[1:]))
                where = head if found.has_heads else None
                yield Difference(self._layer, where, found.field, error, band)


def _largest(off_by: FloatArray, bands: FloatArray) -> tuple[float, float]:
    """The largest error, a number that is not finite before all others, with its band."""
    place = int(np.argmax(np.where(np.isnan(off_by), np.inf, off_by)))
    return float(off_by.flat[place]), float(bands.flat[place])
