"""Which numbers tokens are given, and at which numbers queries and keys are rotated."""

from collections.abc import Callable

import numpy as np

from core.arrays import ABSENT, IntArray
from core.diagnose.account import Call, Run
from core.diagnose.aspect import Answer, Aspect, Hypothesis, by_own_layer, once
from core.outcome import PositionLimit

# How many tokens are said to have been read before.


def _is_asked(call: Call) -> bool:
    return bool(call.record.layers) and call.record.past_len is not None


def _past(call: Call) -> Answer:
    return call.record.past_len if _is_asked(call) else None


def _n_past(call: Call) -> int:
    return call.base.seen - call.base.origin


def _counting(rule: Callable[[Call], int]) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        return rule(call) if _is_asked(call) else None

    return answer


def _n_heads(call: Call) -> int:
    return call.record.layers[0].new_keys.shape[0] if call.base.length else 0


def _one_ahead(call: Call) -> int:
    n = _n_past(call)
    return n + 1 if n else 0


def _columns(call: Call) -> int:
    """Rows held, where padding is among them."""
    return call.base.length if call.base.n_pads else _n_past(call)


def _rows_held(call: Call) -> int:
    """Rows held, where there is no padding."""
    return _n_past(call) if call.base.n_pads else call.base.length


def _counted_on(call: Call) -> int:
    """As if the text before had not ended."""
    if call.record.phase != "new_prompt" or call.n_common is not None:
        return _n_past(call)
    return call.before.seen - call.before.origin


# The numbers of the new tokens, from there on.


def _n_new(call: Call) -> int:
    if not call.record.layers:
        return len(call.record.token_ids)
    return len(call.record.slots) - call.record.n_padding


def _given(call: Call) -> Answer:
    if not _is_asked(call):
        return None
    return tuple(call.record.layers[0].plan.position_ids[call.record.n_padding :].tolist())


def _by_rank(call: Call, ids: IntArray) -> IntArray:
    """The numbers that tokens get where they are numbered by their rank in the cache."""
    if call.record.layers[0].plan.write_position_ids is None:
        return np.minimum(ids, call.base.capacity - 1)
    return ids


def _numbering(rule: Callable[[Call], IntArray]) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        return tuple(_by_rank(call, rule(call)).tolist()) if _is_asked(call) else None

    return answer


def _count_on(call: Call) -> IntArray:
    past_len = call.record.past_len or 0
    return np.arange(past_len, past_len + _n_new(call))


def _restart(call: Call) -> IntArray:
    return np.arange(_n_new(call))


def _column(call: Call) -> IntArray:
    n_pads = call.record.n_padding or call.base.n_pads
    return _count_on(call) + n_pads


def _of_tokens(call: Call) -> IntArray:
    base = call.base
    return base.position_id[base.token_index != ABSENT]


def _recent(call: Call) -> tuple[int, int]:
    return (0, 0) if call.is_refilled else call.recent


def _memo(call: Call) -> IntArray:
    n_new, held = _n_new(call), _of_tokens(call)
    last = held[len(held) - n_new :] if n_new <= len(held) else held[:0]
    return last if n_new == _recent(call)[1] == len(last) else _count_on(call)


def _stale(call: Call) -> IntArray:
    n_before, n_last = _recent(call)
    held = _of_tokens(call)
    if n_before == 0 or len(held) < n_last:
        return _count_on(call)
    offset = int(held[-n_last]) + n_before
    return np.arange(offset, offset + _n_new(call))


def _position_words(run: Run, call: Call, layer: int) -> str:
    plan = call.record.layers[0].plan
    n_pads = call.record.n_padding
    n_past = _n_past(call)
    right_ids = _by_rank(call, np.arange(n_past, n_past + _n_new(call)))
    tokens, given = call.tokens[n_pads:], plan.position_ids[n_pads:]
    odd = np.flatnonzero(given != right_ids)
    if not len(odd):
        return f"{call.record.past_len} tokens are said to be read before; {_n_past(call)} were"
    at = odd[0]
    return (
        f"query at token {tokens[at]} was given position id {given[at]}; expected {right_ids[at]}"
    )


PAST = Aspect(
    field="position_ids",
    neutral="the tokens read before are miscounted",
    is_per_layer=False,
    observed=once(_past),
    right=once(_counting(_n_past)),
    hypotheses=tuple(
        Hypothesis(preset, once(_counting(rule)))
        for preset, rule in (
            ("pos-pad-mixed", _columns),
            ("pos-retained-rows", _rows_held),
            ("pos-hole", _one_ahead),
            ("pos-wrong-axis", _n_heads),
            ("store-stale-reset", _counted_on),
        )
    ),
    evidence=_position_words,
)

