"""Compute: one pass over the layers. Write, read back from the buffer, attend.

    x ─ norm ─ q k v ─ rotate ─ store ─▶ buffer ─ read ─▶ scores ─ mask ─ softmax ─ · v ─ + x ─ MLP

T new tokens, S rows read, Hq and Hkv heads of size D. Everything an attention uses comes back
from the buffer, so that a row that was stored wrongly is also used wrongly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from core.arrays import ABSENT, IntArray
from core.engine.blocks import Blocks, blocks_for, linear
from core.engine.rows import LayerRows, RowSelection, RowStore, selection
from core.engine.seams import Seams
from core.engine.types import LayerPlan, are_all
from core.model.config import ModelConfig
from core.model.positions import Positions, positions_of
from core.model.weights import LayerWeights, Weights


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model ready to run, in one number type and place.

    Attributes:
        config: its shape.
        weights: its weights.
        positions: its position scheme.
        blocks: its norm and MLP.
        no_bias: [1] zero, what is handed over, times 0, where the scheme has no bias.
        n_rep: query heads that read one key-value head.
        scale: what the product of a query and a key is multiplied by.
        is_quantised: whether rows are narrowed before they are stored.
    """

    config: ModelConfig
    weights: Weights
    positions: Positions
    blocks: Blocks
    no_bias: Tensor
    n_rep: int
    scale: float
    is_quantised: bool

    @classmethod
    def of(cls, weights: Weights, *, is_quantised: bool = False) -> "Model":
        """The model with these weights."""
        config = weights.config
        no_bias = weights.embedding.new_zeros(1)
        return cls(
            config,
            weights,
            positions_of(weights),
            blocks_for(config),
            no_bias,
            n_rep=config.n_rep,
            scale=1.0 / math.sqrt(config.d_head),
            is_quantised=is_quantised,
        )


class LayerTensors(NamedTuple):
    """What a layer computed, in the shapes of `core.record.LayerRecord`.

    A named tuple, since one is made per layer and step.
    """

    queries: Tensor
    new_rows: Tensor  # [2, Hkv, T, D]
    read: Tensor  # [2, Hkv, S, D]
    used_keys: Tensor | None
    scores: Tensor
    weights: Tensor
    output: Tensor
    residual: Tensor


class Watcher(Protocol):
    """Somebody who is told what happens, as it happens."""

    def stored(self, layer: int, plan: LayerPlan, new_rows: Tensor) -> None:
        """These rows [2, Hkv, T, D] are handed to the store."""
        ...

    def was_read(self, layer: int, plan: LayerPlan, rows: RowSelection, read: Tensor) -> None:
        """These rows [2, Hkv, S, D] came back; called before anything else can change them."""
        ...

    def computed(self, layer: int, plan: LayerPlan, tensors: LayerTensors) -> None:
        """The layer is done."""
        ...


class Prepared(NamedTuple):
    """A layer's plan with the parts that tensors need; shared by layers with one plan.

    Attributes:
        plan: the plan itself.
        rows: which rows to read.
        hidden: [T, S] true where the mask hides a row; None where it hides nothing.
        bias: [Hq, T, S] added to the scores; None: nothing.
        is_quantised: whether rows are narrowed before they are stored.
    """

    plan: LayerPlan
    rows: RowSelection
    hidden: Tensor | None
    bias: Tensor | None
    is_quantised: bool


def prepare(model: Model, plan: LayerPlan) -> Prepared:
    """What the tensors of a layer need of its plan."""
    device = model.weights.device
    hidden = None if are_all(plan.mask) else torch.tensor(~plan.mask, device=device)
    read_at = plan.read_position_ids
    bias = model.positions.bias(
        plan.queries_at, plan.view_position_ids if read_at is None else read_at
    )
    if bias is not None:
        bias = bias.to(model.weights.dtype)
        has_no_token = plan.view_token_index == ABSENT
        if has_no_token.any():
            bias = bias.masked_fill(torch.tensor(has_no_token, device=device), 0.0)
    rows = selection(plan.read_rows, device)
    return Prepared(plan, rows, hidden, bias, model.is_quantised)


def run_layers(
    model: Model,
    store: RowStore,
    layers: Sequence[tuple[Prepared, Seams]],
    token_ids: IntArray,
    watcher: Watcher,
    row: int,
) -> Tensor:
    """Logits [V] of the token at `row`, after all layers wrote to and read from `store`."""
    weights, norm, mlp = model.weights, model.blocks.norm, model.blocks.mlp
    first, run = layers[0]
    x = run.add_positions(model.positions, _embedded(weights, token_ids), first.plan.position_ids)
    for layer, ((prepared, seams), w) in enumerate(zip(layers, weights.layers, strict=True)):
        normed = norm(x, w.attn_norm_weight, w.attn_norm_bias)
        queries, raw_keys, new_rows = _project(model, prepared.plan, seams, w, normed)
        new_rows, read = _write_and_read(store, layer, prepared, seams, new_rows, watcher)
        used_keys, scores, attention, mixed = _attend(
            model, prepared, seams, queries, raw_keys, read
        )
        output = linear(mixed, w.out_weight, w.out_bias)
        x = x + output
        x.add_(mlp(norm(x, w.mlp_norm_weight, w.mlp_norm_bias), w))
        watcher.computed(
            layer,
            prepared.plan,
            LayerTensors(queries, new_rows, read, used_keys, scores, attention, output, x),
        )
    last = norm(x[row : row + 1], weights.final_norm_weight, weights.final_norm_bias)
    return (last @ weights.head)[0]


