"""The layers of a step as sizes and columns of numbers, and back.

T new tokens, S rows read, Hq and Hkv heads of size D, as in `core.record.LayerRecord`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.engine.types import LayerPlan
from core.errors import TraceError
from core.model.config import ModelConfig
from core.record import LayerRecord, LiveRows, Rows
from core.trace_columns import ColumnReader, ColumnWriter, Shape

T = TypeVar("T")
_PER_NEW = ("position_ids", "write_rows")
_PER_READ = ("view_slots", "read_rows", "view_token_index", "view_position_ids")


@dataclass(frozen=True, slots=True)
class PlanSizes:
    """A plan that one or more layers share: T, S, and which of the optional parts it has."""

    n_new: int
    n_read: int
    has_write_position_ids: bool
    has_read_position_ids: bool
    has_query_position_ids: bool = False


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """A layer: which of the step's plans, rows first read, axes of `used_keys` (0: None)."""

    plan: int
    n_first_read: int
    used_keys_axes: int


@dataclass(frozen=True, slots=True)
class LiveSizes:
    """Rows in each distinct account of what is live, and which of them each layer has."""

    n_rows: tuple[int, ...]
    of_layer: tuple[int, ...]


def distinct(objects: Sequence[T]) -> tuple[list[T], tuple[int, ...]]:
    """The objects without repeats of the same one, and for each of them its place in that list."""
    places: dict[int, int] = {}
    found: list[T] = []
    for each in objects:
        if id(each) not in places:
            places[id(each)] = len(found)
            found.append(each)
    return found, tuple(places[id(each)] for each in objects)


def at_place(objects: Sequence[T], place: int, what: str) -> T:
    """The object at a place that a file names.

    Raises:
        TraceError: there is none.
    """
    if not 0 <= place < len(objects):
        raise TraceError(f"{what} {place} is named, but there are {len(objects)}")
    return objects[place]


def write_live(live: Sequence[LiveRows], columns: ColumnWriter) -> LiveSizes:
    """Which slots hold what, per layer."""
    found, of_layer = distinct(live)
    for rows in found:
        for name in ("slot", "row", "token_index"):
            columns.put(f"live.{name}", getattr(rows, name), (len(rows.slot),))
    return LiveSizes(tuple(len(rows.slot) for rows in found), of_layer)


def read_live(sizes: LiveSizes, columns: ColumnReader) -> tuple[LiveRows, ...]:
    """What `write_live` wrote."""
    found = [
        LiveRows(
            *(columns.integers(f"live.{name}", (n,)) for name in ("slot", "row", "token_index"))
        )
        for n in sizes.n_rows
    ]
    return tuple(at_place(found, place, "live rows") for place in sizes.of_layer)


def write_plan(plan: LayerPlan, columns: ColumnWriter) -> PlanSizes:
    """What a layer was told."""
    n_new, n_read = plan.mask.shape
    for names, n in ((_PER_NEW, n_new), (_PER_READ, n_read)):
        for name in names:
            columns.put(f"plan.{name}", getattr(plan, name), (n,))
    columns.put("plan.mask", plan.mask, (n_new, n_read))
    if plan.write_position_ids is not None:
        columns.put("plan.write_position_ids", plan.write_position_ids, (n_new,))
    if plan.read_position_ids is not None:
        columns.put("plan.read_position_ids", plan.read_position_ids, (n_new, n_read))
    if plan.query_position_ids is not None:
        columns.put("plan.query_position_ids", plan.query_position_ids, (n_new,))
    return PlanSizes(
        n_new=n_new,
        n_read=n_read,
        has_write_position_ids=plan.write_position_ids is not None,
        has_read_position_ids=plan.read_position_ids is not None,
        has_query_position_ids=plan.query_position_ids is not None,
    )


