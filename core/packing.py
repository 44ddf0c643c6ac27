"""A record whose numbers lie in memory of their own.

The arrays of a fresh record lie in tensors of the engine: small ones under large labels, and
parts of larger ones that are kept with them. A long run would hold twice what its records say.
"""

from dataclasses import replace

from core.arrays import FloatArray, frozen
from core.record import LayerRecord, Rows, StepRecord


def packed(record: StepRecord) -> StepRecord:
    """The same record, with the same digest."""
    if record.logits is None:
        return record
    layers = tuple(_packed_layer(told) for told in record.layers)
    return replace(record, layers=layers, logits=_own(record.logits))


def _own(array: FloatArray) -> FloatArray:
    return frozen(array.copy())


def _packed_layer(told: LayerRecord) -> LayerRecord:
    kv = _own(told.first_read.kv)
    keys, values = kv[0], kv[1]  # where the rows first read are the new ones
    if not _is_part_of(told.new_keys, told.first_read.kv):
        keys, values = _own(told.new_keys), _own(told.new_values)
    return LayerRecord(
        plan=told.plan,
        queries=_own(told.queries),
        new_keys=keys,
        new_values=values,
        row_token=told.row_token,
        row_version=told.row_version,
        first_read=Rows(told.first_read.row, kv),
        used_keys=None if told.used_keys is None else _own(told.used_keys),
        scores=_own(told.scores),
        weights=_own(told.weights),
        output=_own(told.output),
        residual=_own(told.residual),
    )


def _is_part_of(keys: FloatArray, kv: FloatArray) -> bool:
    """Whether the new keys are the first half of the rows first read."""
    is_same_size = kv.shape == (2, *keys.shape)
    return is_same_size and keys.__array_interface__["data"] == kv.__array_interface__["data"]