def _embedded(weights: Weights, token_ids: IntArray) -> Tensor:
    """[T, d_model] rows of the table; of a single token without a gather."""
    if len(token_ids) == 1:
        token_id = int(token_ids[0])
        return weights.embedding[token_id : token_id + 1]
    return weights.embedding[torch.tensor(token_ids, device=weights.device)]


def _project(
    model: Model, plan: LayerPlan, seams: Seams, w: LayerWeights, normed: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Rotated queries [Hq, T, D], keys [Hkv, T, D] as projected, new rows [2, Hkv, T, D]."""
    queries, new_rows = _by_head(model.config, linear(normed, w.qkv_weight, w.qkv_bias))
    queries = seams.rotate(model.positions, queries, plan.queries_at)
    keys = new_rows[0]
    if plan.write_position_ids is not None:
        rotated = seams.rotate(model.positions, keys, plan.write_position_ids)
        if rotated is not keys:
            new_rows = torch.stack((rotated, new_rows[1]))
    return queries, keys, new_rows


def _by_head(config: ModelConfig, qkv: Tensor) -> tuple[Tensor, Tensor]:
    """Queries [Hq, T, D] and new rows [2, Hkv, T, D]: views of `qkv` [T, (Hq + 2 Hkv) D].

    A row of `qkv` holds all query heads, then all key heads, then all value heads. Strides say it
    in one call for each view; splitting, viewing and transposing take twice as many.
    """
    n_tokens, width = qkv.shape
    n_query, n_kv, size = config.n_heads, config.n_kv_heads, config.d_head
    queries = qkv.as_strided((n_query, n_tokens, size), (size, width, 1))
    new_rows = qkv.as_strided(
        (2, n_kv, n_tokens, size), (n_kv * size, size, width, 1), n_query * size
    )
    return queries, new_rows


def _write_and_read(
    store: RowStore,
    layer: int,
    prepared: Prepared,
    seams: Seams,
    new_rows: Tensor,
    watcher: Watcher,
) -> tuple[Tensor, Tensor]:
    """The new rows as stored, and what the buffer [2, Hkv, S, D] gives back with them in it."""
    rows: LayerRows = store.layers[layer]
    if prepared.is_quantised:
        new_rows = seams.quantise(new_rows)
    watcher.stored(layer, prepared.plan, new_rows)
    keys, values = store.hand_over(new_rows)
    seams.store(rows, prepared.plan.write_rows, keys, values)
    read = rows.read(prepared.rows)
    watcher.was_read(layer, prepared.plan, prepared.rows, read)
    return new_rows, read


def _attend(
    model: Model,
    prepared: Prepared,
    seams: Seams,
    queries: Tensor,
    raw_keys: Tensor,
    read: Tensor,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """Used keys, scores [Hq, T, S], weights [Hq, T, S] and the mixed values [T, Hq · D]."""
    n_rep, scale = model.n_rep, model.scale
    stored_keys, read_values = read.unbind()
    read_keys = seams.read_keys(
        model.positions, stored_keys, prepared.plan.view_position_ids, raw_keys
    )
    values = seams.repeat_kv(read_values, n_rep)
    read_at = prepared.plan.read_position_ids
    if read_at is None:
        used_keys = None if read_keys is stored_keys else read_keys
        keys = seams.repeat_kv(read_keys, n_rep)
        start, beta = (model.no_bias, 0) if prepared.bias is None else (prepared.bias, 1)
        scores = torch.baddbmm(start, queries, keys.mT, beta=beta, alpha=scale)
    else:
        used_keys = torch.stack([seams.rotate(model.positions, read_keys, ids) for ids in read_at])
        keys = seams.repeat_kv(used_keys, n_rep)
        scores = torch.einsum("htd,thsd->hts", queries, keys) * scale
        scores = scores if prepared.bias is None else scores + prepared.bias
    visible = scores
    if prepared.hidden is not None:
        visible = scores.masked_fill(prepared.hidden, -torch.inf)
    attention = torch.softmax(visible, -1)
    return used_keys, scores, attention, _side_by_side(torch.bmm(attention, values))


def _side_by_side(heads: Tensor) -> Tensor:
    """[T, Hq · D] the heads [Hq, T, D] of each token in a row; those of a single one lie so."""
    return heads.view(1, -1) if heads.shape[1] == 1 else heads.transpose(0, 1).flatten(1)
