"""The longer parts of a JSON line of a step: sets of tokens, live rows, layers that differ."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from core.arrays import ABSENT
from core.outcome import Ok
from core.record import LayerRecord, StepRecord

LONGEST_LIST = 512
Sets = list[list[int | None]]


def visible(record: StepRecord, layer: int) -> Sets:
    """For each new token, the tokens whose rows its query saw in a layer."""
    if not record.layers:
        return []
    seen: Sets = [[] for _ in range(record.n_skipped)]
    layer_record = record.layers[layer]
    for mask in layer_record.plan.mask[record.n_recomputed :]:
        tokens = layer_record.row_token[mask]
        held = sorted(tokens[tokens != ABSENT].tolist())
        seen.append([*held, *[None] * (len(tokens) - len(held))])
    return seen


def live(records: Sequence[StepRecord], step: int, layer: int) -> list[dict[str, int | None]]:
    """One entry per counted slot, with the token whose row is really there in a layer."""
    rows = records[step].live[layer]
    numbers = _numbers(records, step)
    entries: list[dict[str, int | None]] = []
    for slot, row, token_index in zip(
        rows.slot.tolist(), rows.row.tolist(), rows.token_index.tolist(), strict=True
    ):
        position_id, token_id = numbers(token_index)
        entries.append(
            {
                "slot": slot,
                "row": None if row == ABSENT else row,
                "token_index": None if token_index == ABSENT else token_index,
                "position_id": position_id,
                "token_id": token_id,
            }
        )
    return entries


def _numbers(
    records: Sequence[StepRecord], step: int
) -> Callable[[int], tuple[int | None, int | None]]:
    """Position id and token id of a token index: as it is held, else as it was last read."""
    ledger = records[step].ledger
    held = dict(
        zip(
            ledger.token_index.tolist(),
            zip(ledger.position_id.tolist(), ledger.token_id.tolist(), strict=True),
            strict=True,
        )
    )
    held.pop(ABSENT, None)

    def find(token_index: int) -> tuple[int | None, int | None]:
        if token_index == ABSENT:
            return None, None
        return held.get(token_index) or _as_read(records[: step + 1], token_index)

    return find


def _as_read(records: Sequence[StepRecord], token_index: int) -> tuple[int | None, int | None]:
    for record in reversed(records):
        if isinstance(record.outcome, Ok) and token_index in record.token_index:
            place = record.token_index.index(token_index)
            return record.position_ids[place], record.token_ids[place]
    return None, None


def differing_layers(records: Sequence[StepRecord], step: int) -> dict[str, Any]:
    """The layers whose positions, visible tokens or live rows differ from those of layer 0."""
    record = records[step]
    found: dict[str, Any] = {}
    for layer in range(1, len(record.live)):
        different: dict[str, Any] = {}
        if record.layers:
            different |= _different_reading(record, layer)
        if record.live[layer] is not record.live[0]:
            different["cache"] = {"live": live(records, step, layer)}
        if different:
            found[str(layer)] = different
    return found


def _different_reading(record: StepRecord, layer: int) -> dict[str, Any]:
    first, this = record.layers[0], record.layers[layer]
    if this.plan is first.plan and (this.row_token == first.row_token).all():
        return {}
    different: dict[str, Any] = {}
    positions = _position_ids(record, this)
    if positions != _position_ids(record, first):
        different["position_ids"] = positions
    seen = visible(record, layer)
    if seen != visible(record, 0):
        different["visible"] = seen
    return different


def _position_ids(record: StepRecord, layer: LayerRecord) -> list[int | None]:
    computed: list[int] = layer.plan.position_ids[record.n_recomputed :].tolist()
    return [*[None] * record.n_skipped, *computed]


def with_ranges(line: dict[str, Any]) -> dict[str, Any]:
    """The line with long lists of numbers as half-open ranges, and then with "ranges": true."""
    shortened = _shortened(line)
    return line if shortened == line else {**shortened, "ranges": True}


def _shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in cast("dict[str, Any]", value).items()}
    if not isinstance(value, list):
        return value
    items = cast("list[Any]", value)
    if len(items) > LONGEST_LIST and not isinstance(items[0], list | dict):
        return _ranges(items)
    return [_shortened(item) for item in items]


def _ranges(numbers: Sequence[int | None]) -> list[list[int] | None]:
    """Numbers that follow one another as [first, one past the last]; a null stays by itself."""
    ranges: list[list[int] | None] = []
    for number in numbers:
        last = ranges[-1] if ranges else None
        if number is None:
            ranges.append(None)
        elif last is not None and last[1] == number:
            last[1] = number + 1
        else:
            ranges.append([number, number + 1])
    return ranges
