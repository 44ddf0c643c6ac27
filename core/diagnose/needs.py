"""What a mechanism needs in a run before it can do anything: without it, it is no rival."""

from collections.abc import Callable

import numpy as np

from core.diagnose.account import Call, Run
from core.diagnose.narrow import is_narrow

Need = Callable[[Run], bool]


def can_act(preset_like: str, run: Run) -> bool:
    """Whether the run has what the mechanism needs; most need only that something is computed."""
    return preset_like not in _NEEDS or _NEEDS[preset_like](run)


def _any_call(has: Callable[[Call], bool]) -> Need:
    return lambda run: any(has(call) for call in run.calls)


def _any_computed(has: Callable[[Call], bool]) -> Need:
    return _any_call(lambda call: bool(call.record.layers) and has(call))


_earlier = _any_computed(lambda call: bool(call.base.length))
_several_at_once = _any_computed(lambda call: len(call.record.slots) - call.record.n_padding > 1)
_padding = _any_call(lambda call: call.record.n_padding > 0)
_places = _any_computed(lambda call: bool(np.any(call.record.layers[0].plan.queries_at)))
_several_layers = _any_computed(lambda call: len(call.record.layers) > 1)
_eviction = _any_call(lambda call: call.record.n_short > 0 and call.is_accepted)
_long_chunk = _any_call(
    lambda call: call.record.n_short > 0 and call.is_accepted and len(call.record.slots) > 1
)
_ring = _any_computed(lambda call: call.is_accepted and call.base.length < call.base.capacity)
_beams = _any_call(lambda call: bool(call.record.parents))
_taken_back = _any_call(lambda call: call.record.n_rolled_back + call.record.n_rejected > 0)
_known_prompt = _any_call(lambda call: call.n_common is not None)
_new_prompt = _any_call(lambda call: call.record.phase == "new_prompt")
_uneven = _any_call(lambda call: call.record.n_probed[0] != call.record.n_probed[1])
_refusal = _any_call(lambda call: not call.is_accepted)
_shared_heads = _any_computed(lambda call: 1 < _n_kv(call) < len(call.record.layers[0].queries))
_narrow = _any_computed(is_narrow)


def _n_kv(call: Call) -> int:
    return call.record.layers[0].new_keys.shape[0]


def _growth(run: Run) -> bool:
    sizes = {call.record.n_allocated for call in run.calls if call.record.layers}
    return len(sizes) > 1


def _sinks(run: Run) -> bool:
    return run.n_sinks > 0


_NEEDS: dict[str, Need] = {
    "pos-restart": _earlier,
    "pos-skip-single": _earlier,
    "pos-wrong-axis": _earlier,
    "pos-hole": _earlier,
    "pos-memo": _earlier,
    "pos-stale-prompt": _earlier,
    "pos-layer-counter": _places,
    "pos-layer-prefill": _places,
    "pos-captured-alias": _places,
    "pos-retained-rows": _eviction,
    "pos-pad-mixed": _padding,
    "pos-pad-columns": _padding,
    "rope-on-read": _places,
    "rope-write-back": _places,
    "rope-writeback-lost": _places,
    "mask-top-left": _earlier,
    "mask-own-block": _earlier,
    "mask-own-chunk": _several_at_once,
    "mask-off-with-cache": _several_at_once,
    "mask-pads-open": _padding,
    "mask-nan-row": _padding,
    "cap-counter-first": _refusal,
    "evict-newest": _eviction,
    "evict-off-by-one": _eviction,
    "evict-one-short": _eviction,
    "evict-never": _eviction,
    "evict-before-attend": _long_chunk,
    "ring-start": _ring,
    "ring-shuffle": _eviction,
    "sinks-lost": _sinks,
    "store-row-zero": _earlier,
    "store-alias-in": _earlier,
    "store-alias-out": _earlier,
    "store-layers-share": _several_layers,
    "store-double-append": _earlier,
    "store-grow-scramble": _growth,
    "store-stale-reset": _new_prompt,
    "store-uneven": _uneven,
    "beam-no-reorder": _beams,
    "beam-keys-only": _beams,
    "spec-no-rollback": _taken_back,
    "spec-short": _taken_back,
    "spec-reset": _taken_back,
    "prefix-last-twice": _known_prompt,
    "gqa-tile": _shared_heads,
    "quant-floor": _narrow,
    "quant-no-descale": _narrow,
    "quant-zero-scale": _narrow,
    "gauge-lies": _eviction,
}
"""By the id of a fault that works like it; the others need nothing more."""