POSITIONS = Aspect(
    field="position_ids",
    neutral="new tokens are not numbered on from the tokens read before",
    is_per_layer=False,
    observed=once(_given),
    right=once(_numbering(_count_on)),
    hypotheses=tuple(
        Hypothesis(preset, once(_numbering(rule)))
        for preset, rule in (
            ("pos-restart", _restart),
            ("pos-memo", _memo),
            ("pos-stale-prompt", _stale),
            ("pos-pad-columns", _column),
        )
    ),
    evidence=_position_words,
)

# The end of the position table.


def _past_the_last(call: Call) -> int | None:
    outcome = call.record.outcome
    return outcome.position_id if isinstance(outcome, PositionLimit) else None


def _highest(numbers: Callable[[Call], IntArray]) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        return None if _past_the_last(call) is None else int(numbers(call).max())

    return answer


def _on_from(past: Callable[[Call], int]) -> Callable[[Call], IntArray]:
    return lambda call: past(call) + np.arange(_n_new(call))


def _never_sure(run: Run) -> bool:
    """The highest number is all that such a step tells: other rules give it as well."""
    return False


def _highest_right(call: Call) -> Answer:
    expected = call.verdict.expected
    if isinstance(expected.outcome, PositionLimit):
        return _past_the_last(call)  # it ends, whatever was asked for
    return max((each for each in expected.position_ids if each is not None), default=None)


def _limit_words(run: Run, call: Call, layer: int) -> str:
    return (
        f"position id {_past_the_last(call)} was asked for, past the model's last one; "
        f"expected {_highest_right(call)}"
    )


LIMIT = Aspect(
    field="outcome",
    neutral="new tokens are numbered past the model's last position",
    is_per_layer=False,
    observed=once(_past_the_last),
    right=once(_highest_right),
    hypotheses=tuple(
        Hypothesis(preset, once(_highest(rule)), is_sure=_never_sure)
        for preset, rule in (
            ("pos-hole", _on_from(_one_ahead)),
            ("pos-stale-prompt", _stale),
            ("store-stale-reset", _on_from(_counted_on)),
        )
    ),
    evidence=_limit_words,
)
"""Asked where the run ended; of the rules, those that can go past the last position there."""

# Where queries and new keys are rotated, relative to the position ids.


def _shifts(call: Call, layer: int) -> Answer:
    plan = call.record.layers[layer].plan
    queries = plan.queries_at - plan.position_ids
    if plan.write_position_ids is None:
        return tuple(queries.tolist()), ()
    return tuple(queries.tolist()), tuple((plan.write_position_ids - plan.position_ids).tolist())


def _shifted_by(call: Call, layer: int, n_queries: int, n_keys: int) -> Answer:
    n = len(call.record.slots)
    is_stored = call.record.layers[layer].plan.write_position_ids is not None
    return (n_queries,) * n, (n_keys,) * n if is_stored else ()


def _not_shifted(call: Call, layer: int) -> Answer:
    return _shifted_by(call, layer, 0, 0)


def _later_layers(call: Call, layer: int) -> Answer:
    by = int(layer > 0 and len(call.record.slots) == 1)
    return _shifted_by(call, layer, by, by)


def _later_layers_by_all(call: Call, layer: int) -> Answer:
    by = len(call.record.slots) if layer > 0 else 0
    return _shifted_by(call, layer, by, by)


def _moved_offset(call: Call, layer: int) -> Answer:
    return _shifted_by(call, layer, len(call.record.slots), 0)


def _shift_words(run: Run, call: Call, layer: int) -> str:
    plan = call.record.layers[layer].plan
    token, at = call.tokens[-1], plan.position_ids[-1]
    key = plan.write_position_ids
    key_words = "" if key is None else f" and its key at {key[-1]}"
    return (
        f"in layer {layer} the query at token {token} was rotated at {plan.queries_at[-1]}"
        f"{key_words}; its position id is {at}"
    )


SHIFTS = Aspect(
    field="rotated_keys",
    neutral="queries or keys are rotated at other numbers than their position ids",
    is_per_layer=True,
    observed=by_own_layer(_shifts),
    right=by_own_layer(_not_shifted),
    hypotheses=(
        Hypothesis("pos-layer-counter", by_own_layer(_later_layers)),
        Hypothesis("pos-layer-prefill", by_own_layer(_later_layers_by_all)),
        Hypothesis("pos-captured-alias", by_own_layer(_moved_offset)),
    ),
    evidence=_shift_words,
)
