"""The numbers of a run as arrays for other programs: floats and integers only, none of objects."""

from collections.abc import Mapping

import numpy as np

from core.record import LayerRecord, StepRecord
from core.trace import Trace

TENSORS = ("logits", "attention")


def exported(trace: Trace, tensors: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Arrays by name.

    "logits" gives `logits` [steps, V], the last token's; a row of NaN where nothing was computed.
    "attention" gives per step n `attention_<n>` [L, Hq, new tokens, keys] and
    `attention_tokens_<n>` [keys], the token index whose row each key really is, −1 where the row
    holds none. A new token that was not computed has a row of NaN. Where rows differ from layer
    to layer, the tokens are those of layer 0, and `attention_tokens_<n>_layer_<l>` those of a
    layer that differs; a layer that read fewer keys has NaN at the end.
    """
    arrays: dict[str, np.ndarray] = {}
    if "logits" in tensors:
        arrays["logits"] = _logits(trace)
    if "attention" in tensors:
        for record in trace.records:
            arrays |= _attention(record, trace.model.config.n_heads)
    return arrays


def _logits(trace: Trace) -> np.ndarray:
    computed = [record.logits for record in trace.records if record.logits is not None]
    dtype = computed[0].dtype if computed else np.dtype(np.float32)
    logits = np.full((len(trace.records), trace.model.config.vocab_size), np.nan, dtype)
    for record in trace.records:
        if record.logits is not None:
            logits[record.step] = record.logits
    return logits


def _attention(record: StepRecord, n_heads: int) -> Mapping[str, np.ndarray]:
    layers = record.layers
    name, tokens_name = f"attention_{record.step:05d}", f"attention_tokens_{record.step:05d}"
    if not layers:
        nothing = np.empty((len(record.live), n_heads, 0, 0), np.float32)
        return {name: nothing, tokens_name: np.empty(0, np.int64)}
    n_keys = max(len(layer.row_token) for layer in layers)
    shape = (len(layers), n_heads, len(record.token_ids), n_keys)
    weights = np.full(shape, np.nan, layers[0].weights.dtype)
    for number, layer in enumerate(layers):
        new = layer.weights[:, record.n_recomputed + record.n_padding :]
        weights[number, :, record.n_skipped :, : new.shape[2]] = new
    return {name: weights, tokens_name: layers[0].row_token, **_other_tokens(layers, tokens_name)}


def _other_tokens(layers: tuple[LayerRecord, ...], name: str) -> dict[str, np.ndarray]:
    first = layers[0].row_token
    return {
        f"{name}_layer_{number}": layer.row_token
        for number, layer in enumerate(layers)
        if not np.array_equal(layer.row_token, first)
    }
