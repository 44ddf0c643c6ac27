"""Step records as JSON values and columns of numbers, and back: every digest stays the same."""

from dataclasses import dataclass
from typing import Any, cast

from core.engine.types import Ledger
from core.errors import TraceError
from core.model.config import ModelConfig
from core.record import StepRecord
from core.trace_columns import ColumnReader, ColumnWriter
from core.trace_json import fields_from_json, from_json, to_json
from core.trace_layers import (
    LayerSizes,
    LiveSizes,
    PlanSizes,
    at_place,
    distinct,
    read_layer,
    read_live,
    read_plan,
    write_layer,
    write_live,
    write_plan,
)


@dataclass(frozen=True, slots=True)
class StepSizes:
    """How long the arrays of a step are.

    Attributes:
        slots: T, the computed tokens.
        readable: for each of them, tokens that it may read.
        entries: rows that the ledger lists.
        live: rows of the accounts of what is live.
        plans: the distinct plans.
        layers: the layers.
        logits: V; 0: nothing was computed.
    """

    slots: int
    readable: tuple[int, ...]
    entries: int
    live: LiveSizes
    plans: tuple[PlanSizes, ...]
    layers: tuple[LayerSizes, ...]
    logits: int


_ENTRIES = ("slot", "token_index", "position_id", "token_id")
"""Arrays of the ledger, equally long."""
_ELSEWHERE = ("step", "ledger", "slots", "readable", "layers", "live", "logits")
"""Fields of a record that do not stand in its JSON object under their own names."""


def write_step(record: StepRecord, config: ModelConfig, columns: ColumnWriter) -> dict[str, Any]:
    """The step's JSON object, without the arrays, which go to the columns.

    Raises:
        TraceError: an array has another shape than the model gives it.
    """
    return {
        **to_json(record, _ELSEWHERE),
        "ledger": to_json(record.ledger, _ENTRIES),
        "sizes": to_json(_write_arrays(record, config, columns)),
    }


def read_step(step: int, value: object, config: ModelConfig, columns: ColumnReader) -> StepRecord:
    """The record that `write_step` took apart.

    Raises:
        TraceError: the value is no step, or the columns do not hold what it says.
    """
    where = f"step {step}"
    given = dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}
    ledger = fields_from_json(Ledger, given.pop("ledger", None), f"{where}: ledger", _ENTRIES)
    sizes = from_json(StepSizes, given.pop("sizes", None), f"{where}: sizes")
    fields = fields_from_json(StepRecord, given, where, _ELSEWHERE)
    _check_counts(sizes, config, where)
    slots = columns.integers("slots", (sizes.slots,))
    for name in _ENTRIES:
        ledger[name] = columns.integers(f"ledger.{name}", (sizes.entries,))
    readable = tuple(columns.integers("readable", (n,)) for n in sizes.readable)
    logits = columns.floats("logits", (sizes.logits,)) if sizes.logits else None
    live = read_live(sizes.live, columns)
    plans = [read_plan(plan, columns) for plan in sizes.plans]
    layers = tuple(
        read_layer(layer, at_place(plans, layer.plan, "plan"), config, columns)
        for layer in sizes.layers
    )
    return StepRecord(
        step=step,
        ledger=Ledger(**ledger),
        slots=slots,
        readable=readable,
        layers=layers,
        live=live,
        logits=logits,
        **fields,
    )


def _check_counts(sizes: StepSizes, config: ModelConfig, where: str) -> None:
    """Raise TraceError unless layers and logits are as many as the model has, or none."""
    counts = (
        ("layers", len(sizes.layers), config.n_layers),
        ("logits", sizes.logits, config.vocab_size),
    )
    for name, n, expected in counts:
        if n not in (0, expected):
            raise TraceError(f"{where} has {n} {name}; the model has {expected}")
    if len(sizes.live.of_layer) != config.n_layers:
        raise TraceError(
            f"{where} tells what is live in {len(sizes.live.of_layer)} layers; the model has "
            f"{config.n_layers}"
        )


def _write_arrays(record: StepRecord, config: ModelConfig, columns: ColumnWriter) -> StepSizes:
    n_computed, n_entries = len(record.slots), len(record.ledger.slot)
    columns.put("slots", record.slots, (n_computed,))
    for name in _ENTRIES:
        columns.put(f"ledger.{name}", getattr(record.ledger, name), (n_entries,))
    for token_indices in record.readable:
        columns.put("readable", token_indices, (len(token_indices),))
    if record.logits is not None:
        columns.put("logits", record.logits, (len(record.logits),))
    live = write_live(record.live, columns)
    plans, plan_of_layer = distinct([layer.plan for layer in record.layers])
    return StepSizes(
        slots=n_computed,
        readable=tuple(map(len, record.readable)),
        entries=n_entries,
        live=live,
        plans=tuple(write_plan(plan, columns) for plan in plans),
        layers=tuple(
            write_layer(layer, plan, config, columns)
            for layer, plan in zip(record.layers, plan_of_layer, strict=True)
        ),
        logits=0 if record.logits is None else len(record.logits),
    )