def read_plan(sizes: PlanSizes, columns: ColumnReader) -> LayerPlan:
    """What `write_plan` wrote."""
    n_new, n_read = sizes.n_new, sizes.n_read
    per_new = {name: columns.integers(f"plan.{name}", (n_new,)) for name in _PER_NEW}
    per_read = {name: columns.integers(f"plan.{name}", (n_read,)) for name in _PER_READ}
    mask = columns.truths("plan.mask", (n_new, n_read))
    write_position_ids = read_position_ids = query_position_ids = None
    if sizes.has_write_position_ids:
        write_position_ids = columns.integers("plan.write_position_ids", (n_new,))
    if sizes.has_read_position_ids:
        read_position_ids = columns.integers("plan.read_position_ids", (n_new, n_read))
    if sizes.has_query_position_ids:
        query_position_ids = columns.integers("plan.query_position_ids", (n_new,))
    return LayerPlan(
        **per_new,
        **per_read,
        mask=mask,
        write_position_ids=write_position_ids,
        read_position_ids=read_position_ids,
        query_position_ids=query_position_ids,
    )


def write_layer(
    layer: LayerRecord, plan: int, config: ModelConfig, columns: ColumnWriter
) -> LayerSizes:
    """What a layer consumed and produced; its plan is the step's plan number `plan`."""
    n_new, n_read = layer.plan.mask.shape
    n_first_read = len(layer.first_read.row)
    for name in ("row_token", "row_version"):
        columns.put(f"layer.{name}", getattr(layer, name), (n_read,))
    columns.put("layer.first_read.row", layer.first_read.row, (n_first_read,))
    columns.put("layer.first_read.kv", layer.first_read.kv, _kv_shape(config, n_first_read))
    for name, shape in _float_shapes(config, n_new, n_read).items():
        columns.put(f"layer.{name}", getattr(layer, name), shape)
    used = layer.used_keys
    axes = 0 if used is None else used.ndim
    if used is not None:
        columns.put("layer.used_keys", used, _used_keys_shape(config, n_new, n_read, axes))
    return LayerSizes(plan, n_first_read, axes)


def read_layer(
    sizes: LayerSizes, plan: LayerPlan, config: ModelConfig, columns: ColumnReader
) -> LayerRecord:
    """What `write_layer` wrote."""
    n_new, n_read = plan.mask.shape
    row_token = columns.integers("layer.row_token", (n_read,))
    row_version = columns.integers("layer.row_version", (n_read,))
    first_row = columns.integers("layer.first_read.row", (sizes.n_first_read,))
    first_kv = columns.floats("layer.first_read.kv", _kv_shape(config, sizes.n_first_read))
    floats = {
        name: columns.floats(f"layer.{name}", shape)
        for name, shape in _float_shapes(config, n_new, n_read).items()
    }
    used_keys = None
    if sizes.used_keys_axes:
        shape = _used_keys_shape(config, n_new, n_read, sizes.used_keys_axes)
        used_keys = columns.floats("layer.used_keys", shape)
    return LayerRecord(
        plan=plan,
        row_token=row_token,
        row_version=row_version,
        first_read=Rows(first_row, first_kv),
        used_keys=used_keys,
        **floats,
    )


def _kv_shape(config: ModelConfig, n_rows: int) -> Shape:
    return (2, config.n_kv_heads, n_rows, config.d_head)


def _used_keys_shape(config: ModelConfig, n_new: int, n_read: int, axes: int) -> Shape:
    per_key = (config.n_kv_heads, n_read, config.d_head)
    shapes = {3: per_key, 4: (n_new, *per_key)}
    if axes not in shapes:
        raise TraceError(f"used keys have {axes} axes; it must be 3 or 4")
    return shapes[axes]


def _float_shapes(config: ModelConfig, n_new: int, n_read: int) -> dict[str, Shape]:
    rows = (config.n_kv_heads, n_new, config.d_head)
    pairs = (config.n_heads, n_new, n_read)
    return {
        "queries": (config.n_heads, n_new, config.d_head),
        "new_keys": rows,
        "new_values": rows,
        "scores": pairs,
        "weights": pairs,
        "output": (n_new, config.d_model),
        "residual": (n_new, config.d_model),
    }
