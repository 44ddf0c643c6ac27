"""The longer parts of a JSON line of a step: sets of tokens, live rows, layers that differ."""

from collections.abc import Sequence
from typing import Any, cast

from core.arrays import ABSENT, known
from core.policy_oracle import Expected
from core.readouts.history import token_numbers
from core.record import LayerRecord, StepRecord

LONGEST_LIST = 512
Sets = list[list[int | None]]
Live = list[dict[str, int | None]]


def visible(record: StepRecord, layer: int) -> Sets:
    """For each new token, the tokens whose rows its query saw in a layer."""
    if not record.layers:
        return []
    seen: Sets = [[] for _ in range(record.n_skipped)]
    layer_record = record.layers[layer]
    for mask in layer_record.plan.mask[record.n_recomputed + record.n_padding :]:
        tokens = layer_record.row_token[mask]
        held = sorted(tokens[tokens != ABSENT].tolist())
        seen.append([*held, *[None] * (len(tokens) - len(held))])
    return seen


def live(records: Sequence[StepRecord], step: int, layer: int) -> Live:
    """One entry per counted slot, with the token whose row is really there in a layer."""
    rows = records[step].live[layer]
    numbers = token_numbers(records, step)
    entries: Live = []
    for slot, row, token_index in zip(
        rows.slot.tolist(), rows.row.tolist(), rows.token_index.tolist(), strict=True
    ):
        token = known(token_index)
        position_id, token_id = numbers(token)
        entries.append(
            {
                "slot": slot,
                "row": known(row),
                "token_index": token,
                "position_id": position_id,
                "token_id": token_id,
            }
        )
    return entries


def expected_live(entries: Live, expected: Expected) -> Live | None:
    """The tokens that are to be held, in token order; None: the entries list just these.

    In whatever slots, and beside rows of no token, which the length counts.
    """
    pairs = ((entry["token_index"], entry["position_id"]) for entry in entries)
    found = {pair for pair in pairs if pair[0] is not None}
    n_found = sum(entry["token_index"] is not None for entry in entries)
    if n_found == len(expected.live) and found == {*expected.live}:
        return None
    return [{"token_index": token, "position_id": place} for token, place in expected.live]


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
    computed: list[int] = layer.plan.position_ids[record.n_recomputed + record.n_padding :].tolist()
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
