"""The slots of a step in the order of their tokens."""

from dataclasses import replace

import pytest

from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.slot_order import slot_axis
from core.spec import RunSpec
from tests.core.readouts.runs import (
    FULL,
    NOTHING,
    PLAIN,
    PROBED,
    ROLLED_BACK,
    SINKS,
    WINDOW,
    view_of,
    with_fault,
)


@pytest.mark.parametrize(
    ("spec", "step", "slots"),
    [
        (PLAIN, 0, [*range(12)]),
        (FULL, 6, [*range(12)]),
        # Token 2 is read by step 4 for the last time; tokens 9 and 10 are in slots 0 and 1.
        (WINDOW, 4, [2, 3, 4, 5, 6, 7, 8, 0, 1]),
        (SINKS, 4, [0, 1, 4, 5, 6, 7, 8, 2, 3]),
        # The slot of a probe's row has no token, and stands behind those that have.
        (PROBED, 3, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 11]),
        # Tokens 9 to 11 leave in step 7, which reads nothing.
        (ROLLED_BACK, 7, [*range(12)]),
        (NOTHING, 0, [*range(4)]),
        # Twelve tokens for eight slots: four are read by the step and leave at its end.
        (replace(WINDOW, prompt_ids=tuple(range(65, 77))), 0, [*range(12)]),
    ],
)
def test_slots_stand_in_the_order_of_their_tokens(
    spec: RunSpec, step: int, slots: list[int]
) -> None:
    view = view_of(spec, step)
    assert cache_readout(view).axis.by_token.tolist() == slots


@pytest.mark.parametrize(
    ("spec", "step", "newest"),
    [(PLAIN, 0, 6), (PLAIN, 3, 9), (WINDOW, 4, 1), (FULL, 6, 11), (NOTHING, 0, 0)],
)
def test_the_newest_slot_is_that_of_the_newest_token(spec: RunSpec, step: int, newest: int) -> None:
    assert cache_readout(view_of(spec, step)).axis.newest == newest


def test_the_slot_looked_at_is_that_of_the_token_looked_at() -> None:
    def chosen(**selection: int) -> int | None:
        return cache_readout(view_of(WINDOW, 4, **selection)).axis.chosen

    assert chosen() is None
    assert chosen(token_index=10) == 1
    assert chosen(token_index=0) is None
    assert chosen(slot=5, token_index=10) == 5
    assert chosen(slot=700) is None


@pytest.mark.parametrize("step", [0, 2, 6])
def test_all_readouts_of_a_step_have_the_same_axis(step: int) -> None:
    view = view_of(with_fault(FULL, "cap-counter-first"), step)
    axes = [readout(view).axis for readout in (cache_readout, mask_readout, attention_readout)]
    assert len({axis.n_slots for axis in axes}) == 1
    for axis in axes:
        assert axis.by_token.tolist() == axes[0].by_token.tolist()
        assert (axis.newest, axis.chosen) == (axes[0].newest, axes[0].chosen)


def test_a_slot_beyond_those_shown_is_left_out() -> None:
    assert slot_axis(view_of(PLAIN, 2), 5).by_token.tolist() == [0, 1, 2, 3, 4]
